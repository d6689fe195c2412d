"""``cmd_yaml``, ``cmd_json``, ``cmd_yamlex``: the output of a command.

``%s`` in the command is the minion's id. Only ids that are safe in a shell are put in. Source:
observed on Salt 3006.30.
"""

from __future__ import annotations

import logging
import shlex
from collections.abc import Callable, Mapping
from typing import Any

from saltlite.context import MinionContext
from saltlite.errors import SaltliteError
from saltlite.templates.pipe import TemplateSource, render

log = logging.getLogger(__name__)


def source_with(renderer: str) -> Callable[..., Mapping[str, Any]]:
    """The source whose text this renderer reads."""

    def source(
        ctx: MinionContext, _pillar: Mapping[str, object], command: str
    ) -> Mapping[str, Any]:
        """Run the command and read what it prints; a failure is logged and gives nothing."""
        line = command.replace("%s", shlex.quote(ctx.config.identity.id))
        done = ctx.host.run(["/bin/sh", "-c", line])
        if done.exit_code != 0:
            log.critical("ext_pillar: the command %r exits with %d", command, done.exit_code)
            return {}
        try:
            data = render(TemplateSource(text=done.stdout, path=command), ctx, renderer=renderer)
        except SaltliteError as error:
            log.critical("ext_pillar: the output of the command %r: %s", command, error)
            return {}
        return data if isinstance(data, Mapping) else {}

    return source
