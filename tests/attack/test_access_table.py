"""The rows that a real master was asked (tests/cases/data/access), asked of ours over port 4506."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator
from typing import Any

import msgpack
import pytest
from repository import DATA

from attacks import Stranger, clear
from cluster import Cluster, eventually
from saltlite.master.minioncache import GRAINS, MinionCache
from saltlite.transport.addresses import MasterSockets

CASES = json.loads((DATA / "access" / "rows.json").read_text())


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    options = {
        "worker_threads": 2,
        "external_auth": {"auto": CASES["block"]},
        "nodegroups": CASES["nodegroups"],
    }
    with Cluster(minions=0, master_options=options, auto_accept=False) as one:
        (one.pki_dir / "minions").mkdir(parents=True)
        one.pki_dir.chmod(0o700)
        cache = MinionCache(one.cache_dir)
        for minion, grains in CASES["minions"].items():
            (one.pki_dir / "minions" / minion).write_text("no key, but accepted\n")
            cache.write(GRAINS, minion, {"id": minion, **grains})
        one.start_master()
        eventually(MasterSockets(one.sock_dir).event_pub.exists, what="the event bus")
        yield one


def make_token(cluster: Cluster, user: str, groups: list[str]) -> str:
    """A token of a user; in its place at once, for the master removes damaged ones."""
    token = hashlib.sha256(f"{user} {groups}".encode()).hexdigest()
    now = time.time()
    record = {"start": now, "expire": now + 600, "name": user, "eauth": "auto", "token": token,
              "groups": groups}  # fmt: skip
    folder = cluster.cache_dir / "tokens"
    folder.mkdir(exist_ok=True, mode=0o700)
    unfinished = folder / f".{token}"
    unfinished.write_bytes(msgpack.packb(record))
    unfinished.rename(folder / token)
    return token


def ask_for(row: dict[str, Any], token: str) -> dict[str, Any]:
    if row["cmd"] != "publish":
        return {"cmd": row["cmd"], "fun": row["fun"], "arg": row["arg"], "kwarg": row["kwarg"],
                "token": token}  # fmt: skip
    return {"cmd": "publish", "tgt": row["tgt"], "tgt_type": row["tgt_type"], "fun": row["fun"],
            "arg": row["arg"], "ret": "", "jid": "", "kwargs": {"token": token}}  # fmt: skip


def is_refused(reply: Any) -> bool:
    error = reply.get("error")
    if isinstance(error, dict):
        assert error["name"] != "AuthenticationError", "a token is not known"
    names = ("AuthorizationError", "TokenAuthenticationError")
    return isinstance(error, dict) and error["name"] in names


def test_who_may_do_what(cluster: Cluster) -> None:
    stranger = Stranger(cluster.ret_port)
    # A name without a dot is refused by its form, whatever a list says.
    rows = [row for row in CASES["rows"] if "." in "".join(row["fun"])]
    frames = [clear(ask_for(row, make_token(cluster, row["user"], row["groups"]))) for row in rows]
    replies = stranger.send_many(frames, within_s=60)
    stranger.close()
    wrong = [
        (row, reply)
        for row, reply in zip(rows, replies, strict=True)
        if is_refused(reply) is row["allowed"]
    ]
    assert wrong == []
