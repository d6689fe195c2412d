"""The outputter for state runs: a block or line per state, and a summary.

Source: tests/cases/data/cli_samples.yaml.
"""

from __future__ import annotations

import logging
import textwrap
from collections.abc import Iterator, Mapping, Sequence

from saltlite.core.dataclasses import dataclass, field, replace
from saltlite.core.fields import read_fields
from saltlite.core.output_options import (
    CYAN,
    GREEN,
    LIGHT_RED,
    RED,
    RESET,
    YELLOW,
    OutputOptions,
)
from saltlite.core.plain import Plain
from saltlite.outputters import nested

log = logging.getLogger(__name__)

MARGIN = " " * 14
"""Where the values of a block start."""

ORCHESTRATIONS = frozenset({"state.orchestrate", "state.orch", "state.sls"})
"""Runners whose value is shown as runs of states, also where a test run has none."""


@dataclass(frozen=True, slots=True)
class StateResult:
    """The result of one state as a minion returned it; what it did not say is ``None``.

    ``source`` is all of it, for those who name the columns of a table themselves.
    """

    result: Plain = None
    changes: Plain = None
    comment: Plain = None
    duration: Plain = None
    start_time: Plain = None
    warnings: Plain = None
    sls: Plain = None
    run_num: Plain = None
    source: Mapping[str, Plain] = field(default_factory=dict)

    @classmethod
    def of(cls, source: Mapping[str, Plain]) -> StateResult:
        """Of the map in a return; two of its names are spelt as names of Python's own."""
        own = {"sls": source.get("__sls__"), "run_num": source.get("__run_num__")}
        return read_fields(cls, {**source, **own, "source": source})

    @property
    def has_times(self) -> bool:
        """Whether it says when it began, be it ``None``: Salt shows that, too."""
        return "start_time" in self.source


def output(data: Plain, options: OutputOptions) -> str:
    """One section per minion; what is not a state run is shown as text or nested."""
    if not isinstance(data, Mapping):
        return nested.output(data, options)
    if "data" in data and isinstance(data.get("retcode"), int):  # an orchestration's wrapping
        return output(data["data"], options)
    return "\n".join(_format_run(host, data[host], options) for host in data)


def _format_run(host: str, run: Plain, options: OutputOptions) -> str:
    if isinstance(run, (list, tuple)):
        return "\n".join(_compile_errors(host, run, options))
    if isinstance(run, str):
        name = options.paint(f"{options.clean(host)}:", CYAN)
        return f"{name}\n{options.paint('    ' + options.clean(run), GREEN)}"
    if not isinstance(run, Mapping):
        return nested.output({host: run}, options)
    states: dict[str, StateResult] = {
        key: StateResult.of(state)
        for key, state in run.items()
        if isinstance(state, Mapping) and "result" in state
    }
    if run and not states:
        return nested.output({host: run}, options)
    return _format_states(host, states, options)


def _compile_errors(host: str, errors: Sequence[Plain], options: OutputOptions) -> Iterator[str]:
    yield options.paint(f"{options.clean(host)}:", LIGHT_RED)
    yield "    " + options.paint("Data failed to compile:", LIGHT_RED)
    for error in errors:
        yield options.paint(f"----------\n    {options.clean(str(error))}", LIGHT_RED)


@dataclass(slots=True)
class _Tally:
    """What the summary counts."""

    succeeded: int = 0
    failed: int = 0
    changed: int = 0
    unchanged: int = 0
    warnings: int = 0
    duration_ms: float = 0.0
    host_color: str = GREEN
    lines: list[str] = field(default_factory=list)

    def add(self, name: str, state: StateResult) -> None:
        result = state.result
        if result is False:
            self.failed += 1
            self.host_color = RED
        else:
            self.succeeded += 1
        if result is None:
            self.unchanged += 1
            self.host_color = YELLOW
        if _has_changed(state.changes) or name in ORCHESTRATIONS:
            self.changed += 1
        self.duration_ms += _read_duration(state.duration)


def _has_changed(changes: Plain) -> bool:
    """Whether there are changes; those of runs that an orchestration set off are theirs."""
    inner = _runs_in(changes)
    if inner is None:
        return bool(changes)
    return any(
        isinstance(state, Mapping) and _has_changed(state.get("changes"))
        for run in inner.values()
        for state in (run.values() if isinstance(run, Mapping) else ())
    )


def _runs_in(changes: Plain) -> Mapping[str, Plain] | None:
    """The runs of states by minion that are the changes of a ``salt.state``."""
    if not isinstance(changes, Mapping) or changes.get("out") != "highstate":
        return None
    runs = changes.get("ret")
    return runs if isinstance(runs, Mapping) else None


def _read_duration(duration: Plain) -> float:
    if isinstance(duration, str):
        duration = duration.split()[0] if duration.split() else 0
    try:
        return float(duration)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return 0.0


def _format_states(host: str, states: Mapping[str, StateResult], options: OutputOptions) -> str:
    tally = _Tally()
    ordered = sorted(states.items(), key=lambda item: _read_number(item[1].run_num))
    for key, state in ordered:
        tally.add(_Names.of(key, state, "").name, state)
    for key, state in _compress_ids(ordered) if options.state_compress_ids else ordered:
        shown = _format_state(key, state, options, tally)
        if shown is not None:
            tally.lines.append(shown)
    head = options.paint(f"{options.clean(host)}:", tally.host_color)
    return "\n".join([head, *tally.lines, *_format_summary(host, tally, options)])


def _compress_ids(states: Sequence[tuple[str, StateResult]]) -> Iterator[tuple[str, StateResult]]:
    """One in the place of all of one id, function and result, where the first of them is."""
    groups: dict[tuple[str, str, str, str], list[tuple[str, StateResult]]] = {}
    for key, state in states:
        names = _Names.of(key, state, "")
        same = names.id_, names.function, str(state.sls), str(state.result)
        groups.setdefault(same, []).append((key, state))
    for (id_, function, sls, result), members in groups.items():
        if len(members) == 1:
            yield members[0]
            continue
        module, _, fun = function.partition(".")
        name = f"state_compressed_{sls}_{id_}_{result}"
        yield "_|-".join([module, f"{id_} ({len(members)})", name, fun]), _join_states(members)


def _join_states(members: Sequence[tuple[str, StateResult]]) -> StateResult:
    """The first one, with the time that all took and the changes of all."""
    joined = dict(members[0][1].source)
    if "duration" in joined:
        took = sum(_read_duration(state.duration) for _, state in members)
        joined["duration"] = round(took, 3)
    changes = {_Names.of(key, state, "").name: state.changes for key, state in members}
    if any(list(changes.values())[1:]):
        changed = {name: value for name, value in changes.items() if value}
        joined["changes"] = {"compressed changes": changed}
    return StateResult.of(joined)


def _read_number(value: Plain) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0


def _format_state(
    key: str, state: StateResult, options: OutputOptions, tally: _Tally
) -> str | None:
    """The block or line of one state, ``None`` for one that is left out."""
    result, changes = state.result, state.changes
    clean = result is True and not changes
    if clean and (not options.state_verbose or options.state_output_diff):
        return None
    names = _Names.of(key, state, options.state_output)
    if options.state_output.startswith("filter") and str(result) in options.state_output_exclude:
        return None
    color = _color_of(state)
    if _is_short(state, options):
        return _format_terse(names, state, color, options)
    if state.warnings:
        tally.warnings += 1
    return "\n".join(_format_block(names, state, color, options))


def _is_short(state: StateResult, options: OutputOptions) -> bool:
    mode = options.state_output.lower().removesuffix("_id")
    result = state.result
    if mode == "terse" or (mode == "filter" and str(result) in options.state_output_terse):
        return True
    if mode == "mixed":
        return result is not False
    return mode == "changes" and result is True and not state.changes


def _color_of(state: StateResult) -> str:
    result = state.result
    if result is False:
        return RED
    if result is None:
        return YELLOW
    return CYAN if state.changes else GREEN


@dataclass(frozen=True, slots=True)
class _Names:
    """What the key of a result says: ``file_|-motd_|-/etc/motd_|-managed``."""

    id_: str
    name: str
    function: str

    @classmethod
    def of(cls, key: str, state: StateResult, mode: str) -> _Names:
        parts = (key.split("_|-") + [""] * 4)[:4]
        name = parts[1] if mode.lower().endswith("_id") else parts[2]
        return cls(parts[1], name, f"{parts[0]}.{parts[3]}")


def _format_block(
    names: _Names, state: StateResult, color: str, options: OutputOptions
) -> Iterator[str]:
    def label_line(label: str, text: Plain) -> str:
        return "    " + options.paint(f"{label:>8}: {options.clean(str(text))}", color)

    yield options.paint("----------", color)
    yield label_line("ID", names.id_)
    yield label_line("Function", names.function)
    if names.name != names.id_:
        yield label_line("Name", names.name)
    yield label_line("Result", str(state.result))
    yield label_line("Comment", _format_comment(state))
    if options.state_output_profile and state.has_times:
        yield label_line("Started", str(state.start_time))
        took = "" if state.duration is None else state.duration
        yield label_line("Duration", f"{took} ms")
    yield options.paint(f"     Changes:   {_format_changes(names.name, state, options)}", color)
    if state.warnings:
        yield "   " + options.paint(
            f" Warnings: {options.clean(_format_warnings(state.warnings))}", LIGHT_RED
        )


def _format_comment(state: StateResult) -> str:
    comment = state.comment
    if isinstance(comment, (list, tuple)):
        comment = str(list(comment))
    return str(comment or "").strip("\n").replace("\n", "\n" + MARGIN)


def _format_changes(name: str, state: StateResult, options: OutputOptions) -> str:
    changes = state.changes
    if not changes:
        return f"{MARGIN}\n{MARGIN}" if name in ORCHESTRATIONS else ""
    if not isinstance(changes, Mapping):
        return f"Invalid Changes data: {options.clean(str(changes))}"
    runs = _runs_in(changes)
    if runs is not None:
        return "\n" + _format_inner_runs(runs, options)
    returned = changes.get("return")
    if isinstance(returned, Mapping) and returned.get("outputter") == "highstate":
        return f"{MARGIN}\n" + _format_inner_runs(returned, options)
    return "\n" + "\n".join(nested.lines(changes, replace(options, retcode=0), 14))


def _format_inner_runs(runs: Plain, options: OutputOptions) -> str:
    """The runs of states that an orchestration set off, each line with the margin of values."""
    return "\n".join(MARGIN + line for line in output(runs, options).split("\n"))


def _format_warnings(warnings: Plain) -> str:
    wrapped = textwrap.wrap(" ".join(_as_texts(warnings)), 80 - len(MARGIN))
    return ("\n" + MARGIN).join(wrapped)


def _as_texts(warnings: Plain) -> list[str]:
    return [str(text) for text in (warnings if isinstance(warnings, (list, tuple)) else [warnings])]


WORDS = {True: "Clean", False: "Failed", None: "Differs"}


def _format_terse(names: _Names, state: StateResult, color: str, options: OutputOptions) -> str:
    result = state.result
    word = "Changed" if result is True and state.changes else ""
    if not word:
        word = WORDS[result] if isinstance(result, bool) or result is None else repr(result)
    if isinstance(options.state_tabular, str):
        return _fill_tabular(options.state_tabular, names, word, state, color, options)
    warned = ""
    if state.warnings:
        lines = "\n".join(["Warnings:", *_as_texts(state.warnings)])
        warned = options.paint(options.clean(lines), LIGHT_RED)
    if options.state_tabular:
        line = options.paint(options.clean(_terse_columns(names, word, state, options)), color)
        return f"{warned}\n{line}" if warned else line
    parts = [f"Name: {names.name}", f"Function: {names.function}", f"Result: {word}"]
    if options.state_output_profile and state.has_times:
        parts += [f"Started: {state.start_time!s}", f"Duration: {state.duration!s} ms"]
    # as in Salt the last line of a warning is not ended
    return f"{warned} " + options.paint(options.clean(" " + " - ".join(parts)), color)


def _terse_columns(names: _Names, word: str, state: StateResult, options: OutputOptions) -> str:
    module, _, function = names.function.partition(".")
    times = ""
    if options.state_output_profile and state.has_times:
        times = f"{state.start_time!s} [{state.duration!s:>7} ms] "
    return f"{times}{module:>10}.{function:<10} {word:<7}   Name: {names.name}"


def _fill_tabular(
    form: str, names: _Names, word: str, state: StateResult, color: str, options: OutputOptions
) -> str:
    """A terse line as ``state_tabular`` says: it can name six texts, and the state."""
    module, _, function = options.clean(names.function).partition(".")
    name = options.clean(names.name)
    begin, end = (color, RESET) if options.color else ("", "")
    try:
        return form.format(begin, name, module, function, word, end, state.source)
    except (LookupError, ValueError, AttributeError) as error:
        log.error("state_tabular: %r", error)
        return _terse_columns(names, word, state, options)


def _format_summary(host: str, tally: _Tally, options: OutputOptions) -> Iterator[str]:
    total = tally.succeeded + tally.failed
    largest = max(tally.succeeded - tally.unchanged, tally.unchanged, tally.failed)
    digits = len(str(largest)) if largest else 0
    dashes = "-" * (11 + digits)
    paint = options.paint
    yield paint(f"\nSummary for {options.clean(host)}\n{dashes}", CYAN)
    yield _count_succeeded(tally, digits, options)
    failed_color = RED if tally.failed else CYAN
    yield paint(f"Failed:{tally.failed:>{4 + digits}}", failed_color)
    if options.state_output_pct and total:
        yield paint(f"Success %: {round(100.0 * tally.succeeded / total, 2)}", GREEN)
        yield paint(f"Failure %: {round(100.0 * tally.failed / total, 2)}", failed_color)
    if tally.warnings:
        yield paint(f"Warnings:{tally.warnings:>{2 + digits}}", LIGHT_RED)
    yield paint(f"{dashes}\nTotal states run:{total:>{5 + digits}}", CYAN)
    if options.state_output_profile:
        yield paint(f"Total run time:{_run_time(tally.duration_ms, 7 + digits)}", CYAN)


def _run_time(duration_ms: float, width: int) -> str:
    if duration_ms < 1000:
        return f"{duration_ms:>{width}.3f} ms"
    return f"{duration_ms / 1000:>{width}.3f} s"


def _count_succeeded(tally: _Tally, digits: int, options: OutputOptions) -> str:
    text = options.paint(f"Succeeded: {tally.succeeded:>{max(digits, 1)}}", GREEN)
    counts = []
    if tally.unchanged:
        counts.append(options.paint(f"unchanged={tally.unchanged}", YELLOW))
    if tally.changed:
        counts.append(options.paint(f"changed={tally.changed}", GREEN))
    return f"{text} ({', '.join(counts)})" if counts else text
