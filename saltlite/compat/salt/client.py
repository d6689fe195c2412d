"""``salt.client``: other functions, on this machine or on minions.

Nothing is connected here: jobs go through what the master's command that runs the file has, so a
``LocalClient`` works in runners, and a ``Caller`` wherever there are functions.
"""

from __future__ import annotations

from typing import Any

from saltlite.compat.salt.exceptions import SaltClientError
from saltlite.loader.surroundings import CURRENT, Surroundings


def _current_surroundings() -> Surroundings:
    around = CURRENT.get(None)
    if around is None:
        raise SaltClientError("salt.client is there for functions while they run")
    return around


class LocalClient:
    """Runs functions on minions, from the master."""

    def __init__(
        self, c_path: str = "/etc/salt/master", mopts: object = None, **kwargs: Any
    ) -> None:
        local = getattr(_current_surroundings().ctx, "local", None)
        if local is None:
            raise SaltClientError("salt.client.LocalClient is there on the master only")
        self._local = local
        self.opts = _current_surroundings().opts

    def __enter__(self) -> LocalClient:
        return self

    def __exit__(self, *args: object) -> None:
        """Nothing is held."""

    def destroy(self) -> None:
        """Nothing is held."""

    def cmd(
        self,
        tgt: Any,
        fun: Any,
        arg: Any = (),
        timeout: float | None = None,
        tgt_type: str = "glob",
        ret: str = "",
        jid: str = "",
        full_return: bool = False,
        kwarg: Any = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Minion id → what the function gave there."""
        arguments = [*arg, {**kwarg, "__kwarg__": True}] if kwarg else list(arg)
        given = {"timeout": timeout, "ret": ret, "jid": jid}
        options = {name: value for name, value in given.items() if value}
        found: dict[str, Any] = self._local.cmd(
            tgt, fun, arguments, tgt_type=tgt_type, **options, **kwargs
        )
        return found

    def cmd_iter(self, *args: Any, **kwargs: Any) -> Any:
        """One ``{minion id: {"ret": …}}`` after the other."""
        for minion, value in self.cmd(*args, **kwargs).items():
            yield {minion: {"ret": value}}

    cmd_iter_no_block = cmd_iter


def get_local_client(
    c_path: str = "/etc/salt/master", mopts: object = None, **kw: Any
) -> LocalClient:
    """A LocalClient."""
    return LocalClient(c_path, mopts)


class Caller:
    """Runs functions on this machine."""

    def __init__(self, c_path: str = "/etc/salt/minion", mopts: object = None) -> None:
        self._salt = _current_surroundings().salt
        self.opts = _current_surroundings().opts

    def cmd(self, fun: str, *args: Any, **kwargs: Any) -> Any:
        """What a function gives."""
        return self._salt[fun](*args, **kwargs)

    function = cmd
