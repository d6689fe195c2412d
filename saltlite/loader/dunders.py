"""What Salt files find in their globals: ``__salt__``, ``__grains__`` and the others.

Each is a view of the context that the file was loaded for, so jobs in threads do not see each
other's values, and grains collected anew are seen at once. Source:
docs/modules.md#what-a-file-finds.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

from saltlite.errors import FunctionUnavailable, SaltliteError

if TYPE_CHECKING:
    from saltlite.loader.user import UserModules

CURRENT: ContextVar[Surroundings] = ContextVar("CURRENT")
"""The surroundings of the Salt file that is loaded or runs; what the ``salt.*`` answers look at."""


class Loads(Protocol):
    """What custom code is loaded for: a minion's context, or the one of a master's command.

    ``grains``, ``pillar``, ``state`` and ``local`` are used where they are there.
    """

    @property
    def config(self) -> Any:
        """The minion's or the master's configuration."""

    @property
    def functions(self) -> Any:
        """What ``__salt__`` calls: a registry with ``resolve`` and ``names``."""


class View(Mapping[str, Any]):
    """A mapping as it is at the moment of each look."""

    def __init__(self, read: Callable[[], Mapping[str, Any]]) -> None:
        self._read = read

    def __getitem__(self, key: str) -> Any:
        return self._read()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._read())

    def __len__(self) -> int:
        return len(self._read())

    def __repr__(self) -> str:
        return repr(dict(self._read()))

    def value(self) -> Mapping[str, Any]:
        """The mapping itself; Salt's dunders have this method too."""
        return self._read()

    def copy(self) -> dict[str, Any]:
        """A dict of it."""
        return dict(self._read())


class SaltFunction:
    """One function as a Salt file calls it: what it raises are Salt's exceptions."""

    def __init__(self, name: str, call: Callable[..., Any], doc: str | None) -> None:
        self.__wrapped__ = call
        self.__name__ = name.rpartition(".")[2]
        self.__doc__ = doc
        self._call = call

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it; raises an exception of ``salt.exceptions`` where saltlite's own was raised."""
        try:
            return self._call(*args, **kwargs)
        except SaltliteError as error:
            from saltlite.loader.answers.exceptions import as_salt

            raise as_salt(error) from error


class SaltFunctions(Mapping[str, Any]):
    """``__salt__`` and its like: functions by name. ``__salt__.mod.fun`` works as well."""

    def __init__(self, functions: Callable[[], Any]) -> None:
        self._functions = functions

    def __getitem__(self, name: str) -> SaltFunction:
        if "." not in str(name):
            raise KeyError(f"The key '{name}' should contain a '.'")
        try:
            found = self._functions().resolve(name)
        except FunctionUnavailable:
            raise KeyError(name) from None
        return SaltFunction(name, found.call, found.text if hasattr(found, "text") else found.doc)

    def __contains__(self, name: object) -> bool:
        try:
            self[str(name)]
        except KeyError:
            return False
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(self._functions().names())

    def __len__(self) -> int:
        return len(self._functions().names())

    def __getattr__(self, module: str) -> SaltModule:
        if module.startswith("__"):
            raise AttributeError(module)
        return SaltModule(self, module)


class SaltModule:
    """``__salt__.mod``: the functions of one module as attributes."""

    def __init__(self, functions: SaltFunctions, name: str) -> None:
        self._functions = functions
        self._name = name

    def __getattr__(self, function: str) -> SaltFunction:
        try:
            return self._functions[f"{self._name}.{function}"]
        except KeyError:
            raise AttributeError(
                f"No attribute by the name of {function} was found on {self._name}"
            ) from None


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
        from saltlite.loader.user import UserModules

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
        from saltlite.highstate.call import StateFunctions

        if not isinstance(self.ctx, MinionContext):
            return self.modules("states")  # a master's: it has no machine to act upon
        return StateFunctions(self.ctx, lambda: bool(self.opts.get("test")))

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
