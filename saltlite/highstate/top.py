"""Top files: which SLS of which environment are for this minion.

``{environment: {target: [{match: kind}, sls, ...]}}``. How the top files of several environments
join is ``top_file_merging_strategy``. Source: observed on Salt 3006.30.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass, field
from saltlite.core.targets import MinionFacts, Target
from saltlite.errors import RenderError, SaltliteError, TargetError
from saltlite.fileserver.client import FileClient, file_client
from saltlite.highstate.sls import StateTree
from saltlite.loader.matchers import fits
from saltlite.templates.names import file_names
from saltlite.templates.pipe import TemplateSource, render

log = logging.getLogger(__name__)

NO_TARGETS = "Unable to render top file. No targets found."
DEFAULT_MATCH = "compound"
BASE = "base"

Top = dict[str, dict[str, list[Any]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopOptions:
    """What settles how top files are read; a master's options, or the minion's own."""

    state_top: str = "top.sls"
    state_top_saltenv: str | None = None
    default_top: str = BASE
    top_file_merging_strategy: str = "merge"
    env_order: Sequence[str] = ()
    nodegroups: Mapping[str, Any] = field(default_factory=dict)
    state_auto_order: bool = True
    master_tops_first: bool = False
    state_events: bool = False
    """Whether the master wants an event of each state; the minion's own option is not here."""


@dataclass(slots=True)
class TopStates:
    """What is for a minion: environment → SLS names or globs, as they come; Salt's complaints."""

    sls: dict[str, list[str]] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)


def options_of(ctx: MinionContext) -> TopOptions:
    """The options that hold: the minion's, over which a master's lie if files come from it."""
    files = ctx.config.files
    own: dict[str, Any] = {
        "state_top": files.state_top,
        "state_top_saltenv": files.state_top_saltenv,
        "default_top": files.default_top,
        "top_file_merging_strategy": files.top_file_merging_strategy,
        "env_order": files.env_order,
        "state_auto_order": files.state_auto_order,
        "nodegroups": ctx.config.extra.get("nodegroups") or {},
        "master_tops_first": bool(ctx.config.extra.get("master_tops_first")),
        "state_events": False,
    }
    if ctx.master is not None and files.file_client != "local":
        said = ctx.master.request({"cmd": "_master_opts"})
        if isinstance(said, Mapping):
            # A master of another version may not have all of them.
            own.update({key: said[key] for key in own if said.get(key) is not None})
    own["state_top"] = str(own["state_top"]).removeprefix("salt://")
    own["state_events"] = bool(own["state_events"])
    return TopOptions(**own)


def find_wanted(ctx: MinionContext, options: TopOptions, saltenv: str | None = None) -> TopStates:
    """What the top files have for the minion of this context; of one environment with ``saltenv``.

    Raises:
        SaltliteError: the master does not answer.
    """
    tops = _Tops(ctx, options, saltenv)
    top = tops.join()
    found = TopStates(errors=tops.errors)
    facts = MinionFacts(ctx.config.identity.id, ctx.grains, ctx.pillar)
    for env, targets in top.items():
        if saltenv and env != saltenv:
            continue
        for target, entries in targets.items():
            try:
                goal = Target(target, _kind_of(entries))
                meant = fits(ctx, goal, facts, options.nodegroups)
            except TargetError as error:
                # One bad target is not to cost the states of all the others.
                log.error("the top file, environment %s: %s", env, error)
                continue
            if meant:
                _take_entries(found, env, entries, tops.envs)
    _add_outer(found, ctx, first=options.master_tops_first)
    return found


def _kind_of(entries: Sequence[object]) -> str:
    for entry in entries:
        if isinstance(entry, Mapping) and "match" in entry:
            return str(entry["match"])
    return DEFAULT_MATCH


def _take_entries(
    found: TopStates, saltenv: str, entries: Sequence[object], envs: Sequence[str]
) -> None:
    for entry in entries:
        env, sls = saltenv, entry
        if isinstance(entry, Mapping):
            env, sls = next(iter(entry.items()), ("", ""))
            # An environment that nobody serves has no SLS to give.
            if env not in envs:
                continue
        found.sls.setdefault(str(env), []).append(str(sls))


def _add_outer(found: TopStates, ctx: MinionContext, *, first: bool) -> None:
    """What the master's ``master_tops`` have for this minion."""
    if ctx.master is None or ctx.config.files.file_client == "local":
        return
    ident = ctx.config.identity.id
    opts: dict[str, Any] = {"id": ident, "grains": dict(ctx.grains)}
    try:
        said: Any = ctx.master.request({"cmd": "_master_tops", "id": ident, "opts": opts})
    except SaltliteError as error:
        # A master that cannot say has none: the top files are enough for a run.
        log.debug("the master has no outer tops: %s", error)
        return
    if not isinstance(said, Mapping):
        return
    for env, names in said.items():
        own = found.sls.setdefault(str(env), [])
        more = [str(name) for name in names if str(name) not in own]
        # In place: the list is the one in ``found``.
        own[:] = [*more, *own] if first else [*own, *more]


class _Tops:
    """The top files of the environments, and what they come to."""

    def __init__(self, ctx: MinionContext, options: TopOptions, saltenv: str | None) -> None:
        self._ctx = ctx
        self._options = options
        self._client: FileClient = file_client(ctx)
        self._tree = StateTree(self._client)
        self._saltenv = saltenv
        self.envs = self._order_envs(self._client.envs())
        self.errors: list[str] = []

    def _order_envs(self, envs: Sequence[str]) -> list[str]:
        others = [env for env in envs if env != BASE]
        return [env for env in self._options.env_order if env in envs] or [BASE, *others]

    def join(self) -> Top:
        """The top files as one, by the strategy."""
        strategy = self._options.top_file_merging_strategy
        only = self._options.state_top_saltenv or self._saltenv
        envs = [only] if only else self.envs
        if strategy == "same":
            return self._select_same(envs)
        tops = {env: self._read_top(env) for env in envs}
        if strategy == "merge_all":
            return _join_all(tops)
        return _merge_tops(tops)

    def _select_same(self, envs: Sequence[str]) -> Top:
        """Of each top file its own environment; where there is none, what the default one says."""
        joined: Top = {}
        fallback: Top | None = None
        for env in envs:
            own = self._read_top(env)
            if not own and not self._saltenv:
                # Rendered once, however many environments fall back to it.
                fallback = (
                    self._read_top(self._options.default_top) if fallback is None else fallback
                )
                own = fallback
            if env in own:
                joined[env] = own[env]
        return joined

    def _read_top(self, saltenv: str) -> Top:
        """A top file and what it includes; empty without one."""
        top: Top = {}
        for rendered in self._read_files(self._options.state_top, saltenv, set()):
            _add_targets(top, self._check_form(rendered))
        return top

    def _read_files(self, path: str, saltenv: str, seen: set[str]) -> Iterator[Mapping[str, Any]]:
        if path in seen or not self._tree.has_file(path, saltenv):
            return
        # Top files may include one another in a circle.
        seen.add(path)
        rendered = self._render_top(path, saltenv)
        if rendered is None:
            return
        yield rendered
        for sls in rendered.get("include") or ():
            yield from self._read_files(f"{str(sls).replace('.', '/')}.sls", saltenv, seen)

    def _render_top(self, path: str, saltenv: str) -> Mapping[str, Any] | None:
        try:
            found = self._tree.read(path, saltenv)
            if found is None:
                return None
            rendered = render(
                TemplateSource(
                    text=found[1],
                    path=found[0],
                    name=path,
                    saltenv=saltenv,
                    variables=file_names("", found[0], path),
                ),
                self._ctx,
            )
        except SaltliteError as error:
            # Twice: the log is read on the minion, the error is part of what the job returns.
            text = error.salt_text if isinstance(error, RenderError) else str(error)
            log.error("Unable to render top file: %s", text)
            self.errors.append(f"Unable to render top file: {text}")
            return None
        if isinstance(rendered, Mapping):
            return rendered
        self.errors.append(NO_TARGETS)
        return None

    def _check_form(self, rendered: Mapping[str, object]) -> Top:
        """The well-formed part of a top file."""
        top: Top = {}
        for saltenv, targets in rendered.items():
            # No environment: _read_files has read what it names.
            if saltenv == "include":
                continue
            if not isinstance(targets, Mapping):
                self.errors.append(NO_TARGETS)
                continue
            top[str(saltenv)] = {}
            for target, entries in targets.items():
                if isinstance(entries, list):
                    top[str(saltenv)][str(target)] = entries
                else:
                    self.errors.append(
                        f"Malformed topfile: state declarations for matcher '{target}' in saltenv "
                        f"'{saltenv}' are not formed as a list (got {type(entries).__name__})"
                    )
        return top


def _add_targets(top: Top, more: Top) -> None:
    for saltenv, targets in more.items():
        for target, entries in targets.items():
            known = top.setdefault(saltenv, {}).setdefault(target, [])
            known += [entry for entry in entries if entry not in known]


def _join_all(tops: Mapping[str, Top]) -> Top:
    joined: Top = {}
    for top in tops.values():
        _add_targets(joined, top)
    return joined


def _merge_tops(tops: Mapping[str, Top]) -> Top:
    """All of the base environment's file; of others what they say of themselves."""
    # The base file may speak of all environments, and what it says of one wins.
    joined: Top = dict(tops.get(BASE, {}))
    for env, top in tops.items():
        if env in top and env not in joined:
            joined[env] = top[env]
    return joined
