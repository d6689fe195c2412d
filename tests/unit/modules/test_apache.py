"""``apache`` reads what its programs say as real Salt 3006.30 does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from saltlite.config.minion import MinionConfig
from saltlite.context import MinionContext
from saltlite.errors import FunctionError
from saltlite.host import Host
from saltlite.loader.registry import Registry

Program = Callable[..., None]
Call = Callable[..., Any]


@pytest.fixture
def call() -> Call:
    ctx = MinionContext(config=MinionConfig(), host=Host(), grains={}, pillar={})
    ctx.functions = Registry(ctx)
    return ctx.functions.call


def arguments(tmp_path: Path) -> list[str]:
    return (tmp_path / "args").read_text().splitlines()


BUILT = """\
Server version: Apache/2.4.57 (Debian)
Server built:   2023-04-13T03:26:51
Server's Module Magic Number: 20120211:127
Server compiled with....
 -D APR_HAVE_IPV6 (IPv4-mapped addresses enabled)
 -D HTTPD_ROOT="/etc/apache2"
"""
HOSTS = """\
VirtualHost configuration:
*:80                   is a NameVirtualHost
         default server 127.0.0.1 (/etc/apache2/sites-enabled/000-default.conf:1)
         port 80 namevhost 127.0.0.1 (/etc/apache2/sites-enabled/000-default.conf:1)
         port 80 namevhost x.example (/etc/apache2/sites-enabled/x.conf:1)
                 alias y.example
*:443                  z.example (/etc/apache2/sites-enabled/ssl.conf:2)
ServerRoot: "/etc/apache2"
"""
DEFAULT = {"vhost": "127.0.0.1", "conf": "/etc/apache2/sites-enabled/000-default.conf:1"}
ANSWERS: dict[str, tuple[str, Any]] = {
    "version": (BUILT, "Apache/2.4.57 (Debian)"),
    "fullversion": (
        BUILT,
        {
            "compiled_with": [
                "APR_HAVE_IPV6 (IPv4-mapped addresses enabled)",
                'HTTPD_ROOT="/etc/apache2"',
            ],
            "server_version": "Apache/2.4.57 (Debian)",
            "server_built": "2023-04-13T03:26:51",
            "server's_module_magic_number": "20120211:127",
        },
    ),
    "modules": (
        "Loaded Modules:\n core_module (static)\n alias_module (shared)\n",
        {"static": ["core_module"], "shared": ["alias_module"]},
    ),
    "servermods": ("Compiled in modules:\n  core.c\n  mod_so.c\n", ["core.c", "mod_so.c"]),
    "directives": (
        "<Directory (core.c)\n\tContainer for directives\n\tAllowed in *.conf\n",
        {"<Directory (core.c)": "Container for directives\nAllowed in *.conf"},
    ),
    "vhosts": (
        HOSTS,
        {
            "*:80": {
                "default": DEFAULT,
                "127.0.0.1": {**DEFAULT, "port": "80"},
                "x.example": {
                    "vhost": "x.example",
                    "conf": "/etc/apache2/sites-enabled/x.conf:1",
                    "port": "80",
                },
            },
            "*:443": {"vhost": "z.example", "conf": "/etc/apache2/sites-enabled/ssl.conf:2"},
        },
    ),
}


@pytest.mark.parametrize("function", sorted(ANSWERS))
def test_what_the_server_says_of_itself(call: Call, program: Program, function: str) -> None:
    said, answer = ANSWERS[function]
    program("apache2ctl", said)
    assert call(f"apache.{function}") == answer


def test_signals(call: Call, program: Program, tmp_path: Path) -> None:
    program("apachectl")
    done = call("apache.signal", "graceful")
    assert done == 'Command: "apachectl -k graceful" completed successfully!'
    assert call("apache.signal", "KILL") is None
    assert arguments(tmp_path) == ["-k graceful"]


@pytest.mark.parametrize(
    ("exit_code", "enabled", "disabled"),
    [(0, "Mod cgi enabled", "Mod cgi disabled"), (1, "Mod cgi Not found", 1), (5, 5, 5)],
)
def test_enabling_and_disabling(
    call: Call, program: Program, exit_code: int, enabled: Any, disabled: Any
) -> None:
    program("a2enmod", exit_code=exit_code)
    program("a2dismod", exit_code=exit_code)
    on, off = call("apache.a2enmod", "cgi"), call("apache.a2dismod", "cgi")
    assert on == {"Name": "Apache2 Enable Mod", "Mod": "cgi", "Status": enabled}
    assert off == {"Name": "Apache2 Disable Mod", "Mod": "cgi", "Status": disabled}


def test_a_password_is_no_argument(call: Call, program: Program, tmp_path: Path) -> None:
    program("htpasswd", stderr="Adding password for user u\n")
    file = tmp_path / "htpasswd.users"
    done = call("apache.useradd", str(file), "u", "hunter2", opts="s")
    assert (done["retcode"], done["stderr"]) == (0, "Adding password for user u")
    assert (tmp_path / "stdin").read_text() == "hunter2"
    file.touch()
    call("apache.userdel", str(file), "u")
    assert arguments(tmp_path) == [f"-isc {file} u", f"-D {file} u"]
    with pytest.raises(FunctionError, match="opts has b"):
        call("apache.useradd", str(file), "u", "hunter2", opts="sb")


def test_nobody_can_be_taken_out_of_no_file(call: Call, tmp_path: Path) -> None:
    said = call("apache.userdel", str(tmp_path / "none"), "u")
    assert said == "Error: The specified htpasswd file does not exist"


def test_a_configuration_is_written_from_maps(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "vhost.conf"
    directory = {"this": "/srv", "Order": "Deny,Allow", "SetEnvIf": ["A b", "C d"]}
    host = {"this": "*:80", "ServerAlias": ["a", "b"], "Directory": directory}
    text = call("apache.config", str(file), [{"VirtualHost": host}, {"Listen": 22}])
    assert text == (
        "<VirtualHost *:80>\nServerAlias a\nServerAlias b\n\n<Directory /srv>\n"
        "Order Deny,Allow\nSetEnvIf A b\nSetEnvIf C d\n\n\n</Directory>\n\n\n</VirtualHost>\n\n"
        "\nListen 22\n"
    )
    assert file.read_text() == f"# This file is managed by Salt.\n{text}"
