"""Functions of execution modules on this machine, for scripts. Stable: docs/python-api.md."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from saltlite.cli.salt_call import ask_for_masters, is_masterless, make_context
from saltlite.config.load import load_minion
from saltlite.core.jid import new_jid
from saltlite.minion.job import call_function
from saltlite.minion.taken_job import TakenJob

if TYPE_CHECKING:
    from saltlite.config.minion import MinionConfig
    from saltlite.context import MinionContext
    from saltlite.minion.caller import MasterCaller

CONNECT_TIMEOUT_S: Final = 60.0


class Caller:
    """What ``salt-call`` can do, in this process and with its rights. One thread at a time.

    Args:
        config_dir: the directory of the file ``minion``, or that file; ``None`` as for
            ``salt-call``.
        local: do without a master, as ``salt-call --local``.
        timeout_s: how long the master may take to let us in.
        overrides: options of the configuration by their names.

    Raises:
        ConfigError: the configuration is wrong.
    """

    def __init__(
        self,
        config_dir: str | Path | None = None,
        *,
        local: bool = False,
        timeout_s: float = CONNECT_TIMEOUT_S,
        overrides: Mapping[str, object] | None = None,
    ) -> None:
        given = {**({"file_client": "local"} if local else {}), **(overrides or {})}
        self.config: MinionConfig = load_minion(config_dir, given)
        self._timeout_s = timeout_s
        self._link: MasterCaller | None = None
        self._context: MinionContext | None = None

    def close(self) -> None:
        """Give back the connection to the master."""
        link, self._link, self._context = self._link, None, None
        if link is not None:
            link.close()

    def __enter__(self) -> Caller:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def call(self, function: str, *args: Any, kwarg: Mapping[str, Any] | None = None) -> Any:
        """Call a function and give back its value; nothing is sent to the master.

        Raises:
            FunctionUnavailable: there is no such function here.
            InvocationError, UsageError: it does not take these arguments.
            FunctionError: it cannot do what was asked.
            AuthError, RequestTimeout: the master does not let us in, or does not answer.
        """
        ctx = self.context
        jid = new_jid(datetime.now(timezone.utc), None)
        job: dict[str, Any] = {"fun": function, "jid": jid, "pid": os.getpid(), "tgt": "salt-call"}
        ctx.job = job
        keywords = [{**kwarg, "__kwarg__": True}] if kwarg else []
        return call_function(function, [*args, *keywords], TakenJob.of(job), ctx).value

    @property
    def retcode(self) -> int:
        """What the last function set as its exit code."""
        code = 0 if self._context is None else self._context.retcode
        return code if isinstance(code, int) else 1

    @property
    def grains(self) -> Mapping[str, Any]:
        """The grains of this machine."""
        return self.context.grains

    @property
    def pillar(self) -> Mapping[str, Any]:
        """The pillar of this minion."""
        return self.context.pillar

    @property
    def context(self) -> MinionContext:
        """What functions reach; made, and the master connected to, when it is needed first."""
        if self._context is None:
            config = self.config
            masterless = is_masterless(config)
            if not masterless and config.network.master_type == "func":
                config = ask_for_masters(config)
            if not masterless:
                from saltlite.minion.caller import connect

                self._link = connect(config, self._timeout_s)
            self._context = make_context(config, self._link)
        return self._context
