"""Where too many logins wait, nobody hears that his password is wrong: he may try again.

A module that takes its time fills the line of one user, and the line of one token.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgpack
import pytest
from api import ApiCluster
from programs import many_descriptors
from replay import Reply

from attacks import NO_REPLY, Stranger, clear
from cluster import eventually
from saltlite.master.loginline import OF_ONE_MOST, RECHECKS_AT_ONCE
from saltlite.master.logins import TOO_MANY
from saltlite.master.logintokens import LoginTokens
from saltlite.transport.addresses import MasterSockets

BUSY = {"error": {"name": "LoginsBusyError", "message": TOO_MANY}}
JSON = {"Accept": "application/json"}
USER = {"eauth": "slow", "username": "anna", "password": "x"}
AHEAD = 12
"""Others whose checks take ten seconds each before it is the turn of whom this is about."""

SLOW_MODULE = """
import os, time
while not os.path.exists({path!r}):
    time.sleep(0.02)
def auth(username, password):
    return True
"""
"""It is loaded in the process of each check, be it of a password or of a token's owner."""

PING = {"client": "local", "tgt": "*", "fun": "test.ping"}


@pytest.fixture(scope="module")
def cluster() -> Iterator[ApiCluster]:
    everything = [".*", "@runner", "@wheel"]
    auth = {"slow": {".*": everything}, "auto": {"ben": everything}}
    with ApiCluster(minions=0, master_options={"external_auth": auth}) as one:
        modules = one.root / "modules"
        (modules / "auth").mkdir(parents=True)
        text = SLOW_MODULE.format(path=str(one.root / "go-on"))
        (modules / "auth" / "slow.py").write_text(text)
        one.reconfigure(one.master_dir / "master", module_dirs=[str(modules)])
        one.start()
        eventually(MasterSockets(one.sock_dir).logins.exists, what="the login server")
        yield one


@pytest.fixture(scope="module")
def stranger(cluster: ApiCluster) -> Iterator[Stranger]:
    one = Stranger(cluster.ret_port)
    yield one
    one.close()


def keep_asking(stranger: Stranger, load: dict[str, Any], stack: contextlib.ExitStack) -> None:
    """Ask, and do not wait for the answer."""
    one = stranger._socket()
    stack.callback(one.close, 0)
    one.send_multipart([b"", msgpack.packb(clear(load))])


def is_full_for(stranger: Stranger, load: dict[str, Any]) -> bool:
    return bool(stranger.send(clear(load), within_s=0.5) == BUSY)


def job(**shown: Any) -> dict[str, Any]:
    return {"cmd": "publish", "tgt": "*", "fun": "test.ping", "arg": [], "tgt_type": "glob",
            "ret": "", "jid": "", "kwargs": shown}  # fmt: skip


def calls_of(shown: dict[str, str]) -> list[dict[str, Any]]:
    """What a login or a token can be shown for."""
    return [
        job(**shown),
        {"cmd": "runner", "fun": "test.arg", **shown},
        {"cmd": "wheel", "fun": "key.list_all", **shown},
        {"cmd": "authorize", "loads": [job()], **shown},
    ]


@pytest.fixture(scope="module")
def full(cluster: ApiCluster, stranger: Stranger) -> Iterator[None]:
    """The line of one user is full, while his module takes its time."""
    with many_descriptors(2000), contextlib.ExitStack() as stack:
        for number in range(AHEAD):
            other = {"cmd": "mk_token", **USER, "username": f"other{number}"}
            keep_asking(stranger, other, stack)
        for _ in range(OF_ONE_MOST):
            keep_asking(stranger, {"cmd": "mk_token", **USER}, stack)
        eventually(lambda: is_full_for(stranger, {"cmd": "mk_token", **USER}), what="it is full")
        yield
    (cluster.root / "go-on").touch()


@pytest.mark.usefixtures("full")
def test_every_command_with_a_login_says_so(stranger: Stranger) -> None:
    for load in [{"cmd": "mk_token", **USER}, *calls_of(USER)]:
        assert stranger.send(clear(load), within_s=5) == BUSY, load["cmd"]


@pytest.mark.usefixtures("full")
def test_salt_api_answers_503(cluster: ApiCluster) -> None:
    asked: list[tuple[str, Any]] = [
        ("/login", USER),
        ("/token", [USER]),
        ("/run", [{**PING, **USER}]),
        ("/run", [{"client": "wheel", "fun": "key.list_all", **USER}]),
        ("/keys", {"mid": "m1", **USER}),
    ]
    for path, body in asked * 2:  # again, for nothing of it counts as a wrong password
        reply: Reply = cluster.client._ask("POST", path, JSON, body)
        assert reply.status == 503, (path, reply.raw)
        assert reply.body == {"status": 503, "return": TOO_MANY}
        assert reply.headers["Retry-After"] == "1"


@pytest.mark.usefixtures("full")
@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("salt", ("*", "test.ping")),
        ("salt", ("-T", "*", "test.ping")),
        ("salt", ("-b", "1", "*", "test.ping")),
        ("salt-run", ("test.arg",)),
        ("salt-key", ("-L",)),
    ],
)
def test_commands_say_so_in_one_line(
    cluster: ApiCluster, command: str, words: tuple[str, ...]
) -> None:
    login = ("--eauth=slow", "--username=anna", "--password=x")
    ran = cluster.command(command, *login, *words)
    assert (ran.stdout, ran.stderr, ran.exit_code) == ("", f"ERROR: {TOO_MANY}\n", 69)


@pytest.mark.usefixtures("full")
def test_others_are_let_in_and_who_guesses_learns_nothing(
    cluster: ApiCluster, stranger: Stranger
) -> None:
    """Another user has room; a wrong password is answered as a right one, for nobody looks."""
    for password in ("x", "another"):
        load = {"cmd": "mk_token", **USER, "password": password}
        assert stranger.send(clear(load), within_s=5) == BUSY
    ben = {"cmd": "mk_token", "eauth": "auto", "username": "ben", "password": ""}
    assert stranger.send(clear(ben), within_s=0.5) is NO_REPLY, "he waits for his turn"


def test_the_owner_of_a_token_hears_the_same(cluster: ApiCluster, stranger: Stranger) -> None:
    """A token that is some time old is looked at again, in a line of its own."""
    (cluster.root / "go-on").unlink(missing_ok=True)
    tokens = LoginTokens(Path(cluster.root / "master" / "cache" / "tokens"))
    start = time.time() - 1000

    def old_token(name: str) -> dict[str, str]:
        record = {"name": name, "eauth": "slow", "start": start, "expire": start + 9000}
        return {"token": tokens.make(record)}

    shown = old_token("anna")
    with many_descriptors(2000), contextlib.ExitStack() as stack:
        for number in range(AHEAD):
            keep_asking(stranger, job(**old_token(f"other{number}")), stack)
        for _ in range(OF_ONE_MOST + RECHECKS_AT_ONCE):
            keep_asking(stranger, job(**shown), stack)
        eventually(lambda: is_full_for(stranger, job(**shown)), what="it is full")
        for load in calls_of(shown):
            assert stranger.send(clear(load), within_s=5) == BUSY, load["cmd"]
        reply = cluster.client._ask("POST", "/run", JSON, [{**PING, **shown}])
        assert (reply.status, reply.body["return"]) == (503, TOO_MANY)
