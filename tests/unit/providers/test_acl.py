"""What getfacl prints, and which kinds of entries there are."""

from __future__ import annotations

import pytest

from saltlite.errors import FunctionError
from saltlite.providers import acl

LISTED = """\
# file: /tmp/a\\040b
# owner: root
# group: staff
# flags: --t
user::rwx
user:daemon:rwx\t\t\t#effective:r--
group::r-x\t\t\t#effective:r--
mask::r--
other::r-x
default:user::rwx
default:group:a\\134b:r-x

# file: /tmp/c
# owner: root
# group: root
user::rw-
"""


def test_what_getfacl_prints() -> None:
    first, second = acl.parse(LISTED)
    assert (first.path, first.owner, first.group, first.flags) == (
        "/tmp/a b",
        "root",
        "staff",
        "--t",
    )
    daemon = first.entries[1]
    assert (daemon.name, daemon.permissions, daemon.effective) == ("daemon", "rwx", "r--")
    assert first.entries[-1].default
    assert first.entries[-1].name == "a\\b"
    assert len(second.entries) == 1


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("user", ("user", False)),
        ("d:group", ("group", True)),
        ("default:mask", ("mask", True)),
        ("u", ("user", False)),
    ],
)
def test_kinds(given: str, wanted: tuple[str, bool]) -> None:
    assert acl.kind_of(given) == wanted


@pytest.mark.parametrize("given", ["", "acl", "x", "default:", "user:x"])
def test_no_kinds(given: str) -> None:
    with pytest.raises(FunctionError, match="is no kind of entry"):
        acl.kind_of(given)
