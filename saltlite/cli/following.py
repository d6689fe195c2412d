"""``salt-run jobs.follow``: a job from its beginning, shown as ``salt`` shows it."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from saltlite.cli.command import EX_FAILED, EX_OK, INTERRUPTED, complain
from saltlite.cli.live import StatusLine, follow_job, on_terminal, rows
from saltlite.cli.stores import maybe_connected, open_jobs
from saltlite.client import following
from saltlite.client.collect import JobRun, MinionReturn
from saltlite.client.jobs import JobClient
from saltlite.core.ids import valid_jid

if TYPE_CHECKING:
    from saltlite.cli.show import Screen
    from saltlite.config.master import MasterConfig

USAGE: Final = "jobs.follow takes the id of a job, 20 digits, and timeout=SECONDS"


def follow(
    config: MasterConfig, screen: Screen, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> int:
    """Show what has come and still comes of a job; the exit code, as of ``salt``."""
    words = {**dict(zip(("jid", "timeout"), args, strict=False)), **kwargs}
    jid, timeout = str(words.pop("jid", "")), words.pop("timeout", None)
    is_time = timeout is None or (isinstance(timeout, (int, float)) and timeout > 0)
    if words or len(args) > 2 or not valid_jid(jid) or not is_time:
        return complain(USAGE)
    store = open_jobs(config)
    with JobClient(
        config, store=lambda: store, connected=lambda: maybe_connected(config)
    ) as client:
        run = following.follow_job(client, store, jid, timeout)
        if run is None:
            return complain(f"no job with this id is on record: {jid}")
        try:
            with run:
                return _show_outcomes(client, screen, run)
        except KeyboardInterrupt:
            return complain(f"{INTERRUPTED}\nTo go on: salt-run jobs.follow {jid}")


def _show_outcomes(client: JobClient, screen: Screen, run: JobRun) -> int:
    line = StatusLine(sys.stdout, rows) if on_terminal(sys.stdout) else None
    code = EX_OK
    for one in follow_job(run, line):
        if isinstance(one, MinionReturn):
            screen.show({one.id: one.value}, one.out, retcode=one.exit_code)
            code = code or (EX_FAILED if one.exit_code else EX_OK)
        else:
            screen.show({one.id: client.explain_loss(one)}, "no_return")
            code = EX_FAILED
    return code
