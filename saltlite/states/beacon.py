"""What a minion keeps an eye on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.beacons import BadBeacon, list_form
from saltlite.core.dataclasses import dataclass
from saltlite.core.keywords import own_keywords
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Resource, Step
from saltlite.modules import beacons

Data = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class BeaconStatus:
    """A beacon as the minion has it, and as it is in the file; ``None`` where it is not there."""

    data: Data | None
    saved: Any = None


def present(name: str, save: bool = False, **kwargs: Any) -> Beacon:
    """A beacon with these options.

    ``beacon_data`` is a list of maps of further options. ``save`` writes all beacons to
    ``beacons.conf``, so that they are there after the next start.
    """
    given = own_keywords(kwargs)
    further = given.pop("beacon_data", None)
    try:
        wanted = [*({key: value} for key, value in given.items()), *list_form(name, further)]
    except BadBeacon as error:
        raise FunctionError(str(error)) from None
    return Beacon(name=str(name), wanted=wanted, save=bool(save))


def absent(name: str, save: bool = False, **kwargs: Any) -> NoBeacon:
    """No such beacon."""
    return NoBeacon(name=str(name), save=bool(save))


def enabled(name: str, **kwargs: Any) -> Switched:
    """A beacon that runs; one that is not configured is left alone."""
    return Switched(name=str(name), wanted=True)


def disabled(name: str, **kwargs: Any) -> Switched:
    """A beacon that does not run; one that is not configured is left alone."""
    return Switched(name=str(name), wanted=False)


def _read_beacon(ctx: MinionContext, name: str) -> BeaconStatus:
    found = ctx.follow(beacons.list_, return_yaml=False)
    data = list_form(name, found[name]) if name in found else None
    return BeaconStatus(data, beacons.read_saved(ctx, name))


def _check_answer(answer: Mapping[str, object]) -> None:
    if not answer["result"]:
        raise FunctionError(str(answer["comment"]))


def _save_step(name: str) -> Step:
    return Step(
        would=f"Beacon {name} would be saved",
        did=f"Beacon {name} saved",
        changes={"saved": True},
        run=lambda ctx: _check_answer(ctx.follow(beacons.save)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Beacon(Resource[BeaconStatus]):
    """A beacon as declared."""

    name: str
    wanted: Data
    save: bool = False

    def read(self, ctx: MinionContext) -> BeaconStatus:
        return _read_beacon(ctx, self.name)

    def plan(self, now: BeaconStatus) -> list[Step]:
        steps = []
        if now.data is None:
            steps.append(self._add_step())
        elif not self._fits_data(now.data):
            steps.append(self._modify_step(now.data))
        if self.save and (steps or now.saved != now.data):
            steps.append(_save_step(self.name))
        return steps

    def _fits_data(self, data: Data) -> bool:
        """Whether it is enabled is for ``beacon.enabled`` to say, unless it is declared here."""
        if any("enabled" in part for part in self.wanted):
            return self.wanted == data
        return self.wanted == [part for part in data if "enabled" not in part]

    def _add_step(self) -> Step:
        return Step(
            would=f"Beacon: {self.name} would be added.",
            did=f"Adding {self.name} to beacons",
            changes={self.name: "added"},
            run=lambda ctx: _check_answer(ctx.follow(beacons.add, self.name, self.wanted)),
        )

    def _modify_step(self, data: Data) -> Step:
        return Step(
            would=f"Beacon: {self.name} would be modified.",
            did=f"Modifying {self.name} in beacons",
            changes={"diff": beacons.compare(data, self.wanted)},
            run=lambda ctx: _check_answer(ctx.follow(beacons.modify, self.name, self.wanted)),
        )

    def comment_unchanged(self, now: BeaconStatus) -> str:
        return f"Job {self.name} in correct state"


@dataclass(frozen=True, slots=True, kw_only=True)
class NoBeacon(Resource[BeaconStatus]):
    """A beacon that is not there."""

    name: str
    save: bool = False

    def read(self, ctx: MinionContext) -> BeaconStatus:
        return _read_beacon(ctx, self.name)

    def plan(self, now: BeaconStatus) -> list[Step]:
        steps = []
        if now.data is not None:
            steps.append(
                Step(
                    would=f"Beacon: {self.name} would be deleted.",
                    did=f"Removed {self.name} from beacons",
                    changes={self.name: "removed"},
                    run=lambda ctx: _check_answer(ctx.follow(beacons.delete, self.name)),
                )
            )
        if self.save and (steps or now.saved is not None):
            steps.append(_save_step(self.name))
        return steps

    def comment_unchanged(self, now: BeaconStatus) -> str:
        return f"{self.name} not configured in beacons"


@dataclass(frozen=True, slots=True, kw_only=True)
class Switched(Resource[BeaconStatus]):
    """A beacon that runs, or with ``wanted`` false does not."""

    name: str
    wanted: bool

    def read(self, ctx: MinionContext) -> BeaconStatus:
        return _read_beacon(ctx, self.name)

    def plan(self, now: BeaconStatus) -> list[Step]:
        if now.data is None or _is_enabled(now.data) is self.wanted:
            return []
        verb = "enabled" if self.wanted else "disabled"
        return [
            Step(
                would=f"Beacon {self.name} would be {verb}.",
                did=f"{verb.capitalize()} beacon {self.name}.",
                changes={self.name: verb},
                run=self._switch_beacon,
            )
        ]

    def _switch_beacon(self, ctx: MinionContext) -> None:
        switch = beacons.enable_beacon if self.wanted else beacons.disable_beacon
        _check_answer(switch(ctx, self.name))

    def comment_unchanged(self, now: BeaconStatus) -> str:
        if now.data is None:
            return f"{self.name} is not a configured beacon"
        return f"Beacon {self.name} is {'enabled' if self.wanted else 'disabled'}"


def _is_enabled(data: Data) -> bool:
    return all(part.get("enabled", True) for part in data)
