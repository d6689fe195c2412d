"""What a minion's loop, its processes of beacons and ``beacons.*`` say to one another.

They are maps on pipes and on the bus; these are the values that they are read into.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from saltlite.core.dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class ManageBeacons:
    """A ``manage_beacons`` event; ``None`` is what it does not say."""

    func: object = None
    name: object = None
    beacon_data: object = None
    include_pillar: bool = True
    include_opts: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class BeaconSettings:
    """The configuration of beacons, and the facts that they see."""

    beacons: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    grains: dict[str, Any] = field(default_factory=dict)
    pillar: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PassOrder:
    """From the loop: the beacons that are to run, and those to close before.

    ``settings`` come along only where they have changed.
    """

    run: Sequence[str] = ()
    close: Sequence[str] = ()
    settings: Mapping[str, Any] | None = None
    reload: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessMessage:
    """From a process of beacons: ``started``, ``passed``, ``event``, or a request for a master."""

    op: str = ""
    pid: int = 0
    tag: str = ""
    data: Any = None
    events: Sequence[Mapping[str, Any]] = ()
    slow: Sequence[str] = ()
    invalid: Sequence[str] = ()
    wrong: Sequence[str] = ()
    n: object = None
    load: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeQuestion:
    """What only code of beacons can tell: ``list_available``, ``check`` or ``validate_beacon``."""

    func: str = ""
    name: object = None
    data: object = None
    beacons: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeAnswer:
    """The answer; ``None`` where it was not asked for, or nobody answered."""

    names: Sequence[str] | None = None
    valid: bool | None = None
    text: str = ""
    invalid: Sequence[str] = ()
    wrong: Sequence[str] = ()
