"""Who may have what published or run, and with which key."""

from __future__ import annotations

import stat
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from saltlite.config.master import AccessOptions
from saltlite.crypto.cipher import new_key_string
from saltlite.master.acl import Access, AuthenticatedUser, key_path, process_user, write_keys

ME = process_user()


def access(cachedir: Path, **options: Any) -> Access:
    made = Access(AccessOptions(**options), cachedir, ME)
    for user in ("root", ME, "alice", "bob"):
        path = key_path(cachedir, user)
        if not path.exists():
            path.write_text(f"key of {user}")
    return made


def test_keys_are_fresh_and_private(tmp_path: Path) -> None:
    write_keys(tmp_path, [ME], new_key_string)
    first = key_path(tmp_path, ME).read_text()
    write_keys(tmp_path, [ME, "no-such-user-here"], new_key_string)
    assert key_path(tmp_path, ME).read_text() != first
    assert stat.S_IMODE(key_path(tmp_path, ME).stat().st_mode) == 0o400
    assert [path.name for path in tmp_path.iterdir()] == [f".{ME}_key"]


def test_without_client_acl_verify_names_of_no_account_have_keys(tmp_path: Path) -> None:
    write_keys(tmp_path, ["no-such-user-here"], new_key_string, verify=False)
    assert stat.S_IMODE(key_path(tmp_path, "no-such-user-here").stat().st_mode) == 0o400


def test_an_expression_means_the_accounts_that_it_fits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``client_acl_verify`` finds them in the database of accounts."""
    accounts = [SimpleNamespace(pw_name=one) for one in ("ann", "web1", "web22", "xweb1", "a b*")]
    monkeypatch.setattr("saltlite.master.acl.pwd.getpwall", lambda: accounts)
    acl = {"web[0-9]": ["test.ping"], "a*": ["test.version", "@events"], "ann": ["test.echo"]}
    rules = access(tmp_path, publisher_acl=acl)
    assert rules.list_named_users() == ["ann", "web1"]
    assert rules.listeners() == ["ann"]
    key_path(tmp_path, "web1").write_text("key of web1")
    found = rules.authenticate("web1", "key of web1")
    assert found is not None
    assert found.rules == ["test.ping"]
    ann = rules.authenticate("ann", "key of root")
    assert ann is not None
    assert ann.rules is None
    assert rules.authenticate("web22", "key of web1") is None
    unverified = access(tmp_path, publisher_acl=acl, client_acl_verify=False)
    assert unverified.list_named_users() == ["ann"]


ACL = {"alice": ["test.*", {"web*": ["cmd.run"]}], "bob": 5}
AUTHENTICATION = [
    ("root", "root", True),
    ("sudo_carol", "root", True),
    ("alice", "alice", True),
    ("alice", "root", True),
    ("root", "alice", False),
    ("sudo_alice", "alice", False),
    ("bob", "alice", False),
    ("carol", "alice", False),
    ("../x", "root", True),  # root may call himself what he likes
    ("../x", "alice", False),
    ("", "alice", False),
    ("alice", "dave", False),
]


@pytest.mark.parametrize(("user", "owner", "believed"), AUTHENTICATION)
def test_whose_key_is_it(tmp_path: Path, user: str, owner: str, believed: bool) -> None:
    rules = access(tmp_path, publisher_acl=ACL)
    found = rules.authenticate(user, f"key of {owner}")
    assert (found is not None) is believed
    if found is not None:
        assert (found.rules is None) is (owner == "root")


def test_no_key_is_no_key(tmp_path: Path) -> None:
    rules = access(tmp_path)
    key_path(tmp_path, "root").write_text("")
    assert rules.authenticate("root", "") is None
    assert rules.authenticate("root", None) is None


def test_a_new_key_counts_at_once(tmp_path: Path) -> None:
    rules = access(tmp_path)
    assert rules.authenticate("root", "key of root") is not None
    key_path(tmp_path, "root").unlink()
    key_path(tmp_path, "root").write_text("another")
    assert rules.authenticate("root", "key of root") is None
    assert rules.authenticate("root", "another") is not None


WEB = {"web1", "web2"}
ALLOWED: list[tuple[Any, list[str], list[str], bool]] = [
    (None, ["cmd.run"], ["db1"], True),
    (["test.*"], ["test.ping"], ["db1"], True),
    (["test.*"], ["test.ping", "cmd.run"], ["db1"], False),
    (["test.ping"], ["test.pingx"], ["db1"], False),
    (["test.ping"], ["xtest.ping"], ["db1"], False),
    ([r"test\.(ping|echo)"], ["test.echo"], ["db1"], True),
    ([{"web*": ["cmd.run"]}], ["cmd.run"], ["web1"], True),
    ([{"web*": "cmd.run"}], ["cmd.run"], ["web1", "web2"], True),
    ([{"web*": ["cmd.run"]}], ["cmd.run"], ["web1", "db1"], False),
    ([{"web*": ["cmd.run"]}], ["cmd.run"], [], False),
    ([], ["test.ping"], ["web1"], False),
    ([], ["saltutil.find_job"], ["web1"], True),
    ([5, None, ["x"]], ["test.ping"], ["web1"], False),
    (["(test"], ["test.ping"], ["web1"], False),
]


@pytest.mark.parametrize(("rules", "functions", "minions", "allowed"), ALLOWED)
def test_who_may_call_what(
    tmp_path: Path, rules: Any, functions: list[str], minions: list[str], allowed: bool
) -> None:
    user = AuthenticatedUser("alice", rules)
    assert access(tmp_path).allows(user, functions, minions, lambda _tgt: WEB) is allowed


KW = "__kwarg__"
ECHO = [{"*": [{"test.echo": {"args": ["a.*"], "kwargs": {"name": "b+"}}}]}]
FIRST = [{"*": [{"test.*": {"args": ["a.*"]}}]}]
ARGUED: list[tuple[Any, list[str], list[list[Any]], bool]] = [
    (ECHO, ["test.echo"], [["abc", {KW: True, "name": "bb"}]], True),
    (ECHO, ["test.echo"], [["abc", "more", {KW: True, "name": "bb", "other": 1}]], True),
    (ECHO, ["test.echo"], [["abc"]], False),
    (ECHO, ["test.echo"], [[{KW: True, "name": "bb"}]], False),
    (ECHO, ["test.echo"], [["xabc", {KW: True, "name": "bb"}]], False),
    (ECHO, ["test.echo"], [["abc", {KW: True, "name": "bbc"}]], False),
    (ECHO, ["test.ping"], [["abc", {KW: True, "name": "bb"}]], False),
    (FIRST, ["test.echo"], [["a"]], True),
    (FIRST, ["test.echo"], [["a=1", "evil"]], False),
    (FIRST, ["test.echo"], [["a", "text=evil"]], False),
    (FIRST, ["test.echo", "test.arg"], [["a"], ["b"]], False),
    (FIRST, ["test.echo", "test.arg"], [["a"], ["a"]], True),
    (FIRST, ["test.echo", "test.arg"], [["a"]], False),
    ([{"*": [{"test.*": {}}]}], ["test.echo"], [["x"]], True),
    ([{"*": [{"test.*": {"arg": ["a"]}}]}], ["test.echo"], [["a"]], False),
    ([{"*": [{"test.*": {"args": "a"}}]}], ["test.echo"], [["a"]], False),
    ([{"*": [{"test.*": {"args": ["(a"]}}]}], ["test.echo"], [["(a"]], False),
    ([{"*": [{"test.*": None}]}], ["test.echo"], [["a"]], False),
    ([{"*": [{5: {}}]}], ["test.echo"], [["a"]], False),
    ([{"*": [{"test.*": {"args": ["5"]}}]}], ["test.echo"], [[5]], True),
]


@pytest.mark.parametrize(("rules", "functions", "arguments", "allowed"), ARGUED)
def test_who_may_call_with_what(
    tmp_path: Path, rules: Any, functions: list[str], arguments: list[list[Any]], allowed: bool
) -> None:
    user = AuthenticatedUser("alice", rules)
    found = access(tmp_path).allows(user, functions, ["web1"], lambda _tgt: WEB, arguments)
    assert found is allowed


RUNS: list[tuple[Any, str, str, bool]] = [
    (None, "runner", "jobs.list_jobs", True),
    (None, "wheel", "key.delete", True),
    ([], "runner", "jobs.list_jobs", False),
    ([".*"], "runner", "jobs.list_jobs", False),
    (["*"], "wheel", "key.list_all", False),
    (["jobs.*"], "runner", "jobs.list_jobs", False),
    (["@runner"], "runner", "jobs.list_jobs", True),
    (["@runner"], "wheel", "key.list_all", False),
    (["@wheel"], "wheel", "key.list_all", True),
    (["@wheels"], "wheel", "key.list_all", True),
    (["@jobs"], "runner", "jobs.list_jobs", True),
    (["@jobs"], "runner", "jobsx.list_jobs", False),
    (["@job"], "runner", "jobs.list_jobs", False),
    (["@key"], "wheel", "key.list_all", True),
    ([{"@runner": ["jobs.list_*"]}], "runner", "jobs.list_jobs", True),
    ([{"@runner": ["jobs.list_*"]}], "runner", "jobs.lookup_jid", False),
    ([{"@runner": "jobs.list_*"}], "wheel", "jobs.list_jobs", False),
    ([{"@jobs": ["list_.*"]}], "runner", "jobs.list_jobs", True),
    ([{"@jobs": ["list_"]}], "runner", "jobs.list_jobs", False),
    ([{"@runner": None}], "runner", "jobs.list_jobs", False),
    ([{"*": ["@runner"]}], "runner", "jobs.list_jobs", False),
    ([5, None, {5: 5}], "runner", "jobs.list_jobs", False),
    (["@runner"], "runner", "jobs", False),
    (["@runner"], "runner", "", False),
]


@pytest.mark.parametrize(("rules", "kind", "function", "allowed"), RUNS)
def test_who_may_have_what_run(
    tmp_path: Path, rules: Any, kind: str, function: str, allowed: bool
) -> None:
    assert access(tmp_path).allows_run(AuthenticatedUser("alice", rules), kind, function) is allowed


def test_a_blacklisted_user_has_nothing_run(tmp_path: Path) -> None:
    rules = access(tmp_path, publisher_acl_blacklist={"users": ["eve"]})
    assert not rules.allows_run(AuthenticatedUser("eve", None), "runner", "jobs.list_jobs")


def test_the_blacklist(tmp_path: Path) -> None:
    listed = {"users": ["eve", "sudo_.*"], "modules": ["cmd", r"cmd\..*"]}
    rules = access(tmp_path, publisher_acl_blacklist=listed)
    assert rules.is_blacklisted("eve", ["test.ping"])
    assert rules.is_blacklisted("sudo_x", ["test.ping"])
    assert rules.is_blacklisted("root", ["test.ping", "cmd.run"])
    assert not rules.is_blacklisted("root", ["test.ping"])
