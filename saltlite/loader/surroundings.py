"""What the Salt files of one context share: their globals, and who loads them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

from saltlite.loader.catalogue import STATES
from saltlite.loader.dunders import Loads, SaltFunctions, View
from saltlite.loader.user import UserModules

CURRENT: ContextVar[Surroundings] = ContextVar("CURRENT")
"""The surroundings of the Salt file that is loaded or runs; what the ``salt.*`` answers look at."""


class Outside(Protocol):
    """What users' scripts stand on that run in no daemon and no command of ours.

    ``path`` is the file of a configuration, ``opts`` are options as scripts have them.
    """

    def options(self, role: str, path: str | None = None) -> dict[str, Any]:
        """The options of a ``master`` or ``minion``."""

    def local_client(self, path: str | None = None, opts: Mapping[str, Any] | None = None) -> Any:
        """Salt's ``LocalClient`` on the master of this machine."""

    def runner_client(self, kind: str, opts: Mapping[str, Any] | None = None) -> Any:
        """What runs a ``runner`` or ``wheel`` function here."""

    def minion(
        self, path: str | None = None, opts: Mapping[str, Any] | None = None
    ) -> Surroundings:
        """The functions of this machine."""

    def call(
        self, fun: str, args: tuple[Any, ...], kwargs: Mapping[str, Any], around: Surroundings
    ) -> Any:
        """Call a function of this machine, as ``salt-call`` does."""

    def listen(self, node: str, sock_dir: str | None, opts: Mapping[str, Any] | None) -> Any:
        """Hear all events of the bus of a ``master`` or ``minion``."""

    def pusher(self, node: str, sock_dir: str | None, opts: Mapping[str, Any] | None) -> Any:
        """What fires events on it."""


outside: Outside | None = None
"""Handed in where a plain script imports ``salt``; ``None`` in our daemons and commands."""


class Surroundings:
    """All that the Salt files of one context share."""

    def __init__(self, ctx: Loads, options: Callable[[], dict[str, Any]] | None = None) -> None:
        """``options`` gives a fresh dict of what ``__opts__`` has instead of the context's."""
        self.ctx = ctx
        self._options = options
        self._opts: dict[str, Any] | None = None
        self._given: list[dict[str, Any]] = []
        self._modules: dict[str, UserModules] = {}

    def modules(self, kind: str) -> UserModules:
        """The custom code of one kind, loaded once."""
        if kind not in self._modules:
            self._modules[kind] = UserModules(self.ctx, kind, self)
        return self._modules[kind]

    def forget(self) -> None:
        """Load all anew when it is asked for next."""
        for modules in self._modules.values():
            modules.reload()
        self._opts = None
        self._modules.clear()
        self._given.clear()

    @property
    def opts(self) -> dict[str, Any]:
        """All options, with grains and pillar, as Salt's ``__opts__``; one dict for all files."""
        if self._opts is None:
            from saltlite.config.opts import flat_opts

            self._opts = self._options() if self._options else flat_opts(self.ctx.config)
            self._opts["grains"] = self.grains
            self._opts["pillar"] = self.pillar
            self._opts.setdefault("test", False)
        return self._opts

    def opts_for(self, own: Mapping[str, object]) -> dict[str, Any]:
        """The ``__opts__`` of one file: its own entries count where the options have none."""
        opts = {**own, **self.opts}
        self._given.append(opts)
        return opts

    @contextmanager
    def with_opts(self, **options: Any) -> Iterator[None]:
        """Let every ``__opts__`` have these entries meanwhile; state runs set ``test`` so."""
        places = [self.opts, *self._given]
        before = [(place, {key: place[key] for key in options if key in place}) for place in places]
        for place in places:
            place.update(options)
        try:
            yield
        finally:
            for place, old in before:
                for key in options:
                    place.pop(key, None)
                place.update(old)

    @functools.cached_property
    def salt(self) -> SaltFunctions:
        """``__salt__``."""
        return SaltFunctions(lambda: self.ctx.functions)

    @functools.cached_property
    def utils(self) -> SaltFunctions:
        """``__utils__``: the functions of custom ``_utils``."""
        return SaltFunctions(lambda: self.modules("utils"))

    @functools.cached_property
    def runners(self) -> Mapping[str, Any]:
        """``__runners__``: what ``salt-run`` calls; none on a minion."""
        runner = getattr(self.ctx, "runner", None)
        return {} if runner is None else SaltFunctions(lambda: runner.functions)

    @functools.cached_property
    def states(self) -> SaltFunctions:
        """``__states__``: state functions, custom ones and the others."""
        return SaltFunctions(lambda: self._state_functions)

    @functools.cached_property
    def _state_functions(self) -> Any:
        from saltlite.context import MinionContext

        if not isinstance(self.ctx, MinionContext):
            return self.modules("states")  # a master's: it has no machine to act upon
        caller: Any = STATES.load_caller()
        return caller.StateFunctions(self.ctx, lambda: bool(self.opts.get("test")))

    @functools.cached_property
    def grains(self) -> View:
        """``__grains__``."""
        return View(lambda: getattr(self.ctx, "grains", None) or {})

    @functools.cached_property
    def pillar(self) -> View:
        """``__pillar__``."""
        return View(lambda: getattr(self.ctx, "pillar", None) or {})

    @functools.cached_property
    def context(self) -> MutableMapping[str, Any]:
        """``__context__``."""
        state: MutableMapping[str, Any] | None = getattr(self.ctx, "state", None)
        return {} if state is None else state

    def dunders(self, kind: str) -> dict[str, Any]:
        """What a Salt file of ``kind`` finds in its globals, but for its own ``__opts__``.

        Which ones a kind gets is Salt's choice. Source: observed on Salt 3006.30.
        """
        common = {
            "__grains__": self.grains,
            "__pillar__": self.pillar,
            "__context__": self.context,
            "__utils__": self.utils,
            "__proxy__": {},
        }
        if kind == "grains":
            return common
        if kind in ("modules", "utils"):
            return {**common, "__salt__": self.salt}
        if kind == "engines":
            return {**common, "__salt__": self.salt, "__runners__": self.runners}
        return {
            **common,
            "__salt__": self.salt,
            "__states__": self.states,
            "__runner__": {},
            "__serializers__": {},
            "__env__": self.opts.get("saltenv") or "base",
        }

    @contextmanager
    def enter(self) -> Iterator[None]:
        """While a file of these surroundings is loaded or runs."""
        token = CURRENT.set(self)
        try:
            yield
        finally:
            CURRENT.reset(token)


_last: list[Surroundings] = []


def surroundings(ctx: Loads) -> Surroundings:
    """The surroundings of a context; the same ones for the same context, one after the other."""
    if not _last or _last[0].ctx is not ctx:
        _last[:] = [Surroundings(ctx)]
    return _last[0]
