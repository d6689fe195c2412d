"""The compiler's doors: from names of SLS files, a top file or high data to ordered low chunks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass, field, replace
from saltlite.highstate import top
from saltlite.highstate.chunk import Chunk
from saltlite.highstate.high import finish, verify
from saltlite.highstate.low import low_of
from saltlite.highstate.sls import High, expand_high, reader
from saltlite.templates.compiled import keep_compiled
from saltlite.templates.own import forget_changes

TEMPLATE = "<template-str>"
"""Salt's name of a template that is no file."""


@dataclass(slots=True)
class Compiled:
    """What was compiled.

    ``high`` is as the files say (``state.show_sls``), ``low`` what is to be run
    (``state.show_lowstate``): without what is excluded, extended, ``_in`` forms turned round. With
    ``errors``, Salt's sentences, nothing may be run. ``wanted`` has environment → SLS names; a
    highstate without any has nothing to run and no error.
    """

    high: High
    low: list[Chunk] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    wanted: Mapping[str, Sequence[str]] = field(default_factory=dict)
    reading: list[str] = field(default_factory=list)
    """Those of the errors that came up while the files were read."""
    checking: list[str] = field(default_factory=list)
    """Those that came up after that, before ``_in`` forms were turned round."""
    names: frozenset[str] = frozenset()
    """The SLS that were read: who requires one that has no states waits for nothing."""
    state_events: bool = False
    """Whether the master wants an event of each state."""
    is_highstate: bool = False
    """Whether these are all states that the minion has."""

    def as_written(self) -> Compiled:
        """The same with nothing excluded, extended or turned round.

        So ``state.show_sls`` and ``show_low_sls`` show it.
        """
        errors = [*self.reading, *verify(self.high)]
        low = [] if errors else low_of(self.high)
        return Compiled(self.high, low, errors, self.wanted, self.reading)

    def as_read(self) -> Compiled:
        """The same, not looked at any further: so ``state.show_highstate`` shows it."""
        return Compiled(self.high, errors=self.reading, wanted=self.wanted)

    @property
    def first_errors(self) -> list[str]:
        """The errors of the first step that had any: who wants to run states is told these."""
        return self.reading or self.checking or self.errors


def compile_sls(
    ctx: MinionContext,
    mods: str | Sequence[str],
    *,
    saltenv: str = "base",
    exclude: object = None,
) -> Compiled:
    """The states of SLS files, by names or globs; ``exclude`` as in ``state.apply``.

    Templates see ``ctx.pillar``.

    Raises:
        SaltliteError: the master does not answer.
    """
    options = top.options_of(ctx)
    return _compile_wanted(ctx, {saltenv: parse_list(mods)}, options, exclude)


def compile_highstate(
    ctx: MinionContext,
    *,
    saltenv: str | None = None,
    exclude: object = None,
    top_file: str | None = None,
) -> Compiled:
    """The states that the top files have for this minion.

    ``saltenv`` is the one environment to look at, else the configured one, else all. ``top_file``
    is another name than the configured one.

    Raises:
        SaltliteError: the master does not answer.
    """
    options = top.options_of(ctx)
    if top_file is not None:
        options = replace(options, state_top=top_file.removeprefix("salt://"))
    wanted = top.find_wanted(ctx, options, saltenv or ctx.config.files.saltenv)
    # What a broken top file would have said nobody knows: a part must not pass for the whole.
    if wanted.errors:
        return Compiled({}, errors=wanted.errors, wanted=wanted.sls, reading=wanted.errors)
    found = _compile_wanted(ctx, wanted.sls, options, exclude)
    found.is_highstate = top_file is None and saltenv is None
    return found


def compile_high(
    ctx: MinionContext, high: Mapping[Any, Any], *, exclude: object = None
) -> Compiled:
    """High data, written by hand or by a program; states without ``order`` come last."""
    done = finish(high, parse_list(exclude))
    if done.errors:
        return Compiled(dict(high), errors=done.errors, checking=done.checking)
    return Compiled(dict(high), low_of(done.high))


def compile_template(ctx: MinionContext, data: object, path: str = "") -> Compiled:
    """What a template renders to that is no SLS file: high data, short forms allowed.

    The states of a file, which has a ``path``, run in the order in which they are written.
    """
    if not isinstance(data, Mapping):
        return Compiled({}, errors=[f"Template {TEMPLATE} does not render to a dictionary"])
    high, errors = expand_high(data, f"template {TEMPLATE}")
    if errors:
        return Compiled(high, errors=errors)
    # The states of a bare text have no file whose order could count.
    if path:
        reader(ctx).number(high)
        for body in high.values():
            if isinstance(body, dict):
                body.setdefault("__sls__", path)
    return compile_high(ctx, high)


def top_of(ctx: MinionContext, *, saltenv: str | None = None) -> top.TopStates:
    """What the top files have for this minion: environment → SLS names (``state.show_top``).

    Raises:
        SaltliteError: the master does not answer.
    """
    return top.find_wanted(ctx, top.options_of(ctx), saltenv or ctx.config.files.saltenv)


def parse_list(names: object) -> list[Any]:
    """``"a, b"`` or a list as a list; ``None`` is an empty one."""
    if names is None:
        return []
    if isinstance(names, str):
        return [part.strip() for part in names.split(",") if part.strip()]
    # ``{"id": …}`` of an ``exclude`` is one entry, and no list of its keys.
    if isinstance(names, Mapping) or not isinstance(names, Sequence):
        return [names]
    return list(names)


def _compile_wanted(
    ctx: MinionContext,
    wanted: Mapping[str, Sequence[str]],
    options: top.TopOptions,
    exclude: object,
) -> Compiled:
    keep_compiled(ctx)
    # Templates of the run before may have changed what they share; a new run begins afresh.
    forget_changes(ctx)
    files = reader(ctx, auto_order=options.state_auto_order)
    high = files.read(wanted)
    done = finish(high, parse_list(exclude))
    errors = [*files.errors, *done.errors]
    # With errors nothing is run, and what is missing would make more of them.
    low = [] if errors else low_of(done.high)
    return Compiled(
        high,
        low,
        errors,
        wanted,
        files.errors,
        done.checking,
        files.names,
        options.state_events,
    )
