"""What the tools of SELinux print, in the words of old and new releases."""

from __future__ import annotations

import pytest

from saltlite.errors import UsageError
from saltlite.modules import selinux
from saltlite.providers.selinux import policy

FILES = """\
SELinux fcontext                                   type               Context

/                                                  directory          system_u:object_r:root_t:s0 
/var/lib/a very long name of a directory that fills it(/.*)? all files system_u:object_r:var_t:s0:c1
/proc                                              directory          <<None>>

SELinux Distribution fcontext Equivalence 

/run = /var/run
"""  # noqa: W291 - it prints blanks at ends of lines


def test_rules_for_files_have_their_context_in_parts() -> None:
    root, long = policy.parse_files(FILES)
    assert root == {
        "filespec": "/",
        "filetype": "directory",
        "sel_user": "system_u",
        "sel_role": "object_r",
        "sel_type": "root_t",
        "sel_level": "s0",
    }
    assert (long["filetype"], long["sel_level"]) == ("all files", "s0:c1")


def test_ports_are_rows_of_numbers_and_ranges() -> None:
    text = "SELinux Port Type    Proto    Port Number\n\nhttp_port_t  tcp   80, 8008-8009\n"
    assert policy.parse_ports(text) == [
        {"sel_type": "http_port_t", "protocol": "tcp", "port": "80, 8008-8009"}
    ]


@pytest.mark.parametrize(
    ("text", "full", "found"),
    [
        ("100 abrt   pp\n400 mine  pp   disabled\n", True, {"abrt": True, "mine": False}),
        ("abrt\t1.4.1\nold\t1.0\tDisabled\n", False, {"abrt": True, "old": False}),
    ],
)
def test_modules_are_on_or_off(text: str, full: bool, found: dict[str, bool]) -> None:
    modules = policy.parse_modules(text, full=full)
    assert {name: each["Enabled"] for name, each in modules.items()} == found
    assert modules["abrt"]["Version"] == (None if full else "1.4.1")


@pytest.mark.parametrize(
    "line",
    [
        "Would relabel /srv/a b from u:object_r:var_t:s0 to u:object_r:etc_t:s0",
        "Relabeled /srv/a b from u:object_r:var_t:s0 to u:object_r:etc_t:s0",
        "restorecon reset /srv/a b context u:object_r:var_t:s0->u:object_r:etc_t:s0",
        "/sbin/restorecon reset /srv/a b context u:object_r:var_t:s0->u:object_r:etc_t:s0",
    ],
)
def test_what_is_relabelled_is_told_by_path(line: str) -> None:
    old, new = {"sel_type": "var_t"}, {"sel_type": "etc_t"}
    assert policy.parse_relabelled(line) == {"/srv/a b": {"old": old, "new": new}}


def test_the_mode_is_set_in_its_line_only() -> None:
    config = "# SELINUX= is one of\nSELINUX=enforcing\nSELINUXTYPE=targeted\n"
    changed = policy.with_mode(config, "Disabled")
    assert changed == config.replace("=enforcing", "=disabled")
    assert policy.configured_mode(changed) == "Disabled"
    assert policy.configured_mode("") is None
    assert policy.with_mode("", "Permissive") == "SELINUX=permissive\n"


@pytest.mark.parametrize("name", ["web", "tcp/", "icmp/8", "tcp/80,81"])
def test_a_port_without_protocol_or_number_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match=r'Invalid name ".*" format and protocol'):
        selinux.port_of(name, None, None)
