"""A link to a master that is not always honest, over real sockets."""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import psutil
import pytest
import zmq
import zmq.asyncio
from asyncio_master import JID, FakeMaster, job

from saltlite.config.minion import AuthOptions, MinionConfig, ReturnOptions
from saltlite.core.messages import Job
from saltlite.crypto.cipher import new_key_string
from saltlite.crypto.keys import PrivateKey
from saltlite.errors import RequestTimeout
from saltlite.fileserver import bundle
from saltlite.minion import master_link, publications
from saltlite.minion import session as fsm
from saltlite.minion.master_link import ASIDE, MAIN, Identity, Link, LinkOver
from saltlite.minion.masters import MasterAddress
from saltlite.minion.outbox import Outbox, Parcel, Spool
from saltlite.minion.pki import MinionKeys
from saltlite.transport.codec import pack

DEADLINE_S = 20.0
KEYS = [PrivateKey.generate(2048) for _ in range(3)]


@dataclass
class Owner:
    jobs: list[Job] = field(default_factory=list)
    subscriptions: int = 0
    waits: int = 0
    idles: int = 0
    autosign_grains: dict[str, Any] = field(default_factory=dict)

    def waiting(self) -> None:
        self.waits += 1

    def on_idle(self) -> None:
        self.idles += 1

    def on_publication(self, link: Link, job: Job) -> None:
        if job.fun == "break.us":
            raise RuntimeError("a bug")
        self.jobs.append(job)

    def on_subscription(self, link: Link) -> None:
        self.subscriptions += 1


@dataclass
class Pair:
    master: FakeMaster
    owner: Owner
    link: Link
    end: asyncio.Task[Any]
    context: zmq.asyncio.Context
    path: Path

    async def until(self, condition: Callable[[], Any]) -> None:
        deadline_s = time.monotonic() + DEADLINE_S
        while not condition():
            assert time.monotonic() < deadline_s
            await asyncio.sleep(0.005)

    async def subscribed(self) -> None:
        await self.until(lambda: self.owner.subscriptions)
        await self.master.pub.recv()  # the subscription itself


FAST = MinionConfig(
    auth=AuthOptions(auth_timeout=0.3, acceptance_wait_time=0.0, random_reauth_delay=0.0),
    returns=ReturnOptions(
        return_retry_timer=0.1,
        return_retry_timer_max=0.1,
        request_channel_timeout=2.0,
        request_channel_tries=1,
    ),
)


@contextlib.asynccontextmanager
async def pair(
    path: Path, config: MinionConfig = FAST, mood: str = "accept"
) -> AsyncIterator[Pair]:
    context = zmq.asyncio.Context()
    master = FakeMaster(context, KEYS[0])
    master.mood = mood
    serving = asyncio.create_task(master.serve())
    path.mkdir(exist_ok=True)
    identity = Identity("m1", KEYS[1], MinionKeys(path), None)
    owner = Owner()
    address = MasterAddress("127.0.0.1", master.port)
    link = Link(address, identity, config, owner, context, chance=lambda: 0.0)
    end = asyncio.create_task(link.run())
    try:
        yield Pair(master, owner, link, end, context, path)
    finally:
        link.stop()
        await asyncio.gather(end, return_exceptions=True)
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        master.close()
        context.destroy(linger=0)


Scenario = Callable[[Pair], Awaitable[None]]


def play(
    tmp_path: Path, scenario: Scenario, config: MinionConfig = FAST, mood: str = "accept"
) -> None:
    async def live() -> None:
        async with pair(tmp_path / "pki", config, mood) as together:
            await scenario(together)

    asyncio.run(live())


SLOW_TO_RECONNECT = MinionConfig(
    auth=FAST.auth,
    # As long as no test waits: what comes back earlier is not libzmq's doing.
    returns=replace(FAST.returns, recon_default=600_000, recon_max=600_000),
)


def test_a_subscription_that_broke_is_made_again_soon(tmp_path: Path) -> None:
    async def scenario(two: Pair) -> None:
        await two.subscribed()
        two.master.pub.close(linger=0)
        two.master.pub = two.context.socket(zmq.XPUB)
        address = f"tcp://127.0.0.1:{two.master.pub_port}"
        while True:
            try:
                two.master.pub.bind(address)
                break
            except zmq.ZMQError:
                await asyncio.sleep(0.005)
        await two.until(lambda: two.owner.subscriptions == 2)
        await two.master.pub.recv()
        await two.master.publish(job())
        await two.until(lambda: two.owner.jobs)

    play(tmp_path, scenario, SLOW_TO_RECONNECT)


def test_a_job_arrives_and_the_master_is_pinned(tmp_path: Path) -> None:
    async def scenario(two: Pair) -> None:
        await two.subscribed()
        await two.master.publish({**job(), "user": "root", "odd": 1})
        await two.until(lambda: two.owner.jobs)
        assert two.owner.jobs == [Job.from_wire({**job(), "user": "root", "odd": 1})]
        pinned = (two.path / "minion_master.pub").read_text()
        assert pinned == two.master.key.public.pem
        two.link.stop()
        assert await two.end == fsm.Exit(0)

    play(tmp_path, scenario)


def test_what_is_not_from_our_master_is_dropped(tmp_path: Path) -> None:
    """CVE-2017-7893: everybody has the key, only the master can sign."""

    async def scenario(two: Pair) -> None:
        await two.subscribed()
        master = two.master
        await master.publish(job(), signer=None)
        await master.publish(job(), signer=KEYS[2])
        await master.pub.send(pack({"enc": "clear", "load": job()}))
        await master.pub.send(b"\xc1")
        await master.pub.send_multipart([b"a", b"b", b"c"])
        await master.publish({**job(), "jid": "../x"})
        await master.publish({"fun": "test.ping"})
        await master.publish({**job(), "fun": "break.us"})
        await master.publish(job(), serial=1)
        await master.publish(job(JID[:-1] + "9"))
        await two.until(lambda: two.owner.jobs)
        assert [one.jid for one in two.owner.jobs] == [JID[:-1] + "9"]
        assert master.auths == 1, "junk costs no authentication"

    play(tmp_path, scenario)


def test_unsigned_jobs_are_for_those_who_want_them(tmp_path: Path) -> None:
    async def scenario(two: Pair) -> None:
        await two.subscribed()
        await two.master.publish(job(), signer=None)
        await two.until(lambda: two.owner.jobs)

    auth = AuthOptions(sign_pub_messages=False, auth_timeout=0.3)
    play(tmp_path, scenario, replace(FAST, auth=auth))


def test_after_a_key_rotation_the_same_publication_is_read(tmp_path: Path) -> None:
    async def scenario(two: Pair) -> None:
        await two.subscribed()
        two.master.aes = new_key_string()
        two.master.serial = 0
        await two.master.publish(job())
        await two.master.publish(job(JID[:-1] + "9"))
        await two.until(lambda: len(two.owner.jobs) == 2)
        assert two.master.auths == 2

    play(tmp_path, scenario)


def test_a_node_that_gives_the_earlier_key_is_asked_again(tmp_path: Path) -> None:
    """The nodes of a cluster notice a new key one after the other; no other job comes."""

    async def scenario(two: Pair) -> None:
        await two.subscribed()
        key = new_key_string()
        await two.master.publish(job(), aes=key, serial=1)
        await two.until(lambda: two.master.auths == 2)
        two.master.aes = key
        await two.until(lambda: two.owner.jobs)
        assert two.master.auths == 3

    play(tmp_path, scenario)


def test_a_job_that_no_key_opens_is_dropped_in_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(publications, "KEPT_S", 0.5)

    async def scenario(two: Pair) -> None:
        await two.subscribed()
        await two.master.publish(job(), aes=new_key_string())
        await two.until(lambda: "1 publications dropped" in caplog.text)
        assert two.master.auths == 3

    play(tmp_path, scenario)


@pytest.mark.parametrize("mood", ["pending", "rejected"])
def test_what_is_published_while_the_key_is_not_accepted_is_not_run_later(
    tmp_path: Path, mood: str
) -> None:
    """A key is deleted, a job goes out to all, and the key is accepted again."""

    async def scenario(two: Pair) -> None:
        await two.subscribed()
        two.master.mood, two.master.aes, two.master.serial = mood, new_key_string(), 0
        asked = two.master.auths
        for last in "123":
            await two.master.publish(job(JID[:-1] + last))
        await two.until(lambda: two.master.auths > asked + 1)
        await two.master.publish(job(JID[:-1] + "4"))
        await asyncio.sleep(0.2)  # it has come by then; what is not run says nothing
        two.master.mood = "accept"
        while not two.owner.jobs:
            await two.master.publish(job(JID[:-1] + "5"))
            await asyncio.sleep(0.05)
        assert {one.jid[-1] for one in two.owner.jobs} == {"5"}

    retry = replace(FAST.auth, rejected_retry=True)
    play(tmp_path, scenario, replace(FAST, auth=retry))


def test_bad_load_means_authenticate_and_ask_once_more(tmp_path: Path) -> None:
    async def scenario(two: Pair) -> None:
        await two.subscribed()
        two.master.session = new_key_string()
        two.master.replies["_file_envs"] = lambda _load: ["base"]
        assert await two.link.request({"cmd": "_file_envs"}) == ["base"]
        assert two.master.auths == 2
        (load,) = two.master.loads
        assert load["id"] == "m1"
        assert len(load["nonce"]) == 32

    play(tmp_path, scenario)


def test_what_a_master_has_not_offered_it_is_not_asked_for(tmp_path: Path) -> None:
    """Not a master of Salt, and not one of Salt that took the place of one of ours."""
    asked = {"cmd": bundle.COMMAND, "saltenv": "base", "paths": ["a"], "hashes": [""]}
    opts = {"cmd": "_master_opts", "env_only": True}

    async def scenario(two: Pair) -> None:
        await two.subscribed()
        replies = two.master.replies
        replies[bundle.COMMAND] = lambda load: load["paths"]
        assert await two.link.request(asked) == bundle.NOTHING
        replies["_master_opts"] = lambda _load: {bundle.OFFER: 5}
        await two.link.request(opts)
        assert await two.link.request(asked) == ["a"]
        two.master.session = new_key_string()  # another master answers there now
        replies["_master_opts"] = lambda _load: {"file_roots": {}}
        two.master.loads.clear()
        assert await two.link.request(asked) == bundle.NOTHING
        await two.link.request(opts)
        assert await two.link.request(asked) == bundle.NOTHING
        assert [load["cmd"] for load in two.master.loads] == ["_master_opts"]

    play(tmp_path, scenario)


def test_many_at_once_share_one_authentication(tmp_path: Path) -> None:
    async def scenario(two: Pair) -> None:
        await two.subscribed()
        two.master.session = new_key_string()
        two.master.replies["x"] = lambda load: load["n"]
        answers = await asyncio.gather(
            *(two.link.request({"cmd": "x", "n": number}) for number in range(20))
        )
        assert answers == list(range(20))
        assert two.master.auths == 2

    play(tmp_path, scenario)


def test_a_deaf_master_is_a_timeout_and_the_next_request_works(tmp_path: Path) -> None:
    async def scenario(two: Pair) -> None:
        await two.subscribed()
        two.master.mood = "deaf"
        with pytest.raises(RequestTimeout):
            await two.link.request({"cmd": "x"}, timeout_s=0.1)
        two.master.mood = "accept"
        assert await two.link.request({"cmd": "x"}) is None

    play(tmp_path, scenario)


def test_who_asks_a_master_that_is_left_is_told_at_once(tmp_path: Path) -> None:
    """With a request under way, one that waits for it, and one that comes afterwards."""

    async def scenario(two: Pair) -> None:
        await two.subscribed()
        two.master.mood = "deaf"
        asks = [
            asyncio.ensure_future(two.link.request({"cmd": cmd}, timeout_s=60, tries=3))
            for cmd in ("x", "y")
        ]
        await two.until(lambda: ASIDE in two.link._requesters and two.link._requesters[ASIDE].busy)
        two.link.stop()
        await two.end
        begun_s = time.monotonic()
        for ask in asks:
            with pytest.raises(LinkOver):
                await ask
        with pytest.raises(LinkOver):
            await two.link.request({"cmd": "z"}, timeout_s=60, tries=3)
        assert time.monotonic() - begun_s < 20

    play(tmp_path, scenario)


def test_who_waits_to_be_let_in_is_told_that_the_master_is_left(tmp_path: Path) -> None:
    async def scenario(two: Pair) -> None:
        ask = asyncio.ensure_future(two.link.request({"cmd": "x"}, timeout_s=60, tries=3))
        await asyncio.sleep(0)
        two.link.stop()
        with pytest.raises(LinkOver):
            await ask

    play(tmp_path, scenario, mood="pend")


@pytest.mark.parametrize("lane", [MAIN, ASIDE])
def test_a_connection_without_requests_is_closed_and_made_again_when_there_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lane: str
) -> None:
    monkeypatch.setattr(master_link, "IDLE_S", {MAIN: 0.05, ASIDE: 0.05})

    def is_closed(port: int) -> bool:
        own = psutil.Process().net_connections("tcp")
        return not any(one.raddr and one.raddr.port == port for one in own)

    async def scenario(two: Pair) -> None:
        await two.subscribed()
        two.master.replies["x"] = lambda _load: 1
        for number in range(1, 4):
            await two.until(lambda: is_closed(two.master.port))
            assert two.owner.idles == number
            assert await two.link.request({"cmd": "x"}, lane=lane) == 1
        assert two.master.auths == 1, "the session outlives its connection"

    play(tmp_path, scenario)


@pytest.mark.parametrize("mood", ["pending", "silent", "junk"])
def test_it_goes_on_asking_until_it_is_let_in(tmp_path: Path, mood: str) -> None:
    async def scenario(two: Pair) -> None:
        await two.until(lambda: two.owner.waits)
        before, begun_s = two.master.auths, time.monotonic()
        await asyncio.sleep(0.2)
        waits = (time.monotonic() - begun_s) / fsm.SHORTEST_WAIT_S
        assert two.master.auths <= before + 2 + waits, "not in a hurry"
        two.master.mood = "accept"
        await two.subscribed()

    play(tmp_path, scenario, mood=mood)


def test_another_masters_key_is_refused_until_the_right_one_is_back(tmp_path: Path) -> None:
    (tmp_path / "pki").mkdir()
    MinionKeys(tmp_path / "pki").pin(KEYS[0].public)

    async def scenario(two: Pair) -> None:
        two.master.key = KEYS[2]
        await two.until(lambda: two.owner.waits)
        assert not two.link.is_up
        two.master.key = KEYS[0]
        await two.subscribed()
        assert (two.path / "minion_master.pub").read_text() == KEYS[0].public.pem

    play(tmp_path, scenario)


def test_the_wrong_fingerprint_ends_the_minion(tmp_path: Path) -> None:
    async def scenario(two: Pair) -> None:
        assert await two.end == fsm.Exit(42)
        assert not (two.path / "minion_master.pub").exists()

    auth = AuthOptions(auth_timeout=0.3, master_finger=KEYS[2].public.fingerprint())
    play(tmp_path, scenario, replace(FAST, auth=auth))


@pytest.mark.parametrize("mood", ["accept", "pending", "silent", "junk", "rejected"])
def test_it_can_be_stopped_in_every_state(tmp_path: Path, mood: str) -> None:
    async def scenario(two: Pair) -> None:
        await asyncio.sleep(random.Random(mood).random() * 0.1)
        two.link.stop()
        assert await asyncio.wait_for(two.end, 5) == fsm.Exit(0)

    play(tmp_path, scenario, mood=mood)


def test_no_master_at_all(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]

        async def live() -> None:
            context = zmq.asyncio.Context()
            owner = Owner()
            identity = Identity("m1", KEYS[1], MinionKeys(tmp_path), None)
            link = Link(MasterAddress("127.0.0.1", port), identity, FAST, owner, context)
            end = asyncio.create_task(link.run())
            while not owner.waits:
                await asyncio.sleep(0.01)
            link.stop()
            assert await end == fsm.Exit(0)
            context.destroy(linger=0)

        asyncio.run(live())


# --- returns ------------------------------------------------------------------------------------


def test_a_return_that_a_master_is_left_with_is_sent_to_the_next(tmp_path: Path) -> None:
    async def scenario(two: Pair) -> None:
        await two.subscribed()
        spool = Spool(tmp_path / "outbox")
        outbox = Outbox([two.link.name], lambda: 0.0)
        changed = asyncio.Condition()
        load: dict[str, Any] = {"cmd": "_return", "id": "m1", "jid": JID, "return": True}
        spool.put(JID, Parcel(load, two.link.name, 0).pack())
        outbox.add(JID, two.link.name, time.monotonic())
        two.master.mood = "deaf"
        sending = asyncio.create_task(two.link.send_returns(outbox, spool, changed))
        await two.until(lambda: MAIN in two.link._requesters and two.link._requesters[MAIN].busy)
        two.link.stop()
        await two.end
        await sending  # nothing failed
        assert spool.names() == [JID]
        outbox.begin_link(two.link.name)
        assert outbox.due(two.link.name, time.monotonic()) == JID

    play(tmp_path, scenario)


def test_a_return_is_kept_until_the_master_has_it(tmp_path: Path) -> None:
    async def scenario(two: Pair) -> None:
        await two.subscribed()
        spool = Spool(tmp_path / "outbox")
        outbox = Outbox([two.link.name], lambda: 0.0)
        changed = asyncio.Condition()
        sending = asyncio.create_task(two.link.send_returns(outbox, spool, changed))
        answers = iter(["", "", None])
        two.master.replies["_return"] = lambda _load: next(answers)

        async def add(jid: str) -> None:
            load: dict[str, Any] = {"cmd": "_return", "id": "m1", "jid": jid, "return": True}
            spool.put(jid, Parcel(load, two.link.name, 0).pack())
            outbox.add(jid, two.link.name, time.monotonic())
            async with changed:
                changed.notify_all()

        def is_none_due() -> bool:
            return outbox.due(two.link.name, time.monotonic()) is None

        await add(JID)
        await two.until(is_none_due)
        assert spool.names() == [JID], "the master could not store it"
        for _ in range(2):
            outbox.master_is_back(time.monotonic())
            async with changed:
                changed.notify_all()
            await two.until(is_none_due)
        await two.until(lambda: not spool.names())
        assert len(outbox) == 0
        assert len({load["nonce"] for load in two.master.loads}) == 3, "a nonce is used once"

        two.master.mood = "deaf"
        heard = len(two.master.loads)
        await add(JID[:-1] + "1")
        await two.until(lambda: len(two.master.loads) > heard)
        await two.until(is_none_due)
        assert spool.names() == [JID[:-1] + "1"]
        two.master.mood = "accept"
        two.master.replies["_return"] = lambda _load: False
        outbox.master_is_back(time.monotonic())
        async with changed:
            changed.notify_all()
        await two.until(lambda: not spool.names())
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)

    play(tmp_path, scenario)


def test_of_returns_that_wait_the_first_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(two: Pair) -> None:
        await two.subscribed()
        spool = Spool(tmp_path / "outbox")
        outbox = Outbox([two.link.name], lambda: 0.0)

        async def send(jid: str, answer: object) -> int:
            """How many warnings there are of it."""
            two.master.replies["_return"] = lambda _load: answer
            load: dict[str, Any] = {"cmd": "_return", "id": "m1", "jid": jid, "return": True}
            spool.put(jid, Parcel(load, two.link.name, 0).pack())
            outbox.add(jid, two.link.name, time.monotonic())
            caplog.clear()
            await two.link._send_return(jid, outbox, spool)
            return sum(one.levelname == "WARNING" for one in caplog.records)

        jids = [f"{JID[:-1]}{number}" for number in range(6)]
        assert [await send(jid, "") for jid in jids[:3]] == [1, 0, 0]
        assert await send(jids[3], None) == 0
        assert [await send(jid, "") for jid in jids[4:]] == [1, 0]

    play(tmp_path, scenario)


def test_what_a_master_refuses_is_kept_for_the_one_whose_job_it_is(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(two: Pair) -> None:
        await two.subscribed()
        spool = Spool(tmp_path / "outbox")
        outbox = Outbox(["first:4506", two.link.name], lambda: 0.0, one_at_a_time=True)
        refused, taken = JID, JID[:-1] + "1"
        two.master.replies["_return"] = lambda load: False if load["jid"] == refused else None
        for jid in (refused, taken):
            load: dict[str, Any] = {"cmd": "_return", "id": "m1", "jid": jid, "return": True}
            spool.put(jid, Parcel(load, "first:4506", 0).pack())
            outbox.add(jid, "first:4506", time.monotonic())
        changed = asyncio.Condition()
        sending = asyncio.create_task(two.link.send_returns(outbox, spool, changed))
        await two.until(lambda: len(outbox) == 1)
        outbox.master_is_back(time.monotonic())
        async with changed:
            changed.notify_all()
        await two.link.request({"cmd": "_mine_get"})
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
        assert spool.names() == [refused]
        sent = [load["jid"] for load in two.master.loads if load["cmd"] == "_return"]
        assert sent == [refused, taken], "each once"
        assert f"the return of job {refused} is kept for master first:4506" in caplog.text

    play(tmp_path, scenario)
