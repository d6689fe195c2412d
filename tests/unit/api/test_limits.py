"""Limits count right. All in virtual time."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from saltlite.api import limits
from saltlite.api.limits import CommandSlots, LoginGuard, LoginTurns, Rate
from saltlite.api.messages import HttpError


def test_wrong_logins_cost_time_that_doubles() -> None:
    guard = LoginGuard()
    waits = []
    now = 0.0
    for _ in range(9):
        assert guard.wait_s("a", "anna", now) == 0
        guard.note_failure("a", "anna", now)
        waits.append(guard.wait_s("a", "anna", now))
        now += waits[-1]
    assert waits == [0, 0, 1, 2, 4, 8, 16, 30, 30]
    assert guard.wait_s("b", "anna", now - 1) == 0
    guard.note_success("a", "anna")
    assert guard.wait_s("a", "anna", now - 1) == 0


def test_trying_many_names_costs_as_well() -> None:
    guard = LoginGuard()
    for number in range(30):
        guard.note_failure("a", f"user{number}", 0.0)
    assert guard.wait_s("a", "fresh", 0.0) > 0
    assert guard.wait_s("b", "fresh", 0.0) == 0


def test_wrong_logins_are_forgotten_and_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "REMEMBERED_MOST", 100)
    guard = LoginGuard()
    for number in range(1000):
        guard.note_failure(f"10.0.0.{number}", "x", 0.0)
    assert len(guard._failures) == 100
    for _ in range(3):
        guard.note_failure("a", "anna", 0.0)
    guard.note_failure("a", "anna", 10_000.0)
    assert guard.wait_s("a", "anna", 10_000.0) == 0


def test_a_rate_is_by_the_second() -> None:
    rate = Rate(3)
    assert [rate.allows("a", 0.1 * n) for n in range(5)] == [True, True, True, False, False]
    assert rate.allows("b", 0.4)
    assert rate.allows("a", 1.05)


def test_commands_wait_for_their_turn_and_no_longer() -> None:
    async def work() -> tuple[int, list[int]]:
        slots = CommandSlots(2, wait_s=0.05)
        refused: list[int] = []
        order: list[int] = []

        async def run(number: int, hold_s: float) -> None:
            try:
                async with slots.turn(None):
                    order.append(number)
                    await asyncio.sleep(hold_s)
            except HttpError as error:
                refused.append(error.status)

        await asyncio.gather(run(1, 0.02), run(2, 0.3), run(3, 0.3), run(4, 0.1))
        assert order == [1, 2, 3]
        return slots.running, refused

    assert asyncio.run(work()) == (0, [429])


def test_a_caller_that_gives_up_keeps_no_place() -> None:
    async def work() -> int:
        slots = CommandSlots(1)
        async with slots.turn(None):
            waiting = asyncio.create_task(_hold(slots))
            await asyncio.sleep(0.01)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
        async with slots.turn(None):
            return slots.running

    assert asyncio.run(work()) == 1


async def _hold(slots: CommandSlots, owner: object = None) -> None:
    async with slots.turn(owner):
        await asyncio.sleep(10)


def test_a_place_given_to_who_is_just_giving_up_is_not_lost() -> None:
    """The place came in the same turn of the loop as the cancellation: it was nobody's for ever."""

    async def work() -> int:
        slots = CommandSlots(1)
        leave = asyncio.Event()

        async def hold() -> None:
            async with slots.turn(None):
                await leave.wait()

        holder = asyncio.create_task(hold())
        await asyncio.sleep(0)
        waiting = asyncio.create_task(_hold(slots))
        await asyncio.sleep(0)
        leave.set()
        await holder  # the place has gone over, and the one who waits has not run yet
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        assert waiting.cancelled()
        return slots.running

    assert asyncio.run(work()) == 0


def test_commands_of_one_owner_are_counted_while_they_wait_too() -> None:
    async def work() -> list[int]:
        slots = CommandSlots(1, wait_s=0.05)
        owner, other = object(), object()
        async with slots.turn(other):
            waiting = [asyncio.create_task(_hold(slots, owner)) for _ in range(30)]
            await asyncio.sleep(0.02)
            assert slots._of_owner[owner].running == limits.COMMANDS_OF_SESSION_MOST
            ended = await asyncio.gather(*waiting, return_exceptions=True)
        assert not slots._of_owner
        return [one.status for one in ended if isinstance(one, HttpError)]

    assert asyncio.run(work()) == [429] * 30


def test_of_one_owner_so_many_wait_and_no_more() -> None:
    """Each of them looked twenty times a second whether it was its turn."""

    async def work() -> tuple[int, int]:
        slots = CommandSlots(1, wait_s=5)
        owner = object()
        async with slots.turn(object()):
            most = limits.COMMANDS_OF_SESSION_MOST + limits.COMMANDS_WAITING_MOST
            tasks = [asyncio.create_task(_hold(slots, owner)) for _ in range(most + 7)]
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            refused = [one.exception() for one in tasks if one.done()]
            for one in tasks:
                one.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        assert slots.is_idle
        return len(refused), sum(getattr(one, "status", 0) == 429 for one in refused)

    assert asyncio.run(work()) == (7, 7)


# --- logins ------------------------------------------------------------------------------


def test_logins_of_one_address_keep_no_other_waiting() -> None:
    """Two in all was the bound: whoever took both kept everybody out."""

    async def work() -> None:
        turns = LoginTurns(wait_s=0.05)
        async with contextlib.AsyncExitStack() as stack:
            for number in range(limits.LOGINS_OF_ADDRESS_MOST):
                await stack.enter_async_context(turns.turn("10.0.0.1", f"u{number}"))
            with pytest.raises(HttpError) as caught:
                await stack.enter_async_context(turns.turn("10.0.0.1", "u"))
            assert caught.value.status == 429
            await stack.enter_async_context(turns.turn("10.0.0.2", "u"))
        assert not turns._slots
        assert not turns._of_client

    asyncio.run(work())


def test_logins_in_all_are_bounded() -> None:
    async def work() -> None:
        turns = LoginTurns()
        async with contextlib.AsyncExitStack() as stack:
            for number in range(limits.LOGINS_MOST):
                await stack.enter_async_context(turns.turn(f"10.0.0.{number}", "u"))
            with pytest.raises(HttpError):
                await stack.enter_async_context(turns.turn("10.0.1.1", "u"))
        async with turns.turn("10.0.1.1", "u"):
            assert turns._pending == 1

    asyncio.run(work())


def test_logins_of_a_user_come_one_after_another_however_he_is_spelled() -> None:
    async def work() -> int:
        turns, at_once, most = LoginTurns(), 0, 0

        async def log_in(name: str) -> None:
            nonlocal at_once, most
            async with turns.turn("10.0.0.1", name):
                at_once += 1
                most = max(most, at_once)
                await asyncio.sleep(0.005)
                at_once -= 1

        await asyncio.gather(*map(log_in, ("anna", "Anna", "ANNA ", " anna")))
        return most

    assert asyncio.run(work()) == 1


def test_spellings_of_a_name_and_addresses_of_a_network_share_one_guard() -> None:
    guard = LoginGuard()
    for name, address in (
        ("anna", "2001:db8::1"),
        ("Anna", "2001:db8::2"),
        ("ANNA ", "2001:db8::3"),
    ):
        guard.note_failure(address, name, 0.0)
    assert guard.wait_s("2001:db8::4", "aNNa", 0.0) > 0
    assert guard.wait_s("2001:db8:0:1::4", "anna", 0.0) == 0
