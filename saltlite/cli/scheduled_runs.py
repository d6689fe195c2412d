"""What is told of a run that the master's schedule began, besides what is told of every run.

Salt fires one event for it, ``__schedule_return``, which old reactions listen to; and its returners
get it. Source: observed on Salt 3006.30.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from saltlite.core import tags

if TYPE_CHECKING:
    from saltlite.client.runner import Ran
    from saltlite.master.run_requests import RunRequest
    from saltlite.runner_context import RunnerContext


def report(ctx: RunnerContext, request: RunRequest, ran: Ran) -> None:
    """Fire the event, and give the return to the returners of the job."""
    ret = return_of_schedule(ctx, request, ran)
    if request.schedule.get("return_job", True):
        ctx.events.fire(tags.SCHEDULE_RETURN, {**ret, "jid": "req"})
    if request.schedule.get("returners"):
        from saltlite.jobs.deliver import deliver
        from saltlite.master.job_mirror import Given

        named: dict[str, Any] = {
            key: request.schedule[key]
            for key in ("ret_config", "ret_kwargs")
            if key in request.schedule
        }
        deliver(request.schedule["returners"], {**ret, **named}, Given(ctx.config))


def return_of_schedule(ctx: RunnerContext, request: RunRequest, ran: Ran) -> dict[str, Any]:
    """The return as a minion's is, of ``<id>_master``."""
    from saltlite.masterside.context import master_id

    ret: dict[str, Any] = {
        "cmd": "_return",
        "id": master_id(ctx.config),
        "fun": request.fun,
        "fun_args": [*request.arg, request.kwarg] if request.kwarg else list(request.arg),
        "schedule": request.schedule["name"],
        "jid": request.jid,
        "pid": os.getpid(),
        "return": ran.return_,
        "retcode": ran.retcode or (0 if ran.success else 1),
        "success": ran.success and not ran.retcode,
    }
    if "metadata" in request.schedule:
        ret["metadata"] = request.schedule["metadata"]
    return ret
