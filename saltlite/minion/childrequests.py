"""What a child of the minion asks the loop for, as :mod:`saltlite.minion.pipe` says, answered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from saltlite.context import JobTable
from saltlite.core.plain import PlainMap
from saltlite.errors import RequestTimeout, SaltliteError


class ChildServices(Protocol):
    """What the children of the minion may ask of it."""

    def fire(self, tag: str, data: PlainMap) -> None:
        """Put an event on the minion's own bus."""

    async def request(self, master: str, load: dict[str, Any]) -> Any:
        """Ask that master; raises RequestTimeout and other SaltliteErrors."""

    async def refresh_grains(self) -> PlainMap:
        """Load the grains anew."""

    def facts(self, master: str) -> tuple[PlainMap, PlainMap]:
        """Grains, and the pillar of that master, as they are now."""


async def answer(
    message: Mapping[str, object], master: str, services: ChildServices, jobs: JobTable
) -> dict[str, Any]:
    """The answer to one question of a child that belongs to ``master``."""
    said: dict[str, Any] = {"n": message.get("n")}
    try:
        said["reply"] = await _make_reply(message, master, services, jobs)
    except RequestTimeout as error:
        said |= {"error": str(error), "address": error.address, "waited_s": error.waited_s}
    # A malformed question comes from code of a job: the error is that job's, not the loop's.
    except (SaltliteError, KeyError, TypeError, ValueError) as error:
        said["error"] = str(error) or type(error).__name__
    return said


async def _make_reply(
    message: Mapping[str, Any], master: str, services: ChildServices, jobs: JobTable
) -> Any:
    op = message.get("op")
    if op == "request":
        return await services.request(master, dict(message["load"]))
    if op == "jobs":
        return jobs.running()
    if op == "signal":
        return jobs.signal(str(message["jid"]), int(message["number"]))
    if op == "refresh":
        return await services.refresh_grains()
    raise SaltliteError(f"no such question: {op}")
