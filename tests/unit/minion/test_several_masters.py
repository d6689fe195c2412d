"""A list of masters at once, and one after the other."""

from __future__ import annotations

import asyncio
from typing import Any

import zmq.asyncio
from asyncio_master import JID, FakeMaster

from tests.unit.minion.test_minion import MASTER_KEY, Scene, play, subscriptions


class Second:
    """Another master with the same key beside the scene's."""

    def __init__(self, now: Scene) -> None:
        self.context = zmq.asyncio.Context()
        self.master = FakeMaster(self.context, MASTER_KEY)
        self.returns: list[dict[str, Any]] = []
        self.tags: list[str] = []
        self.master.replies["_return"] = self.returns.append
        self.master.replies["_minion_event"] = lambda load: self.tags.append(load["tag"])
        first, second = (f"127.0.0.1:{one.port}" for one in (now.master, self.master))
        path = now.minion.path / "minion"
        path.write_text(path.read_text() + f"master: [{first}, {second}]\n")

    async def __aenter__(self) -> Second:
        self.tasks = [
            asyncio.create_task(self.master.serve()),
            asyncio.create_task(subscriptions(self.master)),
        ]
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        self.master.close()
        self.context.destroy(linger=0)


def without_master(now: Scene) -> None:
    path = now.minion.path / "minion"
    lines = [line for line in path.read_text().splitlines() if not line.startswith("master:")]
    path.write_text("\n".join(lines) + "\n")


def test_each_master_gets_its_own_returns_and_a_job_runs_once() -> None:
    async def scenario(now: Scene) -> None:
        without_master(now)
        async with Second(now) as second:
            now.minion.start()
            await now.here()
            await now.until(lambda: "salt/minion/m1/start" in second.tags)
            await now.run("test.ping")
            job = {"fun": "test.echo", "arg": ["x"], "tgt": "*", "tgt_type": "glob", "ret": ""}
            await second.master.publish({**job, "jid": JID})
            await now.until(lambda: second.returns)
            assert [load["jid"] for load in second.returns] == [JID]
            await now.publish("test.echo", "x", jid=JID)
            await now.run("test.ping")
            assert JID not in now.returns

    play(scenario)


def test_fail_over_and_back() -> None:
    async def scenario(now: Scene) -> None:
        without_master(now)
        now.master.mood = "silent"
        async with Second(now) as second:
            now.minion.start()
            await now.until(lambda: "salt/minion/m1/start" in second.tags)
            assert now.tags == []
            now.master.mood = "accept"
            await now.here()
            assert (await now.run("test.ping"))["return"] is True
            assert second.returns == []

    play(scenario, master_type="failover", master_failback=True, master_failback_interval=1)
