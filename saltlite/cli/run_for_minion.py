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
    from saltlite.cli.runs import run_another, runner_context
    from saltlite.config.load import load_master
    from saltlite.errors import SaltliteError
    from saltlite.jobs.publishing import publish

    lines: list[str] = []
    try:
        config = load_master(asked["config_dir"])
        with runner_context(config, lines.append) as ctx:
            if asked["kind"] == "local":
                wanted = {**asked["kwarg"], "fun": asked["fun"]}
                return {"return": publish(ctx.local, **wanted), "success": True}
            return run_another(ctx, asked["kind"], asked["fun"], asked["arg"], asked["kwarg"])
    except SaltliteError as error:
        return {"error": str(error)}


if __name__ == "__main__":
    sys.exit(main())
