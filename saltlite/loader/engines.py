"""The engines that a configuration asks for: read from it, found, and run.

An engine is a function ``start(**kwargs)`` that goes on for as long as its daemon does, in a
process of its own. One of ours takes an ``EngineContext`` first; one of users has dunders. The
daemons start the processes, and start them again when they end.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from saltlite.core.dataclasses import dataclass, field
from saltlite.errors import FunctionUnavailable
from saltlite.loader.builtin import functions_of
from saltlite.loader.catalogue import ENGINES, has_custom_code

if TYPE_CHECKING:
    from saltlite.engine_context import EngineContext

log = logging.getLogger(__name__)

START: Final = "start"
MODULE: Final = "engine_module"
"""The argument that names the engine where its entry has another name."""

ENDED: Final = 0
FAILED: Final = 1
UNAVAILABLE: Final = 69
"""What a process of an engine ends with; after the last one it is not started again.

Source: sysexits.h, EX_UNAVAILABLE.
"""

TRACEBACKS: Final = 3
"""Of an engine that fails again and again, so many are in the log in full."""


@dataclass(frozen=True, slots=True)
class EngineEntry:
    """One engine of the configuration. ``name`` is its own, ``engine`` that of the plug-in."""

    name: str
    engine: str
    kwargs: Mapping[str, Any] = field(default_factory=dict)

    def to_plain(self) -> dict[str, Any]:
        """As it goes to another process."""
        return {"name": self.name, "engine": self.engine, "kwargs": dict(self.kwargs)}


def select_engines(config: Any) -> list[EngineEntry]:
    """The engines of a minion's or master's configuration that there are.

    Of each that there is not, and of what is no entry, one line is in the log.
    """
    return [entry for entry in read_engines(config.process.engines) if _is_there(entry, config)]


def read_engines(option: Any) -> Iterator[EngineEntry]:
    """The entries of the option ``engines``; what is none is a line in the log.

    An entry is a name, or a map of a name and its arguments. All of them may be one map.
    """
    one_map = isinstance(option, Mapping)
    entries = [{name: given} for name, given in option.items()] if one_map else option
    for entry in entries:
        found = _read_entry(entry)
        if found is None:
            log.error("engines: found %.200r, allowed: a name, or a map of a name and a map", entry)
        else:
            yield found


def _read_entry(entry: object) -> EngineEntry | None:
    if isinstance(entry, str) and entry:
        return EngineEntry(entry, entry)
    if not isinstance(entry, Mapping) or len(entry) != 1:
        return None
    name, given = next(iter(entry.items()))
    if given is not None and not isinstance(given, Mapping):
        return None
    kwargs = {str(key): value for key, value in (given or {}).items()}
    return EngineEntry(str(name), str(kwargs.pop(MODULE, name)), kwargs)


def _is_there(entry: EngineEntry, config: object) -> bool:
    """Whether there is such an engine, as far as can be told without loading users' files."""
    if entry.engine in ENGINES or _is_users(entry.engine, config):
        return True
    log.error("The engine %s is not started: there is no engine %s", entry.name, entry.engine)
    return False


def _is_users(name: str, config: object) -> bool:
    if not has_custom_code(config, ENGINES.name):
        return False
    from saltlite.loader.user import may_stand_for

    return may_stand_for(config, ENGINES.name, name)


def run_engine(entry: EngineEntry, ctx: EngineContext, restarts: int) -> int:
    """Run an engine until it ends; what its process ends with. Its errors are in the log."""
    try:
        _find_engine(entry.engine, ctx)(**entry.kwargs)
    except FunctionUnavailable as error:
        log.error("The engine %s is not started: %s", entry.name, error)
        return UNAVAILABLE
    except Exception as error:  # a callback of a plug-in
        whole = restarts < TRACEBACKS
        log.error("The engine %s fails: %r", entry.name, error, exc_info=whole)
        return FAILED
    log.warning("The engine %s has ended", entry.name)
    return ENDED


def _find_engine(name: str, ctx: EngineContext) -> Callable[..., Any]:
    """The function of an engine; one of users goes before ours."""
    if has_custom_code(ctx.config, ENGINES.name):
        from saltlite.loader.surroundings import surroundings

        users = surroundings(ctx).modules(ENGINES.name)
        found: Callable[..., Any] | None = users.get(f"{name}.{START}")
        if found is not None:
            return found
        if name not in ENGINES:
            raise FunctionUnavailable(f"{name}.{START}", users.refusal(name))
    loaded = ENGINES.load(name)
    ours = None if loaded is None else functions_of(loaded).get(START)
    if ours is None:
        raise FunctionUnavailable(f"{name}.{START}")
    return partial(ours, ctx)
