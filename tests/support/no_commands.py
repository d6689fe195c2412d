"""Functions of ``pkg`` on a host where what is run says nothing."""

from __future__ import annotations

from saltlite.config.minion import MinionConfig
from saltlite.context import MinionContext
from saltlite.host import Completed, Host
from saltlite.loader.registry import Registry


class NoCommands(Host):
    """Reads files, and finds every program; what is run says nothing."""

    def run(self, command, **how):
        return Completed(pid=1, exit_code=0, stdout="", stderr="")

    def which(self, name):
        return f"/usr/bin/{name}"


def make(os_family):
    ctx = MinionContext(
        config=MinionConfig(), host=NoCommands(), grains={"os_family": os_family}, pillar={}
    )
    ctx.functions = Registry(ctx)

    def call(function, *args, **kwargs):
        return ctx.functions.call(f"pkg.{function}", *args, **kwargs)

    return call
