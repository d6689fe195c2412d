"""Low chunks: each is one call of a state function, with all that its declaration says.

Inside they are :class:`Chunk`; Salt's low data, ``{"state", "fun", "name", "__id__", "__sls__",
"__env__", "order", ...}``, are what users give and get: ``state.low``, ``state.show_lowstate``, and
what custom code finds as ``__low__`` and ``__lowstate__``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from saltlite.core.dataclasses import dataclass, field, fields

LOWSTATE = "lowstate"
"""Where ``ctx.state`` has the :class:`LowState` of the run that goes on."""

EXPORTS = "exported.json"
"""The file of the cache directory that says what this minion exports, if it ever did."""

ABSENT: Any = type("Absent", (), {"__repr__": lambda _self: "ABSENT"})()
"""An option that a declaration does not have; ``None`` is one that it has, without a value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StateOptions:
    """What a declaration asks of the engine itself, whatever its function is."""

    onlyif: Any = None
    unless: Any = None
    creates: Any = ABSENT
    check_cmd: Any = ABSENT
    failhard: Any = ABSENT
    retry: Any = None
    parallel: Any = None
    aggregate: Any = ABSENT
    umask: Any = ABSENT
    fire_event: Any = None
    noop: Any = None
    reload_modules: Any = None
    reload_grains: Any = None
    reload_pillar: Any = None
    export: Any = None


_OPTIONS = frozenset(each.name for each in fields(StateOptions))
_NO_OPTIONS = StateOptions()


@dataclass(slots=True)
class Chunk:
    """One call of a state function.

    ``arguments`` are all others of its keys, in the order of the declaration: the function's own,
    requisites, options of the engine. ``order`` is the chunk's place, once it has one.
    """

    state: str
    fun: str
    name: Any
    ident: Any
    sls: Any
    saltenv: Any
    arguments: dict[str, Any]
    order: float | None = None
    _options: StateOptions | None = field(default=None, init=False, repr=False, compare=False)

    @classmethod
    def from_low(cls, low: Mapping[Any, Any]) -> Chunk:
        """From Salt's map of it, which must have ``state``, ``fun``, ``name`` and ``__id__``."""
        # A copy: the map may be a user's, who expects to find it as it was.
        rest = dict(low)
        return cls(
            state=rest.pop("state"),
            fun=rest.pop("fun"),
            name=rest.pop("name"),
            ident=rest.pop("__id__"),
            sls=rest.pop("__sls__", None),
            saltenv=rest.pop("__env__", None),
            arguments=rest,
        )

    def to_low(self) -> dict[str, Any]:
        """Salt's map of it, a new one: whoever gets it may change it."""
        # High data that are no file's have neither: functions of ours then have a default for both.
        origin = {"__sls__": self.sls, "__env__": self.saltenv}
        if self.saltenv is None:
            origin = {"__sls__": self.sls} if self.sls is not None else {}
        low = {
            "state": self.state,
            "name": self.name,
            **origin,
            "__id__": self.ident,
            **self.arguments,
            "fun": self.fun,
        }
        # A declared order keeps its place among the arguments, and gets the number it came to.
        return low if self.order is None else {**low, "order": self.order}

    @property
    def function(self) -> str:
        """``module.function``."""
        return f"{self.state}.{self.fun}"

    @property
    def tag(self) -> str:
        """The key of its return: ``file_|-id_|-name_|-managed``."""
        return f"{self.state}_|-{self.ident}_|-{self.name}_|-{self.fun}"

    @property
    def options(self) -> StateOptions:
        """What it asks of the engine."""
        if self._options is None:
            given = {name: self.arguments[name] for name in self.arguments.keys() & _OPTIONS}
            # Most chunks have none, and share one value.
            self._options = StateOptions(**given) if given else _NO_OPTIONS
        return self._options


class LowState(list[Chunk]):
    """The chunks of a run in its order; some states ask what else runs."""

    def __init__(self, chunks: Iterable[Chunk]) -> None:
        super().__init__(chunks)
        self._low: list[dict[str, Any]] | None = None

    def to_low(self) -> list[dict[str, Any]]:
        """Salt's maps of them, the same ones each time: every custom state of a run asks."""
        if self._low is None:
            self._low = [chunk.to_low() for chunk in self]
        return self._low

    def replace(self, chunks: Iterable[Chunk]) -> None:
        """Have others from now on, in the same list: it stands for the run."""
        self[:] = chunks
        self._low = None
