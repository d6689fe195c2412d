"""What becomes of logins when a module hangs or crashes, and when who checks them dies."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from attacks import Stranger, clear
from cluster import Cluster, eventually
from saltlite.master.loginserver import CHECK_LIMIT_S
from saltlite.transport.addresses import MasterSockets

MODULES = {
    "hangs": "import time\ndef auth(username, password):\n    time.sleep(3600)\n",
    "spins": "def auth(username, password):\n    while True:\n        pass\n",
    "dies": "import os\ndef auth(username, password):\n    os._exit(0)\n",
    "talks": "def auth(username, password):\n    return True\n"
    "def groups(username):\n    return ['x' * 100] * 200000\n",
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(minions=0, auto_accept=False) as one:
        modules = one.root / "master" / "extmods" / "auth"
        modules.mkdir(parents=True)
        for name, text in MODULES.items():
            (modules / f"{name}.py").write_text(text)
        blocks = {name: {"anna": ["test.ping"]} for name in (*MODULES, "auto")}
        one.reconfigure(
            one.master_dir / "master", extension_modules=str(modules.parent),
            external_auth=blocks, worker_threads=2,
        )  # fmt: skip
        one.start_master()
        eventually(MasterSockets(one.sock_dir).logins.exists, what="the login server")
        yield one


def log_in(cluster: Cluster, eauth: str, name: str = "anna", *, within_s: float = 30) -> Any:
    stranger = Stranger(cluster.ret_port)
    load = {"cmd": "mk_token", "eauth": eauth, "username": name, "password": "x"}
    try:
        return stranger.send(clear(load), within_s=within_s)
    finally:
        stranger.close()


BAD = ("hangs", "spins", "dies")


def test_modules_that_do_not_answer_are_ended_and_let_in_nobody(cluster: Cluster) -> None:
    def try_one(eauth: str) -> tuple[Any, float]:
        begun_s = time.monotonic()
        answer = log_in(cluster, eauth, f"u-{eauth}", within_s=40)  # two are checked at once
        return answer, time.monotonic() - begun_s

    with ThreadPoolExecutor(len(BAD)) as pool:
        tried = [pool.submit(try_one, BAD[0])]
        eventually(lambda: cluster.master.titled("salt-master Login "), what="a check", within_s=10)
        assert log_in(cluster, "auto", "ben", within_s=8)["name"] == "ben"
        tried += [pool.submit(try_one, eauth) for eauth in BAD[1:]]
        answers = dict(zip(BAD, [one.result(50) for one in tried], strict=True))
    assert [answer for answer, _took_s in answers.values()] == ["", "", ""]
    assert min(answers[eauth][1] for eauth in ("hangs", "spins")) >= CHECK_LIMIT_S
    assert cluster.master.log().count("took too long") >= 2


def test_two_hundred_thousand_times_the_same_group_is_one(cluster: Cluster) -> None:
    assert len(log_in(cluster, "talks", "u-talks")["groups"]) == 1


def test_who_checks_logins_is_started_again(cluster: Cluster) -> None:
    (before,) = cluster.master.titled("salt-master LoginServer")
    before.kill()

    def is_back() -> bool:
        now = cluster.master.titled("salt-master LoginServer")
        return bool(now) and now[0].pid != before.pid

    eventually(is_back, what="it is back", within_s=20)
    eventually(lambda: log_in(cluster, "auto", within_s=5) not in ("", None), what="a login")
    assert log_in(cluster, "auto")["name"] == "anna"
    assert len(cluster.master.titled("salt-master LoginReplies")) == 1


def test_who_brings_replies_is_started_again(cluster: Cluster) -> None:
    (before,) = cluster.master.titled("salt-master LoginReplies")
    before.kill()
    eventually(lambda: not before.is_running(), what="it is gone, and no zombie stays")
    log_in(cluster, "auto", within_s=3)  # its reply may be lost
    assert log_in(cluster, "auto")["name"] == "anna"
