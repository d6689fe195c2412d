"""MySQL's provider without a server: privileges in one form, quoting, what may be seen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from saltlite.config.minion import MinionConfig, PathOptions
from saltlite.context import MinionContext
from saltlite.errors import FunctionError, UsageError
from saltlite.host import Completed, Host
from saltlite.loader.registry import Registry
from saltlite.modules import mysql
from saltlite.providers.mysql import client, grants

SHOWN = [
    "GRANT USAGE ON *.* TO `u2`@`localhost`",
    "GRANT SELECT ON `d\\_x`.* TO `u2`@`localhost`",
    "GRANT SELECT, UPDATE ON `d2`.* TO `u2`@`localhost` WITH GRANT OPTION",
    "GRANT SELECT (`a`), INSERT (`b`, `a`) ON `d2`.`t` TO `u2`@`localhost`",
    "GRANT ALL PRIVILEGES ON `d3`.* TO `u2`@`localhost`",
]


@pytest.mark.parametrize(
    ("wanted", "database", "there"),
    [
        ("select", "d_x.*", True),
        ("SELECT , update", "d2.*", True),
        ("select,insert", "d2.*", False),
        ("insert (a,b)", "d2.t", True),
        ("insert (a)", "d2.t", False),
        ("select,insert", "d3.*", True),
        ("all", "d3.*", True),
        ("all privileges", "d2.*", False),
        ("usage", "*.*", True),
        ("select", "d4.*", False),
    ],
)
def test_whether_privileges_are_there(wanted: str, database: str, there: bool) -> None:
    assert grants.holds(SHOWN, wanted, grants.target(database, escape=True)) is there


def test_passing_on_is_a_privilege_of_its_own() -> None:
    assert grants.holds(SHOWN, "select", "`d2`.*", passed_on=True)
    assert not grants.holds(SHOWN, "select", "`d3`.*", passed_on=True)


def test_names_and_texts_cannot_leave_their_quotes() -> None:
    assert client.ident("a`b") == "`a``b`"
    assert client.literal("it's \\") == "'it''s \\\\'"
    assert grants.target("d`_%.*", escape=True) == "`d``\\_\\%`.*"
    assert grants.target("d_%.*", escape=False) == "`d_%`.*"
    assert grants.target("d_x.t", escape=True) == "`d_x`.`t`"
    assert grants.words("select; DROP DATABASE x") == "SELECT DROP DATABASE X"


def test_what_the_server_keeps_of_a_password() -> None:
    # SELECT PASSWORD('password')
    kept = "*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19"
    assert client.native_hash("password") == kept
    found: dict[str, str | None] = {"authentication_string": kept, "plugin": client.NATIVE}
    assert mysql.has_password(found, "password", None) is True
    assert mysql.has_password(found, "other", None) is False
    assert mysql.has_password(found, None, kept.lower()) is True
    assert mysql.has_password(found, None, None) is False
    assert mysql.has_password({**found, "plugin": "ed25519"}, "password", None) is None


class Recorded(Host):
    """A host with a ``mariadb`` that refuses; what it was given is kept."""

    def __init__(self) -> None:
        self.argv: list[str] = []
        self.file = ""
        self.stdin = ""

    def which(self, name: str) -> str | None:
        return "/usr/bin/mariadb" if name == "mariadb" else None

    def run(self, command: Any, **options: Any) -> Completed:
        self.argv = list(command)
        path = self.argv[1].partition("=")[2]
        self.file, self.stdin = Path(path).read_text(), str(options["stdin"])
        error = "ERROR 1064 (42000) at line 1: near 'hush' and so on"
        return Completed(pid=1, exit_code=1, stdout="", stderr=error)


def test_passwords_are_seen_nowhere(tmp_path: Path) -> None:
    config = MinionConfig(paths=PathOptions(cachedir=str(tmp_path)))
    host = Recorded()
    ctx = MinionContext(config=config, host=host, grains={}, pillar={})
    ctx.functions = Registry(ctx)
    asked = {"password": "hush", "auth_plugin": "x", "connection_pass": 'to"p\\'}
    with pytest.raises(FunctionError) as refused:
        mysql.set_user(ctx, "CREATE", "joe", "localhost", {**asked, "auth_plugin": client.NATIVE})
    assert str(refused.value) == "MySQL Error 1064: near 'XXXXX' and so on"
    assert "hush" not in " ".join([*host.argv, host.stdin])
    assert client.native_hash("hush") in host.stdin
    assert 'password="to"p\\\\"' in host.file


def test_a_wrong_argument_is_named() -> None:
    ctx = MinionContext(config=MinionConfig(paths=PathOptions()), host=Host(), grains={}, pillar={})
    with pytest.raises(UsageError, match="connection_hots"):
        client.MysqlServer.of(ctx, {"connection_hots": "x"})
