"""Logins between real Salt and ours: its commands before our master, ours before its master."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from attacks import Stranger, clear
from cluster import OURS, SALT_3006, Cluster, Ran, eventually

BEN = ["test.ping", {"@runner": ["test.arg"]}, {"@wheel": ["key.list_all"]}]
BLOCKS: dict[str, Any] = {
    "auto": {"ben": BEN},
    "sharedsecret": {"ben": BEN},
}
LOGINS = [("auto", "ben", "x"), ("file", "ben", "pw"), ("sharedsecret", "ben", "s3cret")]


@pytest.fixture(scope="module", params=[OURS, SALT_3006], ids=["our-master", "real-master"])
def pair(request: pytest.FixtureRequest) -> Iterator[tuple[Cluster, str]]:
    """A master with a minion, and whose commands are used: the other's."""
    with Cluster(master=request.param, minions=1) as one:
        users = one.root / "users"
        users.write_text("ben:pw\nzed:pw\n")
        users.chmod(0o600)
        one.reconfigure(
            one.master_dir / "master",
            sharedsecret="s3cret",
            external_auth={**BLOCKS, "file": {"^filename": str(users), "ben": BEN}},
        )
        one.start()
        yield one, SALT_3006 if request.param == OURS else OURS


def login(eauth: str, username: str, password: str) -> list[str]:
    return ["-a", eauth, "--username", username, "--password", password]


def run(pair: tuple[Cluster, str], program: str, *words: str) -> Ran:
    cluster, kind = pair
    return cluster.command(program, *words, kind=kind)


def jid_of(ran: Ran) -> str:
    assert ran.stdout.startswith("Executed command with job ID: "), ran
    return ran.stdout.split()[-1]


def returned(cluster: Cluster, jid: str) -> Any:
    text = cluster.salt_run("jobs.lookup_jid", jid, "--out=json").stdout
    return json.loads(text) if text.strip() else {}


@pytest.mark.parametrize("who", LOGINS, ids=lambda who: str(who[0]))
def test_a_login_publishes(pair: tuple[Cluster, str], who: tuple[str, str, str]) -> None:
    """The event bus is each one's own, so nobody waits on the other's."""
    cluster, _kind = pair
    jid = jid_of(run(pair, "salt", *login(*who), "--async", "m1", "test.ping"))
    eventually(lambda: returned(cluster, jid) == {"m1": True}, what="the return")
    refused = run(pair, "salt", *login(*who), "--async", "m1", "test.version")
    assert "Authorization error occurred." in refused.stdout + refused.stderr


@pytest.mark.parametrize("who", [("file", "ben", "no"), ("sharedsecret", "ben", "x")])
def test_a_wrong_password_does_not(pair: tuple[Cluster, str], who: tuple[str, str, str]) -> None:
    refused = run(pair, "salt", *login(*who), "--async", "m1", "test.ping")
    assert "Authentication error occurred." in refused.stdout + refused.stderr


def test_a_token_of_the_other_is_good(pair: tuple[Cluster, str]) -> None:
    """It is made by the other's command, and used over 4506 as any client uses it."""
    cluster, _kind = pair
    jid_of(run(pair, "salt", *login("file", "ben", "pw"), "-T", "--async", "m1", "test.ping"))
    token = (cluster.root / "salt_token").read_text().strip()
    assert len(token) == 64
    stranger = Stranger(cluster.ret_port)
    load = {"cmd": "publish", "tgt": "m1", "fun": "test.ping", "arg": [], "tgt_type": "glob",
            "ret": "", "jid": "", "user": "x", "key": "", "kwargs": {"token": token}}  # fmt: skip
    reply = stranger.send(clear(load), within_s=20)
    wrong = stranger.send(clear({**load, "fun": "cmd.run", "arg": ["id"]}), within_s=20)
    stranger.close()
    assert reply["load"]["minions"] == ["m1"]
    assert wrong["error"]["name"] == "AuthorizationError"


def test_keys_and_runs_by_a_login(pair: tuple[Cluster, str]) -> None:
    """salt-key asks the wheel over 4506; salt-run is told the tag, with --async.

    Real salt-run that can read root's key runs what it likes, whatever ``-a`` says.
    """
    who = login("file", "ben", "pw")
    started = run(pair, "salt-run", *who, "--async", "test.arg", "a")
    assert "Authentication failure" not in started.stdout + started.stderr, started
    refused = run(pair, "salt-run", *who, "--async", "jobs.active")
    is_real = pair[1] != OURS
    assert ("Authentication failure" in refused.stdout + refused.stderr) is not is_real, refused
    listed = run(pair, "salt-key", "--eauth", *who[1:], "-L", "--out=json")
    assert "m1" in listed.stdout, listed
