"""Tasks that end together, and whose failures are told; memory that is given back after work."""

import asyncio
import time

import pytest

from saltlite.minion import tasks
from saltlite.minion.tasks import Rests, Tasks, wait_until_set


def test_a_failure_is_told_and_others_go_on():
    async def run():
        failures = []
        told = asyncio.Event()
        tasks = Tasks(lambda error: (failures.append(error), told.set()))
        error = ValueError("no")

        async def fail():
            raise error

        other = tasks.start(told.wait())
        tasks.start(fail())
        await other
        assert failures == [error]

    asyncio.run(run())


def test_closing_cancels_what_runs_and_waits_for_its_end():
    async def run():
        failures, ended = [], []
        tasks = Tasks(failures.append)
        begun = asyncio.Event()

        async def last():
            try:
                begun.set()
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(0)  # an end may take a few turns of the loop
                ended.append(True)

        task = tasks.start(last())
        await begun.wait()
        await tasks.close()
        assert (ended, failures, task.cancelled()) == ([True], [], True)

    asyncio.run(run())


AFTER_S = 0.05
EVERY_S = 0.4


@pytest.fixture
def rests_s(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    monkeypatch.setattr(tasks, "REST_AFTER_S", AFTER_S)
    monkeypatch.setattr(tasks, "REST_EVERY_S", EVERY_S)
    found: list[float] = []
    monkeypatch.setattr(tasks, "rest", lambda: found.append(time.monotonic()))
    return found


async def wait_for(rests_s: list[float], number: int) -> None:
    deadline_s = time.monotonic() + 30
    while len(rests_s) < number:
        assert time.monotonic() < deadline_s
        await asyncio.sleep(0.005)


def test_a_loop_rests_after_the_last_work_and_not_often(rests_s: list[float]) -> None:
    async def scenario() -> None:
        rests = Rests()
        rests.after_work()
        rests.after_work()
        worked_s = time.monotonic()
        await wait_for(rests_s, 1)
        assert rests_s[0] - worked_s >= AFTER_S * 0.9
        rests.after_work()
        await wait_for(rests_s, 2)
        assert rests_s[1] - rests_s[0] >= EVERY_S * 0.9
        await asyncio.sleep(2 * AFTER_S)
        assert len(rests_s) == 2, "one rest for each time of work"

    asyncio.run(scenario())


def test_who_is_cancelled_in_the_turn_of_the_event_ends():
    """As ``asyncio.wait_for`` does only from Python 3.12 on."""

    async def run():
        event, rounds = asyncio.Event(), []

        async def work():
            while True:
                event.clear()
                rounds.append(await wait_until_set(event, 60))

        task = asyncio.ensure_future(work())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        event.set()
        await asyncio.sleep(0)  # what waits for the event has ended, and the task does not know yet
        task.cancel()
        await asyncio.wait({task}, timeout=10)
        assert task.cancelled()
        assert rounds == []

    asyncio.run(run())


def test_an_event_is_waited_for():
    async def run():
        event = asyncio.Event()
        assert not await wait_until_set(event, 0.01)
        asyncio.get_running_loop().call_later(0.01, event.set)
        assert await wait_until_set(event, None)
        assert await wait_until_set(event, 0)
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(run())


def test_closing_cancels_again_what_has_swallowed_it(monkeypatch):
    monkeypatch.setattr(tasks, "CANCEL_AGAIN_S", 0.01)

    async def run():
        running, swallowed = Tasks([].append), []

        async def stubborn():
            while len(swallowed) < 2:
                try:
                    await asyncio.Event().wait()
                except asyncio.CancelledError:
                    swallowed.append(True)
            await asyncio.Event().wait()

        running.start(stubborn())
        await asyncio.sleep(0)
        await asyncio.wait_for(running.close(), 20)
        assert len(swallowed) == 2

    asyncio.run(run())
