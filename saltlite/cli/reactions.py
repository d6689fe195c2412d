"""What renders the files of reactions on the master, and what ``salt-run reactor.*`` asks with.

``reactor`` knows neither the master's package nor the client's; here they meet.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from saltlite.errors import FunctionUnavailable, SaltliteError

if TYPE_CHECKING:
    from saltlite.config.master import MasterConfig
    from saltlite.reactor.reactions import Reaction
    from saltlite.reactor.render import ReactionRenderer
    from saltlite.runner_context import RunnerContext

log = logging.getLogger(__name__)


def renderer_for(ctx: RunnerContext, config: MasterConfig) -> ReactionRenderer:
    """What renders with the functions that a runner may reach."""
    from saltlite.masterside.context import master_pillar, reaction_context
    from saltlite.reactor.render import ReactionRenderer, with_template_limit

    limited = with_template_limit(config)
    made = reaction_context(ctx, limited)
    return ReactionRenderer(
        made,
        strict=config.reactor.reactor_strict,
        fresh_pillar=partial(master_pillar, limited, made.grains),
        pillar_life_s=config.reactor.reactor_refresh_interval,
    )


ANSWER_S = 5.0
EVENT_DATA = frozenset(("data", "tag"))
UNQUOTED = (
    "what an event says becomes part of YAML as it is, so whoever fires it can add reactions; put "
    "| json behind it"
)


class ReactorClient:
    """What the runners of ``reactor`` ask: the files here, or the reactor that runs."""

    def __init__(self, ctx: RunnerContext) -> None:
        self._ctx = ctx

    # --- without the running master ------------------------------------------------------------

    def test(self, tag: str, data: Mapping[str, object]) -> dict[str, Any]:
        """Which entries mean the tag, what their files render to, and the calls that they make."""
        from saltlite.reactor.reactions import compile_reactions
        from saltlite.reactor.source import configured_entries
        from saltlite.reactor.table import TagTable

        config = self._ctx.config
        found = configured_entries(config.reactor.reactor, config.source)
        entries = TagTable(found.entries).matching(tag)
        errors: list[str] = []
        named = [file for entry in entries for file in entry.files]
        rendered = list(self._render_files(named, tag, data, errors))
        made = compile_reactions(rendered)
        errors += made.errors
        report = {
            "entries": [entry.as_map() for entry in entries],
            "rendered": dict(rendered),
            "reactions": [self._describe_reaction(one) for one in made.reactions],
            "warnings": [*found.problems, *made.warnings],
            "errors": errors,
        }
        return {**report, "retcode": 1 if errors else 0}

    def _render_files(
        self, named: Sequence[str], tag: str, data: Mapping[str, object], errors: list[str]
    ) -> Iterator[tuple[str, Any]]:
        renderer = renderer_for(self._ctx, self._ctx.config)
        for file in named:
            with _collect_error(errors):
                for path in renderer.locate(file, tag):
                    yield path, renderer.render(path, tag, data)

    def _describe_reaction(self, reaction: Reaction) -> dict[str, Any]:
        """The call as it would be made; arguments of the old form are laid out."""
        shown = reaction.as_map()
        if not reaction.by_signature:
            return shown
        from saltlite.client.runner import RUNNER, WHEEL
        from saltlite.reactor.arguments import lay_out

        resolve = (WHEEL if reaction.kind == "wheel" else RUNNER).resolve
        try:
            arg, kwarg = lay_out(resolve(reaction.fun, self._ctx).call, reaction.kwarg)
        except FunctionUnavailable as error:
            return {**shown, "error": str(error)}
        return {**shown, "arg": arg, "kwarg": kwarg}

    def check(self) -> dict[str, Any]:
        """What is wrong with the entries and their files."""
        from saltlite.reactor.source import configured_entries

        config = self._ctx.config
        found = configured_entries(config.reactor.reactor, config.source)
        errors = list(found.problems)
        warnings: list[str] = []
        renderer = renderer_for(self._ctx, config)
        for file in dict.fromkeys(file for entry in found.entries for file in entry.files):
            with _collect_error(errors):
                for path in renderer.locate(file, "any"):
                    warnings += _find_unquoted_words(path)
        report: dict[str, Any] = {"entries": len(found.entries), "errors": errors}
        if warnings and not config.reactor.reactor_strict:
            report["warnings"] = warnings
        return {**report, "retcode": 1 if errors else 0}

    # --- by the running master -----------------------------------------------------------------

    def ask(self, what: str, data: Mapping[str, object]) -> Mapping[str, Any]:
        """Fire a management event, with a proof that root asks, and wait for its answer.

        Raises:
            SaltliteError: there is no reactor, or it does not answer.
        """
        from saltlite.client.identity import local_key
        from saltlite.core import tags
        from saltlite.core.proof import prove

        config = self._ctx.config
        if not config.reactor.reactor:
            raise SaltliteError(
                "the reactor does not run: the master's configuration has no `reactor`"
            )
        tag = tags.REACTOR_MANAGE + what
        key = local_key(Path(config.paths.cachedir))
        listener = self._ctx.listen(tags.REACTOR_ANSWERS[what])
        try:
            self._ctx.events.fire(tag, prove(key, tag, data, time.time()))
            event = listener.get(ANSWER_S)
        finally:
            listener.close()
        if event is None:
            raise SaltliteError(f"the reactor did not answer within {ANSWER_S:g} s")
        return event.data


@contextmanager
def _collect_error(errors: list[str]) -> Iterator[None]:
    """Go on behind what goes wrong; it is told."""
    try:
        yield
    except SaltliteError as error:
        errors.append(str(error))


def _find_unquoted_words(path: str) -> Iterator[str]:
    """A line for each place of a file where an event's word becomes YAML."""
    from saltlite.reactor.render import RENDERER
    from saltlite.templates.pipe import pipe
    from saltlite.templates.unquoted import find_unquoted

    try:
        text = Path(path).read_text("utf-8")
    except (OSError, UnicodeError):  # told as an error, when it is rendered
        return
    if {"jinja", "yaml"} <= {stage.name for stage in pipe(text, RENDERER)}:
        for line in find_unquoted(text, EVENT_DATA):
            yield f"{path}:{line}: {UNQUOTED}"
