"""Returns for who may not open the event bus: his own jobs', and nobody else's, by no trick."""

from __future__ import annotations

import base64
import time
from typing import Any

import msgpack
import pytest

from attacks import LIMITED, Victim, clear, unharmed
from cluster import Cluster
from rogue import Rogue
from saltlite.master.commands.follow import ASKS_PER_S, JOBS_MOST, REPLY_BYTES

NEW_JOB = r"salt/job/\d{20}(_\d+)?/(new|ret/b)|\d{20}"
REFUSED = {"jobs": [{"refused": True}]}
AUTHENTICATION = {
    "error": {"name": "AuthenticationError", "message": "Authentication error occurred."}
}


def key_of(cluster: Cluster, user: str) -> str:
    return (cluster.cache_dir / f".{user}_key").read_text().strip()


def publish(victim: Victim, user: str = LIMITED, **fields: Any) -> dict[str, Any]:
    load = {"cmd": "publish", "tgt": "b", "fun": "test.ping", "arg": [], "tgt_type": "glob",
            "ret": "", "jid": "", "user": user, "key": key_of(victim.cluster, user),
            "__follow__": True, **fields}  # fmt: skip
    reply: dict[str, Any] = victim.stranger.send(clear(load))
    return reply


def job_of(victim: Victim) -> tuple[str, str]:
    """The jid and the ticket of a new job."""
    load = publish(victim)["load"]
    return load["jid"], load["__follow__"]


def follow(victim: Victim, *jobs: Any) -> Any:
    return victim.stranger.send(clear({"cmd": "follow", "jobs": list(jobs)}))


def ask(ticket: Any, count: Any = 0, **more: Any) -> dict[str, Any]:
    return {"ticket": ticket, "count": count, **more}


def return_of(minion: Rogue, jid: str, value: Any) -> None:
    load = {"cmd": "_return", "jid": jid, "fun": "test.ping", "fun_args": [], "return": value,
            "retcode": 0, "success": True}  # fmt: skip
    minion.send(load)


def forged(ticket: str) -> list[Any]:
    signature, _, data = ticket.partition(".")
    fields = msgpack.unpackb(base64.b64decode(data))
    other = base64.b64encode(msgpack.packb({**fields, "until": 1e12})).decode()
    return [
        "", ".", "x", 5, None, b"\xff", [ticket], {"jid": fields["jid"]}, fields["jid"],
        signature, f".{data}", f"{signature}.", f"{signature}.{other}", f"{'0' * 64}.{data}",
        f"{data}.{signature}", ticket[:-4], ticket + "A", ticket.upper(), ticket * 50,
        signature.encode() + b".\xff", f"{signature}.{data[:-2]}==",
    ]  # fmt: skip


def test_a_ticket_shows_what_its_job_returned(victim: Victim, bystander: Rogue) -> None:
    jid, ticket = job_of(victim)
    assert follow(victim, ask(ticket)) == {"jobs": [{"count": 0, "returns": {}, "more": False}]}
    return_of(bystander, jid, "mine")
    (state,) = follow(victim, ask(ticket))["jobs"]
    assert (state["count"], state["more"]) == (1, False)
    assert state["returns"]["b"]["return"] == "mine"
    assert follow(victim, ask(ticket, 1)) == {"jobs": [{"count": 1, "returns": {}, "more": False}]}


def test_nobody_makes_a_ticket(victim: Victim, bystander: Rogue) -> None:
    """Neither from a jid, nor from the ticket of another job."""
    jid, _own = job_of(victim)
    return_of(bystander, jid, "not for you")
    _other, ticket = job_of(victim)
    _mac, _, data = job_of(victim)[1].partition(".")
    spliced = f"{ticket.partition('.')[0]}.{data}"
    with unharmed(victim):
        for one in [*forged(ticket), spliced]:
            assert follow(victim, ask(one)) == REFUSED, one


def test_a_ticket_is_no_login(victim: Victim) -> None:
    _jid, ticket = job_of(victim)
    with unharmed(victim):
        for load in (
            {"cmd": "publish", "tgt": "b", "fun": "test.ping", "__login_proof__": ticket},
            {"cmd": "publish", "tgt": "b", "fun": "test.ping", "kwargs": {"token": ticket}},
            {"cmd": "runner", "fun": "jobs.active", "__login_proof__": ticket},
            {"cmd": "mk_token", "__login_proof__": ticket},
        ):
            reply = victim.stranger.send(clear(load))
            assert reply == "" or "AuthenticationError" in reply["error"]["name"], load


MALFORMED: list[Any] = [
    {}, {"jobs": None}, {"jobs": {}}, {"jobs": []}, {"jobs": "x"}, {"jobs": [{}] * (JOBS_MOST + 1)},
]  # fmt: skip
WRONG: list[dict[str, Any]] = [
    {"count": None}, {"count": True}, {"count": -1}, {"count": "0"}, {"count": 1.5},
    {"had": "b"}, {"had": {"b": 1}}, {"had": [None] * 200_001},
]  # fmt: skip


def test_what_is_malformed_is_refused(victim: Victim) -> None:
    _jid, ticket = job_of(victim)
    with unharmed(victim):
        for load in MALFORMED:
            assert victim.stranger.send(clear({"cmd": "follow", **load})) == AUTHENTICATION
        for more in WRONG:
            assert follow(victim, ask(ticket) | more) == AUTHENTICATION, list(more)
        assert follow(victim, 5, None, ["x"]) == {"jobs": [{"refused": True}] * 3}


def test_only_who_asks_gets_a_ticket(victim: Victim) -> None:
    assert publish(victim, __follow__=False)["load"].keys() == {"jid", "minions", "missing"}
    for wrong in (1, "yes", ["x"], {"a": 1}):
        assert publish(victim, __follow__=wrong)["error"]["name"] == "AuthorizationError"
    assert "error" in publish(victim, fun="cmd.run", arg=["id"])


def test_the_ticket_is_on_no_record_and_in_no_event(victim: Victim, bystander: Rogue) -> None:
    with unharmed(victim, written=r"jobs\.sqlite", events=NEW_JOB):
        jid, ticket = job_of(victim)
    return_of(bystander, jid, True)
    for path in victim.cluster.cache_dir.glob("jobs.sqlite*"):
        data = path.read_bytes()
        assert ticket.encode() not in data
        assert b"__follow__" not in data
    assert ticket not in victim.cluster.master.log()


def test_a_reply_is_bounded(victim: Victim, crowd: list[Rogue]) -> None:
    """Many large returns come one page after the other, each once."""
    names = [one.id for one in crowd]
    load = publish(victim, tgt=names, tgt_type="list")["load"]
    for one in crowd:
        return_of(one, load["jid"], "x" * (REPLY_BYTES // 2 - 1000))
    had: dict[str, Any] = {}
    pages = 0
    while len(had) < len(names):
        (state,) = follow(victim, ask(load["__follow__"], len(had), had=sorted(had)))["jobs"]
        assert 0 < len(state["returns"]) <= 2
        assert not state["returns"].keys() & had.keys()
        had |= state["returns"]
        assert state["more"] is (len(had) < len(names))
        pages += 1
    assert sorted(had) == sorted(names)
    assert pages == len(names) // 2


def test_who_asks_too_often_hears_of_nothing_new(victim: Victim, bystander: Rogue) -> None:
    jid, ticket = job_of(victim)
    frames = [clear({"cmd": "follow", "jobs": [ask(ticket)] * JOBS_MOST})] * 20
    with unharmed(victim, cpu_s=20 * 0.05):
        replies = victim.stranger.send_many(frames, within_s=5)
    assert all(reply["jobs"] == [{"count": 0, "returns": {}, "more": False}] * JOBS_MOST
               for reply in replies)  # fmt: skip
    return_of(bystander, jid, "late")
    deadline = time.monotonic() + 5 + 2 / ASKS_PER_S
    while time.monotonic() < deadline:
        (state,) = follow(victim, ask(ticket))["jobs"]
        if state["returns"]:
            assert state["returns"]["b"]["return"] == "late"
            return
        time.sleep(2 / ASKS_PER_S)
    pytest.fail("what was returned is not told any more")
