"""The source ``ext_nodes``: a command that is given a minion's id and prints YAML.

It has ``classes``, a list or a map of SLS names, and ``environment`` (``base`` without). Source:
observed on Salt 3006.30.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saltlite.config.yaml import load
from saltlite.context import MinionContext
from saltlite.errors import SaltliteError

BASE = "base"
COMMAND_S = 60.0


class TopFailed(SaltliteError):
    """The command gives nothing; the text says why."""


def top(ctx: MinionContext, command: object) -> Mapping[str, Any]:
    """Environment → SLS names, as the command prints them for a minion; raises TopFailed."""
    words = str(command or "").split()
    if not words:
        raise TopFailed("there is no command")
    done = ctx.host.run([*words, ctx.config.identity.id], timeout_s=COMMAND_S)
    if done.timed_out:
        raise TopFailed(f"{words[0]} does not end within {COMMAND_S:.0f} s")
    if done.exit_code != 0:
        raise TopFailed(f"{words[0]} exits with {done.exit_code}")
    said = load(done.stdout, words[0])
    classes = said.get("classes") if isinstance(said, Mapping) else None
    if not isinstance(classes, (list, Mapping)):
        raise TopFailed(f"{words[0]} prints no YAML with a list or map of classes")
    return {str(said.get("environment") or BASE): list(classes)}
