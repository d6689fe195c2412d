"""The parts of a login, each by itself: the line, the proof, the tokens, the check."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import zmq
from repository import DATA

from saltlite.config.master import AccessOptions, MasterConfig, PathOptions
from saltlite.core.access import Call, allows_all
from saltlite.errors import StoreError
from saltlite.master import deferred_replies, loginline, logintokens
from saltlite.master.acl import AuthenticatedUser
from saltlite.master.commands.login import authenticate, find_entries, make_token
from saltlite.master.logincheck import check_login, is_usable, recheck_login
from saltlite.master.loginline import Login, LoginLine
from saltlite.master.loginproof import LoginProof, open_proof, seal_proof
from saltlite.master.logins import NO_LOGIN, PASSWORD_LIMIT, drop_credentials, read_login
from saltlite.master.loginserver import _Replies
from saltlite.master.logintokens import LoginTokens, hash_token
from saltlite.transport.codec import pack_bin

# --- the line ------------------------------------------------------------------------------------


def login(name: str = "anna", **more: Any) -> Login:
    return Login(os.urandom(16), "file", name, "pw", {"cmd": "x"}, size_bytes=10, **more)


def fail(line: LoginLine, name: str, now_s: float, *, took_s: float = 0.1) -> Login:
    one = login(name)
    line.add(one, now_s)
    assert line.take(now_s) is one
    line.fail(one, now_s + took_s)
    return one


@pytest.mark.parametrize("chance", [0.0, 0.5, 1.0])
def test_a_failure_is_answered_after_about_a_second(chance: float) -> None:
    line = LoginLine(lambda: chance)
    one = fail(line, "anna", 100.0)
    due_s = 100.75 + chance / 2
    assert line.due(due_s - 0.01) == []
    assert line.next_s(100.0, may_check=True) == pytest.approx(due_s - 100.0)
    assert line.due(due_s + 0.01) == [one]
    assert (one.password, one.load) == ("", {})


def test_all_failures_take_as_long_as_the_slowest() -> None:
    """The earliest answer is not before the end of the slowest check."""
    line = LoginLine(lambda: 0.0)
    fail(line, "slow", 100.0, took_s=3.0)
    assert len(line.due(103.01)) == 1
    fail(line, "quick", 200.0, took_s=0.01)
    assert line.due(202.99) == []
    assert len(line.due(203.01)) == 1
    for number in range(loginline.SLOWEST_OF):
        fail(line, f"u{number}", 300.0)
    line.due(400.0)
    fail(line, "quick", 500.0)
    assert len(line.due(500.8)) == 1


def test_a_users_next_check_waits_twice_as_long_each_time() -> None:
    line = LoginLine(lambda: 0.5)
    now_s, waits = 100.0, []
    for _ in range(9):
        fail(line, "anna", now_s, took_s=0.0)
        line.add(login(), now_s)
        line.add(login("ben"), now_s)
        assert line.take(now_s).username == ("ben" if len(waits) >= 2 else "anna")
        wait_s = line.next_s(now_s, may_check=True) if len(waits) >= 2 else 0.0
        line.due(now_s + 5.0)
        wait_s = line.next_s(now_s, may_check=True) if len(waits) >= 2 else 0.0
        waits.append(wait_s)
        now_s += 40.0
        while line.take(now_s):
            pass
    assert waits == pytest.approx([0, 0, 2, 4, 8, 16, 30, 30, 30])


def test_a_right_password_ends_that() -> None:
    line = LoginLine(lambda: 0.5)
    for _ in range(5):
        fail(line, "anna", 100.0)
        line._failures["anna"].last_s = 0.0
    line.succeed(login())
    line.add(login(), 100.0)
    assert line.take(100.0) is not None


def test_users_take_turns() -> None:
    line = LoginLine(lambda: 0.5)
    for name in ("anna", "anna", "anna", "ben", "cara"):
        line.add(login(name), 0.0)
    order = []
    while (one := line.take(0.0)) is not None:
        order.append(one.username)
    assert order == ["anna", "ben", "cara", "anna", "anna"]
    assert len(line) == 0


def test_who_guesses_keeps_nobody_with_a_token_waiting() -> None:
    line = LoginLine(lambda: 0.5)
    for _ in range(4):
        fail(line, "anna", 100.0, took_s=0.0)
        line._failures["anna"].last_s = 0.0
    line._failures["anna"].last_s = 100.0
    for _ in range(loginline.ATTACKED_MOST + 5):
        line.add(login(), 100.0)
    assert len(line) == loginline.ATTACKED_MOST
    with_token = login(token="t")
    line.add(with_token, 100.0)
    assert line.take_recheck(100.0) is with_token


def test_the_line_is_bounded() -> None:
    line = LoginLine(lambda: 0.5)
    for number in range(loginline.WAITING_MOST):
        one = login(f"u{number}")
        assert line.has_room_for(one)
        line.add(one, 0.0)
    assert not line.has_room_for(login("u"))
    other = LoginLine(lambda: 0.5)
    other.add(dataclasses.replace(login(), size_bytes=loginline.WAITING_MOST_BYTES), 0.0)
    assert not other.has_room_for(login("u"))
    busy = LoginLine(lambda: 0.5)
    for _ in range(loginline.OF_ONE_MOST):
        busy.add(login("anna"), 0.0)
    assert not busy.has_room_for(login("Anna"))
    assert busy.has_room_for(login("ben"))


def test_a_flood_of_logins_leaves_room_for_who_has_a_token() -> None:
    line = LoginLine(lambda: 0.5)
    for number in range(loginline.WAITING_MOST):
        line.add(login(f"u{number}"), 0.0)
    for number in range(loginline.RECHECKS_MOST):
        one = login("anna", token=f"t{number}")
        assert line.has_room_for(one)
        line.add(one, 0.0)
    assert not line.has_room_for(login("anna", token="t"))
    first = line.take_recheck(0.0)
    assert first is not None
    assert first.token == "t0", "it is behind a thousand strangers"
    first = line.take(0.0)
    assert first is not None
    assert first.token == ""
    assert line.next_s(0.0, may_check=False, may_recheck=False) == 60.0
    assert line.next_s(0.0, may_check=False, may_recheck=True) == 0.0


def test_refusals_that_wait_are_bounded_and_the_first_due_go_early() -> None:
    line = LoginLine(lambda: 0.5)
    for number in range(loginline.DELAYED_MOST + 3):
        line.add(login(""), number / 1000)
    assert [one.begun_s for one in line.due(0.0)] == [0.0, 0.001, 0.002]
    assert line.due(0.0) == []
    assert line.has_room_for(login("anna")), "who fails at once keeps others out"


def test_all_that_wait_are_fewer_than_the_replies_that_are_kept() -> None:
    waiting = loginline.WAITING_MOST + loginline.RECHECKS_MOST + loginline.DELAYED_MOST
    assert waiting < deferred_replies.MOST / 2


def test_spellings_of_a_name_share_one_throttle() -> None:
    line = LoginLine(lambda: 0.5)
    names = ("anna", "Anna", " ANNA", "anna ", "\N{FULLWIDTH LATIN SMALL LETTER A}nna")
    for number, name in enumerate(names):
        fail(line, name, 100.0 * number, took_s=0.0)
    line.add(login("aNNa"), 400.0)
    assert line.take(407.9) is None
    line.succeed(login("ANNA"))
    assert line.take(407.9) is not None


def test_a_login_shows_no_password() -> None:
    assert "'pw'" not in repr(login())


# --- the proof -----------------------------------------------------------------------------------

PROOF = LoginProof("anna", "pam", ["ops"], [{"@runner": ["x"]}], until=100.0)


def test_a_proof_is_believed_in_time() -> None:
    sealed = seal_proof(b"secret", PROOF)
    assert open_proof(b"secret", sealed, 100.0) == PROOF
    assert open_proof(b"secret", sealed, 100.1) is None
    assert open_proof(b"another", sealed, 50.0) is None
    for number in range(0, len(sealed), 7):
        letter = "A" if sealed[number] != "A" else "B"
        assert open_proof(b"secret", sealed[:number] + letter + sealed[number + 1 :], 50.0) is None


@pytest.mark.parametrize("text", [None, "", ".", "a.b", 5, ["x"], {"a": 1}, "ä.ö", "\udcff.\udcff"])
def test_what_is_no_proof(text: Any) -> None:
    assert open_proof(b"secret", text, 0.0) is None


# --- tokens --------------------------------------------------------------------------------------

RECORD = {"name": "anna", "eauth": "pam", "start": 10.0, "expire": 20.0}


def test_a_token_lives_until_its_second(tmp_path: Path) -> None:
    tokens = LoginTokens(tmp_path / "tokens")
    token = tokens.make(RECORD)
    assert tokens.find(token, 19.9) == RECORD
    assert tokens.find(token, 20.0) is None
    assert tokens.find(token, 15.0) is None, "it came back"


def test_what_is_dead_or_damaged_is_swept(tmp_path: Path) -> None:
    tokens = LoginTokens(tmp_path)
    alive = tokens.make({**RECORD, "expire": 100.0})
    dead = tokens.make(RECORD)
    (tmp_path / ("a" * 64)).write_bytes(b"junk")
    (tmp_path / "no-token").write_text("is left alone")
    assert tokens.sweep(50.0) == 1
    assert {one.name for one in tmp_path.iterdir()} == {hash_token(alive), "no-token"}
    assert tokens.find(dead, 15.0) is None


def test_a_token_is_forgotten(tmp_path: Path) -> None:
    tokens = LoginTokens(tmp_path)
    token = tokens.make(RECORD)
    assert not tokens.forget(hash_token(token))
    assert not tokens.forget("../x")
    assert tokens.forget(token)
    assert not tokens.forget(token)
    assert list(tmp_path.iterdir()) == []


def test_the_number_of_tokens_is_bounded(tmp_path: Path, monkeypatch: Any) -> None:
    """Each login makes one that lives for hours. Who makes many loses his own, not others'."""
    monkeypatch.setattr(logintokens, "TOKENS_MOST", 20)
    monkeypatch.setattr(logintokens, "ROOM_MADE", 5)
    tokens = LoginTokens(tmp_path)
    others = [
        tokens.make({**RECORD, "name": name, "start": 0.0, "expire": 99.0}) for name in ("ben", "c")
    ]
    dead = tokens.make({**RECORD, "name": "d", "start": 0.0, "expire": 1.0})
    made = [tokens.make({**RECORD, "start": 10.0 + n, "expire": 99.0}) for n in range(40)]
    assert len(list(tmp_path.iterdir())) <= 20
    assert tokens.find(dead, 0.5) is None
    assert all(tokens.find(one, 60.0) for one in others)
    alive = [one for one in made if tokens.find(one, 60.0)]
    assert alive == made[-len(alive) :]
    assert len(alive) >= 13


def test_tokens_made_at_once_keep_the_bound(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(logintokens, "TOKENS_MOST", 20)
    monkeypatch.setattr(logintokens, "ROOM_MADE", 1)

    def make_many(number: int) -> None:
        for turn in range(20):
            LoginTokens(tmp_path).make({**RECORD, "name": f"u{number}", "start": float(turn)})
            assert len(list(tmp_path.iterdir())) <= 21  # a file being written has another name

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(make_many, range(8)))
    assert len(list(tmp_path.iterdir())) <= 20


def test_a_login_holds_no_list_of_all_tokens(tmp_path: Path) -> None:
    """Of ten thousand, each with its status and path, a worker would never be rid again."""
    tokens = LoginTokens(tmp_path)
    for number in range(2000):
        (tmp_path / hash_token(str(number))).write_bytes(pack_bin({**RECORD, "expire": 99.0}))
    tracemalloc.start()
    try:
        tokens.make(RECORD)
        assert tokens.sweep(15.0) == 2001
        _now, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 256 * 1024


def test_a_token_that_cannot_be_read_stays(tmp_path: Path) -> None:
    tokens = LoginTokens(tmp_path)
    token = tokens.make(RECORD)
    path = tmp_path / hash_token(token)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to("elsewhere")
    with pytest.raises(StoreError):
        tokens.find(token, 15.0)
    assert path.is_symlink()


# --- the check -----------------------------------------------------------------------------------


def config(tmp_path: Path, **blocks: Any) -> MasterConfig:
    extensions = tmp_path / "ext"
    (extensions / "auth").mkdir(parents=True, exist_ok=True)
    (extensions / "auth" / "bad.py").write_text(
        "def auth(username, password):\n    raise ValueError(password)\n"
    )
    (extensions / "auth" / "odd.py").write_text("def auth(username, password):\n    return 'yes'\n")
    (extensions / "auth" / "house.py").write_text(
        "def auth(username, password):\n    return True\n"
        "def groups(username, **kwargs):\n    return ['b', 'a', 5, 'a']\n"
        "def acl(username, **kwargs):\n"
        "    if username == 'silent':\n        return None\n"
        "    return ['test.ping', kwargs['password'], kwargs['eauth']]\n"
    )
    (extensions / "auth" / "wider.py").write_text(
        "def auth(username, password):\n    return True\n"
        "def groups(username):\n    return ['ops']\n"
        "def process_acl(auth_list, opts):\n"
        "    return auth_list + (['x.y', opts['id']] if 'test.version' in auth_list else [])\n"
    )
    return MasterConfig(
        access=AccessOptions(external_auth=blocks),
        paths=PathOptions(extension_modules=str(extensions), cachedir=str(tmp_path)),
    )


def test_what_a_check_finds(tmp_path: Path) -> None:
    made = config(tmp_path, auto={"x": []}, house={"x": []})
    assert check_login(made, "auto", "x", "") == LoginProof("x", "auto")
    assert check_login(made, "house", "x", "pw") == LoginProof(
        "x", "house", ["a", "b"], whole=["test.ping", "pw", "house"]
    )
    silent = LoginProof("silent", "house", ["a", "b"])
    assert check_login(made, "house", "silent", "pw") == silent
    assert check_login(made, "file", "x", "") is None
    assert recheck_login(made, "auto", "x")
    assert not recheck_login(made, "file", "x")


def test_a_list_that_a_module_processes(tmp_path: Path) -> None:
    """Of the configuration's entries, of name and groups; one that stays as it is is today's."""
    made = config(tmp_path, wider={"x": ["test.version"], "ops%": ["a.b"], "*": ["c.d"]})
    found = check_login(made, "wider", "x", "")
    assert found is not None
    assert found.whole == ["test.version", "a.b", "x.y", made.process.id]
    other = check_login(made, "wider", "other", "")
    assert other is not None
    assert other.whole is None


def test_another_module_says_what_a_login_may(tmp_path: Path) -> None:
    """``eauth_acl_module``: its list in place of the configuration's, unless it has none."""
    made = config(tmp_path, auto={"x": ["a.b"]})

    def whole(source: str, name: str) -> Any:
        access = replace(made.access, eauth_acl_module=source)
        found = check_login(replace(made, access=access), "auto", name, "pw")
        assert found is not None
        assert found.entries is None
        return found.whole

    assert whole("house", "x") == ["test.ping", "pw", "house"]
    assert whole("house", "silent") is None
    for source in ("", "auto", "sharedsecret", "wider", "nosuch", "../house"):
        assert whole(source, "x") is None


RECORDED = json.loads((DATA / "access" / "logins.json").read_text())


@pytest.mark.parametrize("source", ["", "house", "auto", "nosuch"])
def test_modules_decide_as_before_a_real_master(tmp_path: Path, source: str) -> None:
    """What real Salt 3006.30 allowed each login, by module and ``eauth_acl_module``."""
    made = config(tmp_path, **RECORDED["blocks"])
    (tmp_path / "ext" / "auth" / "house.py").write_text(RECORDED["module"])
    made = replace(made, access=replace(made.access, eauth_acl_module=source))
    ctx = SimpleNamespace(config=made)
    rows = [row for row in RECORDED["rows"] if row["eauth_acl_module"] == source]
    found = []
    for row in rows:
        proof = check_login(made, row["eauth"], row["user"], "open")
        assert proof is not None
        entries = proof.whole
        if entries is None:
            entries = find_entries(ctx, proof.eauth, proof.name, proof.groups, proof.entries)
        found.append(allows_all(entries, [Call(row["fun"])], {"web1"}, lambda _tgt: set()))
    assert len(rows) == 35
    assert found == [row["allowed"] for row in rows]


def test_a_token_keeps_the_list_of_a_module(tmp_path: Path, caplog: Any) -> None:
    """Whatever ``keep_acl_in_token`` says; a list with a fault allows nothing."""
    ctx = context(tmp_path)
    token = make_token(ctx, LoginProof("anna", "auto", ["ops"], whole=["x.y"]), None)
    assert token["auth_list"] == ["x.y"]
    assert "auth_list_by_module" not in token
    assert authenticate(ctx, {}, token, "") == AuthenticatedUser("anna", ["x.y"], "token")
    faulty = make_token(ctx, LoginProof("anna", "auto", whole=["x.y", 5]), None)
    assert authenticate(ctx, {}, faulty, "") == AuthenticatedUser("anna", [], "token")
    assert "the list of anna allows nothing" in caplog.text


def test_a_kept_list_counts_as_long_as_lists_are_kept(tmp_path: Path) -> None:
    token = make_token(context(tmp_path, keep_acl_in_token=True), LoginProof("zed", "auto"), None)
    block = {"zed": ["new.one"]}
    for keeps, entries in ((True, ["status.uptime"]), (False, ["new.one"])):
        ctx = context(tmp_path, keep_acl_in_token=keeps)
        ctx.config.access.external_auth["auto"] |= block
        assert authenticate(ctx, {}, token, "") == AuthenticatedUser("zed", entries, "token")


def test_a_module_that_fails_lets_in_nobody_and_tells_no_password(
    tmp_path: Path, caplog: Any
) -> None:
    made = config(tmp_path, bad={}, odd={}, file={"^filename": "/nonexistent"})
    assert check_login(made, "bad", "x", "s3cr3t") is None
    assert check_login(made, "odd", "x", "s3cr3t") is None
    assert check_login(made, "file", "x", "s3cr3t") is None
    assert "eauth bad failed for x: ValueError" in caplog.text
    assert "/nonexistent" in caplog.text
    assert "s3cr3t" not in caplog.text


def test_which_modules_can_be_used(tmp_path: Path) -> None:
    made = config(tmp_path, auto={"x": []}, sharedsecret={"x": "text"}, nosuch={})
    assert is_usable(made, "auto")
    for name in ("sharedsecret", "nosuch", "file", "", None, 5, ["auto"], "auto.py", "../auto"):
        assert not is_usable(made, name)


def context(tmp_path: Path, **options: Any) -> Any:
    """As much of a worker's context as a token needs."""
    block = {"anna": ["test.ping"], "ops%": ["test.version"], "*": ["status.uptime"]}
    access = AccessOptions(external_auth={"auto": block, "bad": {"x": 5}}, **options)
    return SimpleNamespace(
        config=MasterConfig(access=access),
        login_tokens=LoginTokens(tmp_path / "tokens"),
        wall_s=lambda: 1000.0,
        steady_s=lambda: 5.0,
    )


def test_what_a_token_keeps(tmp_path: Path) -> None:
    ctx = context(tmp_path)
    token = make_token(ctx, LoginProof("anna", "auto", ["ops"], ["x.y"]), 5)
    assert (token["start"], token["expire"]) == (1000.0, 44200.0)
    assert token["groups"] == ["ops"]
    assert not {"auth_list", "entries"} & token.keys()
    assert ctx.login_tokens.find(token["token"], 1000.0)["entries"] == ["x.y"]


def test_the_rights_of_a_login_can_be_kept(tmp_path: Path) -> None:
    ctx = context(tmp_path, keep_acl_in_token=True)
    token = make_token(ctx, LoginProof("anna", "auto", ["ops"], ["x.y"]), None)
    assert token["auth_list"] == ["test.ping", "test.version", "x.y"]


LIVES: list[tuple[Any, Any, float]] = [
    (False, 5, 43200),
    (True, 5, 5),
    (True, 0.5, 0.5),
    (True, -1, 43200),
    (True, "5", 43200),
    (True, True, 43200),
    (True, 10**30, 43200),
    (True, None, 43200),
    ({"auto": ["anna"]}, 5, 5),
    ({"auto": ["ben"]}, 5, 43200),
    ({"pam": ["anna"]}, 5, 43200),
]


@pytest.mark.parametrize(("override", "asked", "life"), LIVES)
def test_who_may_ask_for_a_life(tmp_path: Path, override: Any, asked: Any, life: float) -> None:
    ctx = context(tmp_path, token_expire_user_override=override)
    token = make_token(ctx, LoginProof("anna", "auto"), asked)
    assert token["expire"] - token["start"] == life


def test_whose_entries_count(tmp_path: Path, caplog: Any) -> None:
    ctx = context(tmp_path)
    assert find_entries(ctx, "auto", "anna", [], None) == ["test.ping"]
    assert find_entries(ctx, "auto", "zed", [], None) == ["status.uptime"]
    assert find_entries(ctx, "auto", "zed", [], ["a.b"]) == ["a.b"]  # named by the module
    assert find_entries(ctx, "bad", "x", [], None) == []
    assert find_entries(ctx, "gone", "anna", [], None) == []
    assert find_entries(ctx, "auto", "anna", [], ["a.b", 5]) == ["test.ping"]
    assert "the entries of anna count for nothing" in caplog.text
    permissive = context(tmp_path, permissive_acl=True)
    assert find_entries(permissive, "auto", "anna", [], None) == ["test.ping", "status.uptime"]


def test_what_is_kept_of_a_load() -> None:
    load = {"cmd": "publish", "fun": "a.b", "key": "k", "password": "p",
            "kwargs": {"eauth": "pam", "username": "u", "metadata": {"a": 1}}}  # fmt: skip
    assert drop_credentials(load) == {
        "cmd": "publish", "fun": "a.b", "kwargs": {"metadata": {"a": 1}},
    }  # fmt: skip
    runner = {
        "cmd": "runner",
        "kwargs": {"password": "x"},
        "token": "t",
        "kwarg": {"password": "x"},
    }
    assert drop_credentials(runner) == {
        "cmd": "runner", "kwargs": {"password": "x"}, "kwarg": {"password": "x"},
    }  # fmt: skip

    loads = {"cmd": "authorize", "token": "t", "loads": [load, runner, 5]}
    assert drop_credentials(loads) == {
        "cmd": "authorize", "loads": [drop_credentials(load), drop_credentials(runner), 5],
    }  # fmt: skip


GOOD = {"eauth": "pam", "username": "anna", "password": "p"}


@pytest.mark.parametrize(
    "fields",
    [
        {"eauth": "x" * 257},
        {"eauth": ["pam"]},
        {"eauth": None},
        {"username": "a" * 257},
        {"username": "a\0b"},
        {"username": b"anna"},
        {"password": "p" * (PASSWORD_LIMIT + 1)},
        {"password": "a\0b"},
        {"password": ["p"]},
        {"password": None},
    ],
)
def test_what_cannot_be_a_login_waits_as_nobody(fields: dict[str, Any]) -> None:
    """A line of a thousand logins must not hold passwords of megabytes."""
    assert read_login({**GOOD, "more": 1}) == GOOD
    assert read_login({**GOOD, **fields}) is NO_LOGIN


# --- the way of the replies ----------------------------------------------------------------------


def test_the_child_that_brings_replies_is_reaped_and_started_anew(tmp_path: Path) -> None:
    """Killed while nobody logs in, it was a zombie until the next reply."""
    poller = zmq.Poller()
    replies = _Replies(tmp_path / "late", lambda _parent, _title: None, poller)
    try:
        first = replies._pid
        os.kill(first, signal.SIGKILL)
        assert [found for found, _ in poller.poll(5000)] == [replies.handle]
        replies.reap()
        with pytest.raises(ChildProcessError):
            os.waitpid(first, os.WNOHANG)
        assert poller.poll(0) == []
        replies.send(b"t" * 16, b"reply")
        assert replies._pid != first
        assert replies.handle >= 0
    finally:
        replies.close()
    with pytest.raises(ChildProcessError):
        os.waitpid(replies._pid, os.WNOHANG)


def test_a_child_that_brings_nothing_is_ended(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("saltlite.master.loginserver.HAND_OVER_S", 0.05)
    replies = _Replies(tmp_path / "late", lambda _parent, _title: None, zmq.Poller())
    try:
        stopped = replies._pid
        os.kill(stopped, signal.SIGSTOP)
        replies.send(b"t" * 16, b"x" * 10_000_000)
        assert replies._pid != stopped
        with pytest.raises(ChildProcessError):
            os.waitpid(stopped, os.WNOHANG)
    finally:
        replies._kill()


# --- what is imported ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "module", ["saltlite.master.context", "saltlite.master.dispatch", "saltlite.cli.salt"]
)
def test_who_checks_no_login_imports_no_module_for_it(module: str) -> None:
    code = (
        f"import sys, {module}\n"
        "names = ('saltlite.auth', 'saltlite.providers.pam', 'saltlite.providers.ldap',"
        " 'saltlite.master.loginserver', 'saltlite.master.logincheck', 'ldap3')\n"
        "print([one for one in names if one in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
