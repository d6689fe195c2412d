"""Answer function calls as JSON lines with our own functions: the counterpart of real_caller.py."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from saltlite.config.load import load_minion
from saltlite.context import MinionContext
from saltlite.errors import CommandError, FunctionError
from saltlite.grains import LazyGrains
from saltlite.host import Host
from saltlite.loader.registry import Registry
from saltlite.minion.job import as_plain


class DeafBus:
    """Takes events, as the socket that real Salt finds in place of a minion's bus."""

    def fire(self, tag: str, data: Any) -> None:
        """Nobody listens."""


def context(folder: Path) -> MinionContext:
    config, host = load_minion(folder, {}, cache_id=False), Host()
    pillar = json.loads((folder / "pillar.json").read_text())
    grains = LazyGrains(config, host)
    ctx = MinionContext(config=config, host=host, grains=grains, pillar=pillar, events=DeafBus())
    ctx.functions = Registry(ctx)
    return ctx


def answer(ctx: MinionContext, request: dict[str, Any]) -> dict[str, Any]:
    try:
        value = ctx.functions.call(request["fun"], *request["args"], **request["kwargs"])
        return {"ok": True, "return": as_plain(value)}
    except (Exception, SystemExit) as error:  # noqa: BLE001 - every end is an answer
        failed = isinstance(error, (FunctionError, CommandError))
        name = "CommandExecutionError" if failed else type(error).__name__
        return {"ok": False, "type": name, "message": str(error)}


def text_of(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def main() -> None:
    requests, answers = os.fdopen(os.dup(0), encoding="utf-8"), os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # functions keep off the two lines of talk
    os.dup2(2, 1)
    ctx = context(Path(sys.argv[1]))
    for line in requests:
        answers.write(json.dumps(answer(ctx, json.loads(line)), default=text_of) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
