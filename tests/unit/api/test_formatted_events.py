"""``format_events``: beside what real salt-api makes of the same events, its bounds, its rights."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import zmq
from repository import DATA
from tornado.netutil import bind_sockets
from tornado.websocket import WebSocketClientConnection, websocket_connect

from saltlite.api import formatted_events, limits
from saltlite.api.app import App
from saltlite.api.events import EventFeed, StreamChunk
from saltlite.api.formatted_events import JobsAndMinions
from saltlite.api.options import ServerOptions
from saltlite.api.server import ApiServer
from saltlite.transport.bus import Event

CASES = json.loads((DATA / "formatted_events/cases.json").read_text())
JID = "20260102030405000000"

DIFFERENT: dict[tuple[str, int], Any] = {
    ("a return that failed", 1): "complete",  # real Salt: running for ever
    ("presence of new ones", 0): [{"minions": [{"id": "m1"}]}],  # [], and asks for their grains
    ("presence of new ones", 1): [],  # the same again
    ("presence of a change", 1): [{"minions": [{"id": "m2"}]}],  # the end of the stream
    ("a tag with too few parts", 0): [],  # the end of the stream
    ("others' tags", 0): [],  # taken for one of Salt's
}
"""What we send after an event, by case and number, where real Salt does something else."""


def messages(shown: JobsAndMinions) -> list[Any]:
    return [json.loads(one) for one in shown.messages()]


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["name"]))
def test_messages_are_those_of_real_salt(case: dict[str, Any]) -> None:
    shown = JobsAndMinions()
    for number, (event, said) in enumerate(zip(case["events"], case["salt"], strict=True)):
        shown.take(event["tag"], event["data"])
        sent = messages(shown)
        other = DIFFERENT.get((case["name"], number))
        if other is None:
            assert sent == said["sent"]
            assert not said.keys() & {"error", "asked"}
        elif isinstance(other, str):
            (job,) = said["sent"][0]["jobs"].values()
            assert sent == [{"jobs": {job["jid"]: {**job, "state": other}}}]
            assert job["state"] == "running"
        else:
            assert sent == other
            assert sent != said["sent"] or "error" in said


def new(jid: str, *minions: str, fun: str = "test.ping") -> StreamChunk:
    data = {"jid": jid, "minions": list(minions), "fun": fun, "tgt": "*", "tgt_type": "glob"}
    return StreamChunk.of(Event(f"salt/job/{jid}/new", {**data, "_stamp": "t"}), "anna")


def ret(jid: str, minion: str, value: Any, owner: str = "anna", fun: str = "x.y") -> StreamChunk:
    data = {"fun": fun, "return": value, "retcode": 0, "success": True}
    return StreamChunk.of(Event(f"salt/job/{jid}/ret/{minion}", data), owner)


def test_the_oldest_jobs_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formatted_events, "JOBS_MOST", 3)
    shown = JobsAndMinions()
    shown._texts._most = 3
    for number in range(20):
        shown.take_text(new(f"{number:020}", "m1").text)
        if number % 4 == 0:
            messages(shown)
    (sent,) = messages(shown)
    assert [int(jid) for jid in sent["jobs"]] == [17, 18, 19]
    assert len(shown._jobs) == 3


def test_a_large_job_is_shown_without_what_was_returned() -> None:
    shown = JobsAndMinions()
    shown.take_text(new(JID, "m1", "m2").text)
    shown.take_text(ret(JID, "m1", "x" * formatted_events.JOB_BYTES_MOST).text)
    (sent,) = messages(shown)
    shown.take_text(ret(JID, "m2", "small").text)
    (again,) = messages(shown)
    assert sent["jobs"][JID]["minions"]["m1"] == {"success": True, "retcode": 0}
    assert again["jobs"][JID]["minions"]["m2"] == {"success": True, "retcode": 0}
    assert again["jobs"][JID]["state"] == "complete"


def test_what_waits_to_be_sent_is_bounded() -> None:
    shown = JobsAndMinions()
    large = "x" * (formatted_events.JOB_BYTES_MOST - 1000)
    for number in range(100):  # nobody asks for messages meanwhile
        shown.take_text(ret(f"{number:020}", "m1", large).text)
        kept = sum(len(str(one)) for one in shown._jobs.values())
        assert kept < formatted_events.PENDING_BYTES_MOST + 2 * formatted_events.BYTES_MOST
    assert sum(map(len, shown.messages())) < formatted_events.BYTES_MOST + 10_000


def test_grains_are_bounded_and_drive_out_no_others() -> None:
    shown = JobsAndMinions()
    shown.take_text(ret(JID, "m1", {"os": "x"}, fun="grains.items").text)
    too_much = {"os": "x" * formatted_events.BYTES_MOST}
    shown.take_text(ret(JID, "m2", too_much, fun="grains.items").text)
    assert {"minions": [{"grains": {"os": "x"}, "id": "m1"}]} in messages(shown)
    for number in range(30):
        grains = {"os": "x" * (formatted_events.BYTES_MOST // 10)}
        shown.take_text(ret(JID, f"n{number}", grains, fun="grains.items").text)
    sent = next(one for one in messages(shown) if "minions" in one)
    assert [one["id"] for one in sent["minions"]] == [f"n{number}" for number in range(21, 30)]


@pytest.mark.parametrize(
    ("tag", "data"),
    [
        ("salt/job/1/new", {}),
        ("salt/job/1/new", {"minions": [1, None, {}]}),
        ("salt/job/1/new", {"minions": {"m1": 1}}),
        ("salt/job/1/ret/m1", {}),
        ("salt/job/1/ret/m1", {"fun": "grains.items"}),
        ("salt/job", {}),
        ("salt/job/1/ret/m1/more", {}),
        ("salt/job/1/new", None),
        ("salt/key", {"id": {}, "act": "accept"}),
        ("salt/key", {}),
        ("salt/keys/x", {"id": "m1", "act": "accept"}),
        ("salt/presence/present", {"present": {"a": 1}}),
        ("salt/presence/present", {"present": [{}, 5]}),
        ("salt/presence/change", {"new": 5, "lost": None}),
        ("salt/presence/change", {}),
    ],
)
def test_events_of_another_form_end_nothing(tag: str, data: Any) -> None:
    shown = JobsAndMinions()
    shown.take(tag, data)
    messages(shown)
    shown.take("salt/key", {"id": "m9", "act": "accept"})
    assert {"id": "m9"} in messages(shown)[0]["minions"]


# --- over a real socket ----------------------------------------------------------------------


class Master:
    """As much of a MasterClient as streams need."""

    def __init__(self, feed: EventFeed) -> None:
        self.feed = feed

    def require_master(self) -> None:
        """It is always there."""


class Site:
    """An API with a session, and a feed that is fed by hand."""

    def __init__(self, *, acl: bool = False) -> None:
        self.feed = EventFeed(Path("/nowhere"), zmq.Context.instance())
        self.app = App(
            ServerOptions(), [], Master(self.feed), list_rights=lambda *_: [], external_auth={}  # type: ignore[arg-type]
        )  # fmt: skip
        self.app._event_acl = acl
        self.session = self.log_in("anna")
        self.server = ApiServer(self.app)
        sockets = bind_sockets(0, "127.0.0.1")
        self.server.add_sockets(sockets)
        self.port = sockets[0].getsockname()[1]

    def log_in(self, user: str) -> Any:
        return self.app.sessions.open(
            token=f"t-{user}", user=user, eauth="auto", start=0, expire=9e9, rights=[]
        )

    async def connect(
        self, path: str = "ws/{}?format_events", session: Any = None
    ) -> WebSocketClientConnection:
        where = path.format((session or self.session).id)
        client = await websocket_connect(f"ws://127.0.0.1:{self.port}/{where}")
        await client.write_message("websocket client ready")
        assert await client.read_message() == "server received message"
        return client

    async def until_streams(self, count: int) -> None:
        while len(self.feed.streams) < count:
            await asyncio.sleep(0.01)

    def put(self, *chunks: StreamChunk) -> None:
        for stream in list(self.feed.streams):
            for chunk in chunks:
                stream.put(chunk)


def run(work: Any) -> None:
    asyncio.run(asyncio.wait_for(work(), 30))


@pytest.mark.parametrize(
    "path", ["ws/{}?format_events", "ws/{}?format_events=1&x", "formatted_events/{}"]
)
def test_a_websocket_is_sent_jobs_and_minions(path: str) -> None:
    async def work() -> None:
        site = Site()
        client = await site.connect(path)
        await site.until_streams(1)
        site.put(new(JID, "m1"))
        first = json.loads(str(await client.read_message()))
        assert first["jobs"][JID]["state"] == "running"
        site.put(StreamChunk.of(Event("salt/beacon/m1/x/", {})), ret(JID, "m1", [1]))
        last = json.loads(str(await client.read_message()))
        assert last["jobs"][JID]["minions"] == {
            "m1": {"success": True, "return": [1], "retcode": 0}
        }
        site.app.sessions.end(site.session)
        assert await client.read_message() is None
        assert not site.app._formatted
        site.server.stop()

    run(work)


def test_a_burst_is_one_message_and_overflows_no_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "STREAM_EVENTS_MOST", 50)

    async def work() -> None:
        site = Site()
        client = await site.connect()
        await site.until_streams(1)
        site.put(new(JID, *(f"m{number}" for number in range(200))))
        count = 0
        for number in range(200):
            site.put(ret(JID, f"m{number}", number))
            if number % 20 == 0:
                await asyncio.sleep(0.005)
        while True:
            sent = json.loads(str(await client.read_message()))
            count += 1
            if sent["jobs"][JID]["state"] == "complete":
                break
        assert count < 20
        site.server.stop()

    run(work)


def test_others_jobs_are_not_shown_to_who_may_not_hear_them() -> None:
    async def work() -> None:
        site = Site(acl=True)
        client = await site.connect()
        await site.until_streams(1)
        site.put(ret(JID, "m1", "secret", owner="bob"), ret(JID, "m2", "own"))
        sent = json.loads(str(await client.read_message()))
        assert list(sent["jobs"][JID]["minions"]) == ["m2"]
        site.server.stop()

    run(work)


def test_formatted_streams_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "FORMATTED_STREAMS_OF_USER_MOST", 2)
    monkeypatch.setattr(limits, "FORMATTED_STREAMS_MOST", 3)

    async def work() -> None:
        site = Site()
        clients = [await site.connect() for _ in range(2)]
        await site.until_streams(2)
        refused = await site.connect()
        assert await refused.read_message() is None
        assert refused.close_code == 1013
        plain = await site.connect("ws/{}")
        clients.append(await site.connect(session=site.log_in("bob")))
        await site.until_streams(4)
        refused = await site.connect(session=site.log_in("carl"))
        assert await refused.read_message() is None
        clients[0].close()
        while site.app._formatted.total() > 2:
            await asyncio.sleep(0.01)
        await site.connect(session=site.log_in("carl"))
        await site.until_streams(4)
        plain.close()
        site.server.stop()

    run(work)
