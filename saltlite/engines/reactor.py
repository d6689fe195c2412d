"""The reactor of a minion without a master: events of its own bus, and ``caller`` reactions.

``reactor:`` in the minion's configuration is as on a master; see docs/reactor.md. Its functions run
in this process, one after the other, in the order in which their events came.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from saltlite.config.minion import MinionConfig
from saltlite.context import MinionContext
from saltlite.core import dataclasses, tags
from saltlite.engine_context import EngineContext
from saltlite.errors import FunctionUnavailable, SaltliteError
from saltlite.reactor.guard import PAUSE_S, LoopGuard
from saltlite.reactor.reactions import Reaction, compile_reactions
from saltlite.reactor.render import ReactionRenderer, with_template_limit
from saltlite.reactor.source import OPTION, EntrySource
from saltlite.reactor.table import ReactorEntry
from saltlite.runner_context import BusEvent

log = logging.getLogger(__name__)

USER: Final = "Reactor"
LOOK_S: Final = 1.0


def start(ctx: EngineContext, **options: Any) -> None:
    """React to the events of this minion until the daemon ends.

    ``options`` are Salt's (``refresh_interval``, ``worker_threads``, ``worker_hwm``); they have no
    effect here.

    Raises:
        FunctionUnavailable: this is a master, or there is nothing to react to.
        ConfigError: the file that ``reactor`` names cannot be used.
    """
    del options
    config = ctx.config
    if not isinstance(config, MinionConfig):
        raise FunctionUnavailable("reactor.start", "a master reacts by itself, with `reactor`")
    if not config.extra.get(OPTION):
        raise FunctionUnavailable("reactor.start", "there is no `reactor` in the configuration")
    source = EntrySource(config.extra[OPTION], config.source)
    reactor = MasterlessReactor(ctx.minion, strict=bool(config.extra.get("reactor_strict")))
    listener = ctx.listen("")
    while True:
        event = listener.get(LOOK_S)
        source.refresh()
        if event is not None and not event.tag.startswith(tags.REACTOR):
            reactor.react(event, source.table.matching(event.tag))


class MasterlessReactor:
    """Renders what an event causes, and calls the functions."""

    def __init__(self, minion: MinionContext, *, strict: bool = False) -> None:
        limited = dataclasses.replace(minion, config=with_template_limit(minion.config), state={})
        self._minion = minion
        self._renderer = ReactionRenderer(limited, strict=strict)
        self._guard = LoopGuard()

    def react(self, event: BusEvent, entries: Sequence[ReactorEntry]) -> None:
        """Do what the files of the entries say; what they raise does not end the engine."""
        if not entries or event.data.get("user") == USER:
            return
        try:
            self._react_to(event, entries)
        except Exception:
            log.exception("Reactor, tag %.200r", event.tag)

    def _react_to(self, event: BusEvent, entries: Sequence[ReactorEntry]) -> None:
        rendered = []
        for named in (file for entry in entries for file in entry.files):
            rendered += self._render_reaction(named, event)
        made = compile_reactions(rendered, masterless=True)
        for line in (*made.warnings, *made.errors):
            log.error("Reactor, tag %.200r: %.500r", event.tag, line)
        for reaction in made.reactions:
            self._call_reaction(reaction, event)

    def _render_reaction(self, named: str, event: BusEvent) -> list[tuple[str, Any]]:
        try:
            paths = self._renderer.locate(named, event.tag)
            data: Mapping[str, Any] = event.data
            return [(path, self._renderer.render(path, event.tag, data)) for path in paths]
        except SaltliteError as error:
            log.error("Reactor, tag %.200r: %s", event.tag, error)
        except (Exception, SystemExit):
            log.exception("Reactor, tag %.200r: %s", event.tag, named)
        return []

    def _call_reaction(self, reaction: Reaction, event: BusEvent) -> None:
        key = (reaction.sls, reaction.id, str(event.data.get("id", "")))
        now_s = time.monotonic()
        if not self._guard.allows(key, now_s):
            if self._guard.begins_pause(key):
                log.error("%.200r goes round and is paused for %g s", reaction.id, PAUSE_S)
            return
        told = {
            "id": reaction.id, "sls": reaction.sls, "kind": reaction.kind, "fun": reaction.fun,
            "event": event.tag, "user": USER,
        }  # fmt: skip
        try:
            self._minion.functions.call(reaction.fun, *reaction.arg, **reaction.kwarg)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - it must not end the reactor
            log.error("%.200r: %s fails: %r", reaction.id, reaction.fun, error)
            self._minion.events.fire(tags.REACTION, {**told, "error": repr(error)})
            return
        self._minion.events.fire(tags.REACTION, told)
