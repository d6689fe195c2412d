"""``salt.client``: other functions, on this machine or on minions.

In a file that our daemons or commands run nothing is connected here: jobs go through what is there
already, so a ``LocalClient`` works in runners, and a ``Caller`` wherever there are functions. In a
plain script they connect by the configuration that is named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from types import GeneratorType
from typing import Any

from saltlite.compat.salt.exceptions import SaltClientError, as_salt
from saltlite.errors import SaltliteError
from saltlite.loader import surroundings
from saltlite.loader.surroundings import CURRENT, Outside, Surroundings


def _current_surroundings() -> Surroundings:
    around = CURRENT.get(None)
    return _outside().minion() if around is None else around


def _outside() -> Outside:
    """What a plain script has.

    Raises:
        SaltClientError: this is one of our processes, and no function runs.
    """
    if surroundings.outside is None:
        raise SaltClientError("salt.client is there for functions while they run")
    return surroundings.outside


def _in_salts_words(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same, raising Salt's exceptions."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            found = function(*args, **kwargs)
        except SaltliteError as error:
            raise as_salt(error) from error
        return _translate(found) if isinstance(found, GeneratorType) else found

    return call


def _translate(found: Iterator[Any]) -> Iterator[Any]:
    try:
        yield from found
    except SaltliteError as error:
        raise as_salt(error) from error


class LocalClient:
    """Runs functions on minions, from the master.

    Its methods are those of :class:`saltlite.client.local.LocalClient`: ``cmd``, ``cmd_iter``,
    ``cmd_async``, ``cmd_batch``, ``run_job`` and the others.
    """

    def __init__(self, c_path: str = "", mopts: Any = None, **kwargs: Any) -> None:
        around = CURRENT.get(None)
        if around is None:
            outside = _outside()
            self._local = _in_salts_words(outside.local_client)(c_path or None, mopts)
            self._owns = True
            self.opts = mopts or outside.options("master", c_path or None)
            return
        local = getattr(around.ctx, "local", None)
        if local is None:
            raise SaltClientError("salt.client.LocalClient is there on the master only")
        self._local = local
        self._owns = False
        self.opts = around.opts

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        found = getattr(self._local, name)
        return _in_salts_words(found) if callable(found) else found

    @property
    def event(self) -> Any:
        """The master's event bus."""
        from saltlite.compat.salt.utils.event import get_event

        return get_event("master", opts=self.opts)

    def __enter__(self) -> LocalClient:
        return self

    def __exit__(self, *args: object) -> None:
        self.destroy()

    def destroy(self) -> None:
        """Give back the sockets of a plain script; those of our processes stay."""
        if self._owns:
            self._local.close()


def get_local_client(c_path: str = "", mopts: object = None, **kw: Any) -> LocalClient:
    """A LocalClient."""
    return LocalClient(c_path, mopts)


class Caller:
    """Runs functions on this machine."""

    def __init__(self, c_path: str = "", mopts: Any = None) -> None:
        around = CURRENT.get(None)
        self._outside = _outside() if around is None else None
        if self._outside is not None:
            around = _in_salts_words(self._outside.minion)(c_path or None, mopts)
        assert around is not None  # noqa: S101 - one of the two is there
        self._around = around
        self.opts = mopts or around.opts

    def cmd(self, fun: str, *args: Any, **kwargs: Any) -> Any:
        """What a function gives."""
        if self._outside is None:
            return self._around.salt[fun](*args, **kwargs)
        return _in_salts_words(self._outside.call)(fun, args, kwargs, self._around)

    function = cmd
