"""Runs a runner, a wheel function or a job for a minion on the master's own machine.

``saltutil.runner``, ``saltutil.wheel`` and ``saltutil.cmd`` start it in a process of its own, as
the same user: ``python -m saltlite.cli.run_for_minion``. It reads one JSON map from standard input
(``config_dir``, ``kind``, ``fun``, ``arg``, ``kwarg``) and writes one: ``return``, ``success``,
``jid``, ``user``. Whoever can start it can start ``salt-run`` and read the master's keys as well.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any


def main() -> int:
    """Run what standard input asks for."""
    asked = json.load(sys.stdin)
    json.dump(answer(asked), sys.stdout, default=str)
    return 0


def answer(asked: Mapping[str, Any]) -> dict[str, Any]:
    """What came of it; a text under ``error`` if it could not be run."""
    from saltlite.cli.runs import runner_context
    from saltlite.config.load import load_master
    from saltlite.errors import SaltliteError

    lines: list[str] = []
    try:
        config = load_master(asked["config_dir"])
        with runner_context(config, lines.append) as ctx:
            if asked["kind"] == "local":
                return {"return": ctx.local.cmd(**asked["kwarg"]), "success": True}
            return _ran(ctx, asked)
    except SaltliteError as error:
        return {"error": str(error)}


def _ran(ctx: Any, asked: Mapping[str, Any]) -> dict[str, Any]:
    from saltlite.client.runner import RunnerClient, WheelClient

    client = WheelClient(ctx) if asked["kind"] == "wheel" else RunnerClient(ctx)
    ran = client.run(asked["fun"], asked["arg"], asked["kwarg"])
    if ran.wrong is not None:
        said = f"\nPassed invalid arguments: {ran.wrong}\n\nUsage:\n{ran.doc}"
        return {"return": said, "success": True, "jid": ran.jid, "user": ctx.user}  # as Salt does
    return {"return": ran.return_, "success": ran.success, "jid": ran.jid, "user": ctx.user}


if __name__ == "__main__":
    sys.exit(main())
