"""``salt.runner``: runners, from a script on the master or from a runner."""

from __future__ import annotations

from typing import Any

from saltlite.compat.salt.client import _in_salts_words, _outside
from saltlite.compat.salt.exceptions import SaltInvocationError
from saltlite.loader.surroundings import CURRENT


class RunnerClient:
    """Runs runners in this process, or has the running master do it."""

    _kind = "runner"

    def __init__(self, opts: Any = None, context: object = None) -> None:
        around = CURRENT.get(None)
        self.opts = opts
        if around is not None:
            from saltlite.compat.salt.exceptions import SaltClientError

            if getattr(around.ctx, "run", None) is None:
                raise SaltClientError(f"salt.{self._kind} is there on the master only")
            self._client: Any = _OfRunner(around.ctx, self._kind)
            return
        self._client = _in_salts_words(_outside().runner_client)(self._kind, opts)

    def cmd(
        self,
        fun: str,
        arg: Any = None,
        pub_data: object = None,
        kwarg: Any = None,
        print_event: bool = True,
        full_return: bool = False,
    ) -> Any:
        """What a function gives; with ``full_return`` also its ``jid`` and ``success``."""
        args = [arg] if isinstance(arg, str) else list(arg or ())
        ran = _in_salts_words(self._client.run)(fun, args, dict(kwarg or {}))
        if ran.wrong is not None:
            raise SaltInvocationError(ran.wrong)
        if full_return:
            return {"return": ran.return_, "success": ran.success, "jid": ran.jid}
        value = ran.return_
        if isinstance(value, dict) and set(value) == {"outputter", "data"}:
            return value["data"]
        return value

    def cmd_async(self, low: dict[str, Any]) -> Any:
        """Have the running master do ``low["fun"]``; its ``tag`` and ``jid``, at once."""
        return _in_salts_words(self._client.cmd_async)(low)

    def cmd_sync(self, low: dict[str, Any], timeout: float | None = None, **kwargs: Any) -> Any:
        """Have the running master do it, and wait for what it gives."""
        return _in_salts_words(self._client.cmd_sync)(low, timeout or 300.0)


class _OfRunner:
    """Runs another function from within a runner, as a job of its own."""

    def __init__(self, ctx: Any, kind: str) -> None:
        self._ctx = ctx
        self._kind = kind

    def run(self, fun: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """What came of it, as ``saltlite.client.runner.Ran`` has it."""
        from types import SimpleNamespace

        told = self._ctx.run(self._kind, fun, args, kwargs)
        return SimpleNamespace(
            return_=told.get("return"), success=told.get("success"), jid=told.get("jid", ""),
            wrong=told.get("return") if told.get("wrong") else None,
        )  # fmt: skip

    def cmd_async(self, low: dict[str, Any]) -> Any:
        """By the running master."""
        return self._ctx.local.call_master({"cmd": self._kind, **low})


Runner = RunnerClient
