"""The smaller stores and rules of the master, each on its own."""

from __future__ import annotations

import logging
import os
import socket
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from saltlite.config.master import AccessOptions, KeyOptions, MasterConfig, PathOptions
from saltlite.core.targets import Target, find_expected
from saltlite.crypto.cipher import new_key_string
from saltlite.crypto.keys import PrivateKey
from saltlite.errors import CryptoError, StoreError
from saltlite.master.acl import Access, AuthenticatedUser, key_path, process_user, write_keys
from saltlite.master.autosign import AutoSign
from saltlite.master.keyactions import KeyActions
from saltlite.master.keystore import KeyState
from saltlite.master.maintenance import remove_leftovers
from saltlite.master.minioncache import GRAINS, MINE, PILLAR, SAVE_FROM, MinionCache
from saltlite.master.presence import find_connected, list_peers
from saltlite.master.rates import Rates, TimeBudgets
from saltlite.master.refusals import LINE_LIMIT, Refusals, printable
from saltlite.master.sessions import Sessions

ME = process_user()


# --- local users ---------------------------------------------------------------------------


def access(cachedir: Path, **options: Any) -> Access:
    made = Access(AccessOptions(**options), cachedir, ME)
    for user in ("root", ME, "alice", "bob"):
        path = key_path(cachedir, user)
        if not path.exists():
            path.write_text(f"key of {user}")
    return made


def test_time_comes_back_with_time() -> None:
    budgets = TimeBudgets(12.0, share=0.5)
    budgets.spend("web1", 5.9, 100.0)
    assert budgets.allows("web1", 100.0)
    budgets.spend("web1", 6.1, 100.0)
    assert not budgets.allows("web1", 100.0)
    assert budgets.allows("web2", 100.0)
    assert not budgets.allows("web1", 159.0)
    assert budgets.allows("web1", 161.0)
    for number in range(20_000):
        budgets.spend(f"m{number}", 9.0, 161.0)
    assert len(budgets._spent) == 10_000


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
    ("alice", "nobody", False),
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


# --- accepted unseen ------------------------------------------------------------------------


@pytest.fixture
def autosign(tmp_path: Path) -> Callable[..., AutoSign]:
    (tmp_path / "minions_autosign").mkdir()

    def make(**options: Any) -> AutoSign:
        return AutoSign(KeyOptions(**options), tmp_path)

    return make


LINES = "# a comment\nweb*\n\nexact.example\nre[0-9]+x\n(broken\n"


@pytest.mark.parametrize(
    ("minion_id", "signed"),
    [
        ("web1", True),
        ("exact.example", True),
        ("re12x", True),
        ("db1", False),
        ("# a comment", False),
    ],
)
def test_the_lists(
    tmp_path: Path, autosign: Callable[..., AutoSign], minion_id: str, signed: bool
) -> None:
    path = tmp_path / "list"
    path.write_text(LINES)
    path.chmod(0o600)
    signs = autosign(autosign_file=str(path), autoreject_file=str(path))
    assert signs.signs(minion_id, {}, 0.0) is signed
    assert signs.rejects(minion_id) is signed


def test_a_list_that_others_may_write_counts_for_nothing(
    tmp_path: Path, autosign: Callable[..., AutoSign]
) -> None:
    path = tmp_path / "list"
    path.write_text("*\n")
    path.chmod(0o666)
    signs = autosign(autosign_file=str(path))
    assert not signs.signs("web1", {}, 0.0)
    path.chmod(0o600)
    assert signs.signs("web1", {}, 0.0)
    path.chmod(0o666)
    assert not signs.signs("web1", {}, 0.0)
    assert not autosign(autosign_file=str(tmp_path / "none")).signs("web1", {}, 0.0)


def test_a_marker_counts_once_and_for_a_time(
    tmp_path: Path, autosign: Callable[..., AutoSign]
) -> None:
    signs = autosign(autosign_timeout=1)
    marker = tmp_path / "minions_autosign" / "web1"
    marker.touch()
    os.utime(marker, (1000, 1000))
    assert signs.signs("web1", {}, 1059.0)
    assert not signs.signs("web1", {}, 1061.0)
    signs.sweep(1059.0)
    assert marker.exists()
    signs.consume_marker("web1")
    assert not marker.exists()
    marker.touch()
    os.utime(marker, (1000, 1000))
    signs.sweep(1061.0)
    assert not marker.exists()


def test_grains(tmp_path: Path, autosign: Callable[..., AutoSign]) -> None:
    grains = tmp_path / "grains"
    grains.mkdir(mode=0o700)
    (grains / "uuid").write_text("abc\n7\n")
    (grains / "uuid").chmod(0o600)
    secret = tmp_path / "secret"
    secret.write_text("y\n")
    signs = autosign(autosign_grains_dir=str(grains))
    assert signs.signs("web1", {"uuid": "abc"}, 0.0)
    assert signs.signs("web1", {"uuid": 7}, 0.0)
    assert not signs.signs("web1", {"uuid": "x"}, 0.0)
    assert not signs.signs("web1", {"../secret": "y"}, 0.0)


# --- sessions -------------------------------------------------------------------------------


def test_sessions_are_kept_replaced_and_ended(tmp_path: Path) -> None:
    sessions, others = (Sessions(tmp_path / "s", lifetime_s=3600) for _ in range(2))
    assert sessions.get("web1") is None
    made = sessions.get_or_make("web1")
    assert stat.S_IMODE((tmp_path / "s/web1").stat().st_mode) == 0o600
    assert sessions.get("web1") is made
    assert others.get_or_make("web1").key == made.key
    assert made.key not in repr(made)
    assert sessions.get_or_make("web1", not_before_s=2**40).key != made.key
    others.delete("web1")
    assert sessions.get("web1") is None
    sessions.get_or_make("web2")
    sessions.clear()
    assert sessions.ids() == []


def test_an_old_or_damaged_session_counts_for_nothing(tmp_path: Path) -> None:
    sessions = Sessions(tmp_path / "s", lifetime_s=60)
    made = sessions.get_or_make("web1")
    os.utime(tmp_path / "s/web1", (1, 1))
    assert sessions.get("web1") is None
    assert sessions.get_or_make("web1").key != made.key
    (tmp_path / "s/web1").write_text("junk")
    assert sessions.get("web1") is None
    assert not (tmp_path / "s/web1").exists()


# --- what is known of minions ---------------------------------------------------------------


def test_minion_data_come_back(tmp_path: Path) -> None:
    cache = MinionCache(tmp_path)
    assert cache.read(GRAINS, "web1") is None
    assert cache.write(GRAINS, "web1", {"os": "Debian", "raw": b"\xff"})
    assert not cache.write(GRAINS, "web1", {"os": "Debian", "raw": b"\xff"})
    assert MinionCache(tmp_path).read(GRAINS, "web1") == {"os": "Debian", "raw": b"\xff"}
    assert stat.S_IMODE((tmp_path / "grains/web1.p").stat().st_mode) == 0o600
    cache.write(PILLAR, "web1", {"role": "web"})
    (facts,) = cache.facts(["web1"], grains=False)
    assert (facts.grains, facts.pillar) == (None, {"role": "web"})
    assert cache.ids(GRAINS) == ["web1"]
    cache.forget("web1")
    assert cache.read(GRAINS, "web1") is None
    assert cache.ids(PILLAR) == []


@pytest.mark.parametrize("content", [b"", b"\xc1", b"\x05", b"\x81"])
def test_damaged_minion_data_count_as_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "grains").mkdir()
    (tmp_path / "grains/web1.p").write_bytes(content)
    assert MinionCache(tmp_path).read(GRAINS, "web1") is None


# --- columns -----------------------------------------------------------------------------------


def meant(cache: MinionCache, tgt: str, kind: str = "grain", *, greedy: bool = False) -> set[str]:
    return find_expected(Target(tgt, kind), cache.facts(["a", "b", "c"]), greedy=greedy).minions


def asked(cache: MinionCache, tgt: str) -> set[str]:
    return find_expected(Target(tgt, "grain"), cache.facts(["a", "b", "c"])).all_asked


def test_targeting_sees_what_has_changed(tmp_path: Path) -> None:
    cache = MinionCache(tmp_path)
    cache.write(GRAINS, "a", {"os": "Debian", "deep": {"x": {"y": 1}}})
    cache.write(GRAINS, "b", {"os": "Arch"})
    assert meant(cache, "os:debian") == {"a"}
    assert meant(cache, "os:debian", greedy=True) == {"a"}
    assert asked(cache, "os:debian") == {"a", "c"}
    cache.write(GRAINS, "b", {"os": "Debian", "7": 8})
    assert meant(cache, "os:debian") == {"a", "b"}
    assert meant(cache, "nope:*") == set()
    assert meant(cache, "7:8") == {"b"}
    assert meant(cache, "deep:x:y:1") == {"a"}
    assert meant(cache, "*:x:y:1") == {"a"}
    cache.write(PILLAR, "c", {"role": "web", "n": {5: 6}})
    assert meant(cache, "role:web", "pillar") == {"c"}
    assert meant(cache, "n:5:6", "pillar") == {"c"}
    assert meant(cache, "G@os:debian or I@role:web", "compound") == {"a", "b", "c"}
    cache.delete("a", GRAINS)
    assert meant(cache, "os:debian") == {"b"}


def test_damaged_grains_are_not_known(tmp_path: Path) -> None:
    cache = MinionCache(tmp_path)
    cache.write(GRAINS, "a", {"os": "Arch"})
    (tmp_path / "grains/b.p").write_bytes(b"\xc1")
    for tgt in ("os:debian", "*:debian:x", "nope:x"):
        assert asked(cache, tgt) == {"b", "c"}
        assert meant(cache, tgt, greedy=True) == set()
        assert meant(cache, tgt) == set()


def _stamp_of(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_mtime_ns, status.st_ino


def test_columns_are_kept_for_other_processes(tmp_path: Path) -> None:
    cache, ids = MinionCache(tmp_path), [f"m{number}" for number in range(SAVE_FROM + 1)]
    for number, minion in enumerate(ids):
        cache.write(GRAINS, minion, {"n": number} if number else {})
    target = Target("n:5", "grain")
    assert find_expected(target, cache.facts(ids)).minions == {"m5"}
    [column] = (tmp_path / "columns").iterdir()
    assert stat.S_IMODE(column.stat().st_mode) == 0o600
    cache.write(GRAINS, "m7", {"n": 5})
    other = MinionCache(tmp_path)
    assert find_expected(target, other.facts(ids)).minions == {"m5", "m7"}
    assert other.value(GRAINS, "m6", _stamp_of(tmp_path / "grains/m6.p"), "n") == 6
    column.write_bytes(b"\xc1")
    assert find_expected(target, MinionCache(tmp_path).facts(ids)).minions == {"m5", "m7"}


@pytest.mark.parametrize("minion_id", ["..", "../x", "a/b", ""])
def test_minion_data_stay_where_they_belong(tmp_path: Path, minion_id: str) -> None:
    with pytest.raises(ValueError, match="no such bank or id"):
        MinionCache(tmp_path).write(GRAINS, minion_id, {})


def test_a_mine_has_a_limit(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="at most 10485760 bytes"):
        MinionCache(tmp_path).write(MINE, "web1", {"x": "y" * 11_000_000})


# --- keys by hand ----------------------------------------------------------------------------


PEM = PrivateKey.generate(2048).public.pem


@pytest.fixture
def actions(tmp_path: Path) -> tuple[KeyActions, list[tuple[str, Mapping[str, Any]]]]:
    paths = PathOptions(pki_dir=str(tmp_path / "pki"), cachedir=str(tmp_path / "cache"))
    fired: list[tuple[str, Mapping[str, Any]]] = []
    made = KeyActions(MasterConfig(paths=paths), fire=lambda tag, data: fired.append((tag, data)))
    made.store.prepare()
    return made, fired


Actions = tuple[KeyActions, list[tuple[str, Mapping[str, Any]]]]


def test_a_deleted_minion_leaves_nothing_behind(tmp_path: Path, actions: Actions) -> None:
    keys, fired = actions
    cache = MinionCache(tmp_path / "cache")
    sessions = Sessions(tmp_path / "cache/sessions", lifetime_s=3600)
    keys.store.put("web1", KeyState.UNACCEPTED, PEM)
    assert keys.accept("web1")
    assert not keys.accept("web1")
    cache.write(GRAINS, "web1", {"os": "x"})
    sessions.get_or_make("web1")
    assert keys.delete("web1")
    assert not keys.delete("web1")
    assert keys.store.state("web1") is None
    assert sessions.get("web1") is None
    assert cache.read(GRAINS, "web1") is None
    assert stat.S_IMODE((tmp_path / "cache/.dfn").stat().st_mode) == 0o400
    assert [(tag, data["act"]) for tag, data in fired] == [
        ("salt/key", "accept"),
        ("salt/key", "delete"),
    ]


def test_rejecting_and_taking_back(tmp_path: Path, actions: Actions) -> None:
    keys, _fired = actions
    keys.store.put("web1", KeyState.ACCEPTED, PEM)
    assert not keys.reject("web1")
    assert keys.reject("web1", KeyState.ACCEPTED)
    assert (tmp_path / "cache/.dfn").exists()
    assert not keys.accept("web1")
    assert keys.accept("web1", KeyState.REJECTED)
    assert keys.store.state("web1") is KeyState.ACCEPTED


def test_a_denied_key_can_be_taken_up(actions: Actions) -> None:
    keys, _fired = actions
    keys.store.put("web1", KeyState.ACCEPTED, "old")
    keys.store.put("web1", KeyState.DENIED, PEM)
    assert keys.accept("web1", KeyState.DENIED)
    assert keys.store.key("web1", KeyState.ACCEPTED) == PEM
    assert keys.store.list(KeyState.DENIED) == []


@pytest.mark.parametrize("pem", ["", "junk", PEM[:-60], PrivateKey.generate(2048).pem.decode()])
def test_what_is_no_public_key_is_not_accepted(actions: Actions, pem: str) -> None:
    keys, fired = actions
    keys.store.put("web1", KeyState.UNACCEPTED, pem)
    with pytest.raises(CryptoError):
        keys.accept("web1")
    assert keys.store.state("web1") is KeyState.UNACCEPTED
    assert not fired


def test_an_outdated_decision_leaves_the_key_where_it_is_now(actions: Actions) -> None:
    """Each was decided while the key was waiting; since then somebody else has moved it."""
    keys, _fired = actions
    keys.store.put("web1", KeyState.ACCEPTED, PEM)
    assert not keys.delete("web1", [KeyState.UNACCEPTED])
    assert not keys.reject("web1", KeyState.UNACCEPTED)
    assert keys.store.state("web1") is KeyState.ACCEPTED
    keys.store.put("web2", KeyState.REJECTED, PEM)
    assert not keys.accept("web2", KeyState.UNACCEPTED)
    assert keys.store.state("web2") is KeyState.REJECTED


def test_a_made_key_replaces_an_accepted_one_only_if_it_may(
    tmp_path: Path, actions: Actions
) -> None:
    keys, _fired = actions
    sessions = Sessions(tmp_path / "cache/sessions", lifetime_s=3600)
    assert keys.admit("web1", "one", replace=False)
    sessions.get_or_make("web1")
    assert not keys.admit("web1", "two", replace=False)
    assert keys.store.key("web1", KeyState.ACCEPTED) == "one"
    assert sessions.get("web1") is not None
    assert not (tmp_path / "cache/.dfn").exists()
    assert keys.admit("web1", "two", replace=True)
    assert keys.store.key("web1", KeyState.ACCEPTED) == "two"
    assert sessions.get("web1") is None
    assert (tmp_path / "cache/.dfn").exists()


# --- refusals, rates, presence ----------------------------------------------------------------


def test_few_lines_and_a_count_of_the_rest(caplog: pytest.LogCaptureFixture) -> None:
    now_s = [0.0]
    refusals = Refusals(lambda: now_s[0])
    with caplog.at_level(logging.WARNING):
        for _ in range(1000):
            refusals.refuse("request", "bad\nid \x1b[31m\u202e")
        now_s[0] = 1.0
        refusals.refuse("request")
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 11
    assert lines[-1].endswith("(990 more not shown)")
    assert refusals.counts["request"] == 1001
    assert all(line.isprintable() and line.isascii() for line in lines)


def test_a_long_detail_is_cut() -> None:
    assert len(printable("\u202e" * 10_000)) < LINE_LIMIT


def test_a_budget_refills_with_time() -> None:
    rates = Rates()
    assert [rates.allows("x", "web1", 2.0, 0.0) for _ in range(3)] == [True, True, False]
    assert rates.allows("x", "web2", 2.0, 0.0)
    assert rates.allows("x", "web1", 2.0, 0.5)
    assert not rates.allows("x", "web1", 2.0, 0.6)
    assert Rates(share=0.1).allows("x", "web1", 5.0, 0.0)


def test_presence_is_who_has_a_connected_address(tmp_path: Path) -> None:
    cache = MinionCache(tmp_path)
    cache.write(GRAINS, "here", {"ipv4": ["127.0.0.1", "10.9.8.7"]})
    cache.write(GRAINS, "away", {"ipv4": ["10.9.8.6"], "ipv6": ["fe80::1"]})
    ids = ["here", "away", "unknown"]
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert find_connected(port, ids, cache) == set()
        with socket.create_connection(("127.0.0.1", port)):
            assert list_peers(port) == {"127.0.0.1", "::1"}
            assert find_connected(port, ids, cache) == {"here"}


# --- what killed writers leave ---------------------------------------------------------------


def test_only_old_temporary_files_are_left_overs(tmp_path: Path) -> None:
    old, young, other = (tmp_path / name for name in (".a.1.tmp", ".b.2.tmp", ".root_key"))
    for path in (old, young, other):
        path.write_text("x")
    for path in (old, other):
        os.utime(path, (0, 0))
    remove_leftovers(tmp_path)
    remove_leftovers(tmp_path / "not there")
    assert {path.name for path in tmp_path.iterdir()} == {young.name, other.name}
