"""Functions for the jobs of test_executor.py; importing this makes them available."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from saltlite.context import MinionContext
from saltlite.errors import RequestTimeout
from saltlite.loader.catalogue import MODULES

MODULES._modules = {**MODULES.modules(), "job_functions": "job_functions"}


def facts(ctx: MinionContext) -> dict[str, Any]:
    umask = os.umask(0)
    os.umask(umask)
    return {
        "os": ctx.grains["os"],
        "pillar": ctx.pillar,
        "umask": umask,
        "leader": os.getsid(0) == os.getpid(),
    }


def reach(ctx: MinionContext) -> dict[str, Any]:
    ctx.events.fire("my/tag", {"a": (1,)})
    assert ctx.master is not None
    reply = ctx.master.request({"cmd": "_file_envs"})
    try:
        ctx.master.request({"cmd": "silent"})
    except RequestTimeout as error:
        timeout = str(error)
    return {"reply": reply, "timeout": timeout, "running": ctx.jobs.running()}


def vanish(code: int) -> None:
    os._exit(code)


def with_child(ctx: MinionContext) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True
    ) as child:
        ctx.events.fire("child", {"pid": child.pid})


def start_and_wait(ctx: MinionContext, path: str) -> None:
    """``path`` gets three process ids, and ``path.held`` is made once the command is guarded."""
    started = ctx.host.start(["sleep", "60"])
    command = f"sleep 60 & echo {started} $$ $! > {path}; wait"
    hold = ctx.host.awaits

    def awaits(pid: int) -> None:
        hold(pid)
        Path(f"{path}.held").touch()

    ctx.host.awaits = awaits  # type: ignore[method-assign]
    ctx.host.run(command, shell="/bin/sh")
