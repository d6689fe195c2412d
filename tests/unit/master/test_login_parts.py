"""The parts of a login, each by itself: the line, the proof, the tokens, the check."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from saltlite.config.master import AccessOptions, MasterConfig, PathOptions
from saltlite.errors import StoreError
from saltlite.master import loginline
from saltlite.master.commands.login import find_entries, make_token
from saltlite.master.logincheck import check_login, is_usable, recheck_login
from saltlite.master.loginline import Login, LoginLine
from saltlite.master.loginproof import LoginProof, open_proof, seal_proof
from saltlite.master.logins import drop_credentials
from saltlite.master.logintokens import LoginTokens, hash_token

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
    assert line.take(100.0) is with_token


def test_the_line_is_bounded() -> None:
    line = LoginLine(lambda: 0.5)
    for number in range(loginline.WAITING_MOST):
        assert not line.is_full
        line.add(login(f"u{number}"), 0.0)
    assert line.is_full
    other = LoginLine(lambda: 0.5)
    other.add(dataclasses.replace(login(), size_bytes=loginline.WAITING_MOST_BYTES), 0.0)
    assert other.is_full


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
        "def acl(username, **kwargs):\n    return ['test.ping']\n"
    )
    return MasterConfig(
        access=AccessOptions(external_auth=blocks),
        paths=PathOptions(extension_modules=str(extensions), cachedir=str(tmp_path)),
    )


def test_what_a_check_finds(tmp_path: Path) -> None:
    made = config(tmp_path, auto={"x": []}, house={"x": []})
    assert check_login(made, "auto", "x", "") == LoginProof("x", "auto")
    assert check_login(made, "house", "x", "") == LoginProof(
        "x", "house", ["a", "b"], ["test.ping"]
    )
    assert check_login(made, "file", "x", "") is None
    assert recheck_login(made, "auto", "x")
    assert not recheck_login(made, "file", "x")


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
    assert find_entries(ctx, "auto", "zed", [], ["a.b"]) == ["status.uptime", "a.b"]
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
