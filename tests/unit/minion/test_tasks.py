"""Tasks that end together, and whose failures are told."""

import asyncio

from saltlite.minion.tasks import Tasks


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
