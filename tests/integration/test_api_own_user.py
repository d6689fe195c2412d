"""salt-api under a user of its own, by the steps of docs/api.md; as root only."""

from __future__ import annotations

import os
import pwd
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from api import RECORDED_AUTH, ApiCluster

from cluster import eventually
from saltlite.transport.addresses import MasterSockets
from saltlite.transport.bus import EventSubscriber

USER = "daemon"
"""Stands for the page's ``salt-api``: an account that is on every machine."""

PAGE = Path(__file__).parents[2] / "docs" / "api.md"
JSON = {"Accept": "application/json"}
PING = {"client": "local", "tgt": "*", "fun": "test.ping"}

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("setpriv") is None,
    reason="needs root and setpriv, to be somebody else",
)


class OwnUserCluster(ApiCluster):
    """A fresh installation: no directory is there but the configuration's and the user's own."""

    def __init__(self, publisher_acl: dict[str, Any]) -> None:
        access = {"external_auth": RECORDED_AUTH, "publisher_acl": publisher_acl}
        super().__init__(minions=1, master_options=access)
        base = self.root / "master"
        for path in (self.root, base, self.root / "m1"):
            path.chmod(0o755)
        deep = base / "not" / "there"
        self.reconfigure(
            self.master_dir / "master",
            **{name: str(deep / name) for name in ("cachedir", "sock_dir")},
        )
        account = pwd.getpwnam(USER)
        self.own = base / "own"  # what LogsDirectory and RuntimeDirectory are
        self.own.mkdir()
        os.chown(self.own, account.pw_uid, account.pw_gid)
        words = list(self.api.command)
        words[words.index("--pid-file") + 1] = "/own/api.pid"
        words[words.index("--log-file") + 1] = "/own/api.log"
        ids = [f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}"]
        self.api.command = ["setpriv", *ids, "--clear-groups", "--", *words]

    def start(self) -> OwnUserCluster:
        self.start_master()
        self.minions["m1"].start()
        self.wait_for_ping("m1")
        return self

    def log_of_api(self) -> str:
        return (self.own / "api.log").read_text()


def entries_on_the_page() -> dict[str, Any]:
    """The ``publisher_acl`` of "A user of its own"."""
    section = PAGE.read_text().partition("## A user of its own")[2]
    block = section.partition("```yaml\n")[2].partition("```")[0]
    found: dict[str, Any] = yaml.safe_load(block)["publisher_acl"]
    return {USER: found["salt-api"]}


@pytest.fixture(scope="module")
def cluster() -> Iterator[OwnUserCluster]:
    with OwnUserCluster(entries_on_the_page()) as one:
        one.start()
        one.start_api()
        yield one


@pytest.fixture(scope="module")
def session(cluster: OwnUserCluster) -> str:
    return cluster.client.log_in("anna")


def test_it_is_that_user(cluster: OwnUserCluster) -> None:
    status = Path(f"/proc/{cluster.api.pid}/status").read_text()
    uid = pwd.getpwnam(USER).pw_uid
    assert f"Uid:\t{uid}\t{uid}\t{uid}\t{uid}" in status
    assert (cluster.own / "api.pid").read_text().strip() == str(cluster.api.pid)
    assert "ERROR" not in cluster.log_of_api()
    assert "WARNING" not in cluster.log_of_api()


CHUNKS: dict[str, dict[str, Any]] = {
    "local": {},
    "local_batch": {"batch": "1"},
    "local_subset": {"subset": 1},
}


@pytest.mark.parametrize("client", CHUNKS)
def test_minions_return(cluster: OwnUserCluster, session: str, client: str) -> None:
    reply = cluster.client.run(session, {**PING, "client": client, **CHUNKS[client]})
    assert reply.body == {"return": [{"m1": True}]}


def test_runners_and_wheel_functions_return(cluster: OwnUserCluster, session: str) -> None:
    runner = {"client": "runner", "fun": "test.arg", "arg": [1]}
    assert cluster.client.run(session, runner).body == {"return": [{"args": [1], "kwargs": {}}]}
    wheel = cluster.client.run(session, {"client": "wheel", "fun": "key.list_all"}).body
    assert wheel["return"][0]["data"]["return"]["minions"] == ["m1"]


def test_a_minion_that_is_not_there(cluster: OwnUserCluster, session: str) -> None:
    """The job store is closed to this user, so nobody looks for a return there."""
    job = {**PING, "tgt": "m1,nobody", "tgt_type": "list", "timeout": 1}
    found = cluster.client.run(session, job).body["return"][0]
    assert found["m1"] is True
    assert "[No response]" in found["nobody"]
    assert "ERROR" not in cluster.log_of_api()


def test_a_hook_is_an_event(cluster: OwnUserCluster, session: str) -> None:
    headers = {**JSON, "X-Auth-Token": session}
    sockets = MasterSockets(cluster.root / "master" / "not" / "there" / "sock_dir")
    with EventSubscriber(sockets.event_pub, ("salt/netapi/",)) as bus:
        assert bus.connect_confirmed(10)
        assert cluster.client.ask("POST", "/hook/a", headers, {"a": 1}).status == 200
        event = bus.get(10)
    assert event is not None
    assert event.tag == "salt/netapi/hook/a"
    assert event.data["post"] == {"a": 1}


def test_without_the_entries_one_line_says_what_to_do() -> None:
    with OwnUserCluster({}) as cluster:
        cluster.start()
        cluster.start_api()
        wanted = f"add publisher_acl: {{{USER}: ['@events']}} to the master's configuration"
        eventually(lambda: wanted in cluster.log_of_api(), what="the line")
        fields = {"username": "anna", "password": "x", "eauth": "auto"}
        for _ in range(3):
            assert cluster.client.ask("POST", "/login", JSON, fields).status == 503
        assert cluster.log_of_api().count(wanted) == 1
        assert cluster.api.alive()


def test_who_may_only_listen_fires_no_hooks() -> None:
    """It was answered as if it had been fired."""
    with OwnUserCluster({USER: ["@events"]}) as cluster:
        cluster.start()
        cluster.start_api()
        session = cluster.client.log_in("anna")
        assert cluster.client.run(session, PING).body == {"return": [{"m1": True}]}
        headers = {**JSON, "X-Auth-Token": session}
        assert cluster.client.ask("POST", "/hook/a", headers, {"a": 1}).status == 503
        assert f"{{{USER}: ['@fire']}}" in cluster.log_of_api()


def test_a_place_for_the_pid_that_is_closed_is_a_warning() -> None:
    """It ended salt-api, in one case with a traceback; systemd knows the process anyway."""
    with OwnUserCluster({USER: ["@events"]}) as cluster:
        words = cluster.api.command
        words[words.index("--pid-file") + 1] = "/closed/below/api.pid"
        cluster.start()
        cluster.start_api()
        assert "(api_pidfile)" in cluster.log_of_api()
        assert "Traceback" not in cluster.api.log()
