"""``salt.wheel``: the functions that manage the master, from a script or a runner."""

from __future__ import annotations

from saltlite.compat.salt.runner import RunnerClient


class WheelClient(RunnerClient):
    """Runs wheel functions in this process, or has the running master do it."""

    _kind = "wheel"


Wheel = WheelClient
