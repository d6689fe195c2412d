"""What runs of states leave behind to be asked for: each run, with its notable states.

A state is notable that changed something, would have, failed, or was among the slowest of its run;
the others are counted. Values are cut, and so is what one return may leave. Pure; used by masters,
by minions without one, and by whoever asks. Source: docs/reports.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from saltlite.core.dataclasses import dataclass, field, replace
from saltlite.core.jid import jid_time

SEPARATOR: Final = "_|-"
"""Between the parts of a state's tag: module, id, name, function."""

VALUE_LIMIT: Final = 1000
TEXT_LIMIT: Final = 500
"""Characters of an old or new value, and of a name, an id, a comment."""

CHANGES_LIMIT: Final = 50
ROWS_LIMIT: Final = 500
RUN_LIMIT: Final = 512 * 1024
"""Changes of one state, states of one run, characters of one run; the rest is counted."""

SLS_LIMIT: Final = 500
SLOWEST: Final = 5
DEEPEST: Final = 3
LONGEST_MS: Final = 1e11
DIGEST: Final = "sha256"
"""The property of a content that is told by its digest."""

CUT: Final = " [cut]"

TEST_FUNCTIONS: Final = frozenset({"state.test", "state.audit", "state.request"})
_NO_ARGUMENT: Final = object()


@dataclass(frozen=True, slots=True)
class PropertyChange:
    """A property of a resource; ``None`` for a value that is not known or was not there."""

    property: str
    old: str | None
    new: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StateRow:
    """A notable state of a run. ``result`` is ``None`` for what would be changed."""

    number: int
    sls: str
    ident: str
    function: str
    name: str
    result: bool | None
    duration_ms: float
    comment: str = ""
    changes: Sequence[PropertyChange] = ()

    @property
    def resource(self) -> tuple[str, str, str]:
        """What tells a resource of one minion from others: function, id, name."""
        return self.function, self.ident, self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class StateRun:
    """One run of states on one minion. ``at_s`` is when it was asked for, since the epoch.

    ``sls`` says how many states each SLS had in it; ``left_out`` how many notable states are not
    among ``rows``, since there were too many.
    """

    at_s: float
    jid: str
    minion: str
    user: str
    fun: str
    saltenv: str
    test: bool
    total: int
    changed: int
    failed: int
    duration_ms: float
    left_out: int = 0
    sls: Mapping[str, int] = field(default_factory=dict)
    rows: Sequence[StateRow] = ()
    place: int = 0
    """Which function of its job it was, of a job with several."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportQuery:
    """Which states of which runs; an empty field does not restrict.

    ``user``, ``path``, ``sls``, ``ident`` and ``function`` are exact, or globs if they hold ``*``,
    ``?`` or ``[``; a user is found behind ``sudo_`` too. ``path`` is the name of the resource, or
    that of one which its changes tell of (``file.recurse``). ``minions`` is ``None`` for all.
    ``only`` is ``changed``, ``would``, ``either`` (of these), ``failed`` or empty. The newest come
    first, or with ``slowest`` those that took longest.
    """

    since_s: float = 0.0
    until_s: float | None = None
    minions: frozenset[str] | None = None
    user: str = ""
    path: str = ""
    sls: str = ""
    ident: str = ""
    function: str = ""
    jid: str = ""
    only: str = ""
    test: bool | None = None
    slowest: bool = False
    limit: int = 100


def may_be_states(fun: object) -> bool:
    """Whether a return of this function may be that of a run of states; cheap."""
    if isinstance(fun, str):
        return fun.startswith("state.")
    return isinstance(fun, (list, tuple)) and any(str(one).startswith("state.") for one in fun)


def read_runs(
    ret: Mapping[str, Any], *, jid: str, minion: str, user: str, now_s: float
) -> Iterator[StateRun]:
    """The runs of states in one return: one, or several of a job with several functions."""
    fun, value, args = ret.get("fun"), ret.get("return"), ret.get("fun_args")
    calls: Iterable[tuple[str, Any, Any]] = _split_calls(fun, value, args)
    if isinstance(fun, str):
        calls = [(fun, value, args)]
    whose = _Origin(jid=jid, minion=minion, user=user, at_s=_moment_of(jid, now_s))
    for place, (name, answers, words) in enumerate(calls):
        if may_be_states(name) and _is_run(answers):
            yield replace(_read_run(name, answers, _read_arguments(words), whose), place=place)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Origin:
    """Which job a run was of."""

    jid: str
    minion: str
    user: str
    at_s: float


def _split_calls(fun: Any, value: Any, args: Any) -> Iterator[tuple[str, Any, Any]]:
    """The functions of one job, whose returns are a map by name or a list."""
    for number, name in enumerate(fun if isinstance(fun, (list, tuple)) else ()):
        words = args[number] if isinstance(args, (list, tuple)) and number < len(args) else ()
        if isinstance(value, Mapping):
            yield str(name), value.get(str(name)), words
        elif isinstance(value, (list, tuple)) and number < len(value):
            yield str(name), value[number], words


def _is_run(value: object) -> bool:
    return isinstance(value, Mapping) and any(
        isinstance(tag, str) and tag.count(SEPARATOR) >= 3 and isinstance(answer, Mapping)
        for tag, answer in value.items()
    )


def _read_arguments(words: Any) -> dict[str, Any]:
    """The named arguments that are known here; typed words have them as text."""
    found: dict[str, Any] = {}
    for word in words if isinstance(words, (list, tuple)) else ():
        if isinstance(word, Mapping):
            found |= {str(key): value for key, value in word.items()}
        elif isinstance(word, str) and "=" in word:
            key, _, value = word.partition("=")
            found.setdefault(key, value)
    return found


def _read_run(
    fun: str, answers: Mapping[Any, Any], given: Mapping[str, Any], whose: _Origin
) -> StateRun:
    states = list(_list_states(answers))
    slow = _slowest_numbers([state.answer for state in states])
    rows: list[StateRow] = []
    sls: dict[str, int] = {}
    total_ms, changed, failed, left_out, room = 0.0, 0, 0, 0, RUN_LIMIT
    for number, state in enumerate(states):
        answer, result = state.answer, state.answer.get("result")
        total_ms += _read_duration(answer)
        changed += bool(answer.get("changes")) or result is None
        failed += result is False
        source = _clip_text(answer.get("__sls__") or "", TEXT_LIMIT)
        if source in sls or len(sls) < SLS_LIMIT:
            sls[source] = sls.get(source, 0) + 1
        if not answer.get("changes") and result is True and number not in slow:
            continue
        row = _read_row(number, source, state)
        room -= _size_of(row)
        if len(rows) >= ROWS_LIMIT or room < 0:
            left_out += 1
            continue
        rows.append(row)
    return StateRun(
        at_s=whose.at_s,
        jid=whose.jid,
        minion=whose.minion,
        user=_clip_text(whose.user, TEXT_LIMIT),
        fun=_clip_text(fun, TEXT_LIMIT),
        saltenv=_clip_text(given.get("saltenv") or "base", TEXT_LIMIT),
        test=fun in TEST_FUNCTIONS or str(given.get("test", "")).lower() == "true",
        total=len(states),
        changed=changed,
        failed=failed,
        duration_ms=round(total_ms, 3),
        left_out=left_out,
        sls=sls,
        rows=rows,
    )


@dataclass(frozen=True, slots=True)
class _State:
    """A state as it was returned, and the parts of its tag."""

    module: str
    ident: str
    name: str
    function: str
    answer: Mapping[str, Any]


def _list_states(answers: Mapping[Any, Any]) -> Iterator[_State]:
    for tag, answer in answers.items():
        parts = str(tag).split(SEPARATOR)
        if len(parts) >= 4 and isinstance(answer, Mapping):
            # An id or a name may have the separator in it.
            yield _State(parts[0], parts[1], SEPARATOR.join(parts[2:-1]), parts[-1], answer)


def _slowest_numbers(answers: Sequence[Mapping[str, Any]]) -> frozenset[int]:
    """The places of those that took longest."""
    order = sorted(range(len(answers)), key=lambda place: -_read_duration(answers[place]))
    return frozenset(order[:SLOWEST])


def _read_row(number: int, sls: str, state: _State) -> StateRow:
    answer, result = state.answer, state.answer.get("result")
    return StateRow(
        number=number,
        sls=sls,
        ident=_clip_text(answer.get("__id__") or state.ident, TEXT_LIMIT),
        function=_clip_text(f"{state.module}.{state.function}", TEXT_LIMIT),
        name=_clip_text(answer.get("name") or state.name, TEXT_LIMIT),
        result=result if result is None else bool(result),
        duration_ms=_read_duration(answer),
        # Of what went well the changes say it; but that a service was only restarted.
        comment=""
        if result is True and state.module != "service"
        else _clip_text(answer.get("comment") or "", VALUE_LIMIT),
        changes=tuple(
            list_changes(answer.get("changes"), answer.get("before"), answer.get("replaced"))
        ),
    )


def _read_duration(answer: Mapping[str, Any]) -> float:
    """Milliseconds; some versions of Salt return them as text with a unit."""
    given = answer.get("duration")
    try:
        found = float(given.split()[0] if isinstance(given, str) else given or 0.0)
    except (ValueError, IndexError, TypeError, OverflowError):
        return 0.0
    # Neither below nothing nor longer than a year; NaN is neither.
    return found if 0 <= found < LONGEST_MS else 0.0


def _moment_of(jid: str, now_s: float) -> float:
    from datetime import timezone

    try:
        return jid_time(jid).replace(tzinfo=timezone.utc).timestamp()
    except (ValueError, OverflowError):
        return now_s


def _size_of(row: StateRow) -> int:
    texts = sum(len(one.property) + len(one.old or "") + len(one.new or "") for one in row.changes)
    return texts + len(row.ident) + len(row.name) + len(row.comment) + 100


# --- changes -----------------------------------------------------------------------------------


def list_changes(
    changes: object, before: object = None, replaced: object = None
) -> list[PropertyChange]:
    """The properties that a state's ``changes`` tell of, whatever form they have.

    ``{"mode": {"old": …, "new": …}}``, ``{"old": …, "new": …}``, ``{"mode": "0644"}``, maps in
    maps, text. ``before`` has old values by the same names, and the digest of the content that was
    there as ``sha256``; ``replaced`` has such digests by path (docs/file-bucket.md). What is more
    than :data:`CHANGES_LIMIT` is left out.
    """
    found: list[PropertyChange] = []
    for change in _walk_changes("", changes, 0, before):
        if len(found) == CHANGES_LIMIT:
            return found
        found.append(change)
    # Beside changes only: what was put back meanwhile has not changed.
    for digest in _list_digests(before, replaced) if found else ():
        if len(found) == CHANGES_LIMIT:
            break
        found.append(digest)
    return found


def _walk_changes(name: str, value: object, depth: int, before: object) -> Iterator[PropertyChange]:
    if isinstance(value, Mapping):
        if 0 < len(value) <= 2 and set(map(str, value)) <= {"old", "new"}:
            yield from _compare_values(name, value)
            return
        if value and depth < DEEPEST:
            were = before if isinstance(before, Mapping) else {}
            for key, inner in value.items():
                path = f"{name}:{key}" if name else str(key)
                yield from _walk_changes(path, inner, depth + 1, were.get(key))
            return
    if value or value == 0 or name:
        # A map is of what is within, not of this value.
        old = None if isinstance(before, Mapping) else _format_value(before)
        yield PropertyChange(_clip_text(name, TEXT_LIMIT), old, _format_value(value))


def _list_digests(before: object, replaced: object) -> Iterator[PropertyChange]:
    """The digests of contents that were there, each once: of the resource, and by path."""
    told: set[str] = set()
    for property_, digest in _walk_digests(before, replaced):
        if property_ not in told:
            told.add(property_)
            yield PropertyChange(_clip_text(property_, TEXT_LIMIT), _format_value(digest), None)


def _walk_digests(before: object, replaced: object) -> Iterator[tuple[str, str]]:
    own = None
    for path, were in before.items() if isinstance(before, Mapping) else ():
        if path == DIGEST and isinstance(were, str):
            own = were
            yield DIGEST, were
        elif isinstance(were, Mapping) and isinstance(were.get(DIGEST), str):
            yield f"{path}:{DIGEST}", were[DIGEST]
    for path, digest in replaced.items() if isinstance(replaced, Mapping) else ():
        if isinstance(digest, str) and digest != own:
            yield f"{path}:{DIGEST}", digest


def _compare_values(name: str, pair: Mapping[Any, Any]) -> Iterator[PropertyChange]:
    old, new = pair.get("old"), pair.get("new")
    before, after = (one if isinstance(one, Mapping) else None for one in (old, new))
    # Two maps are told key by key: most of them are equal.
    if before is not None and after is not None and (before or after):
        for key in dict.fromkeys([*before, *after]):
            if before.get(key, _NO_ARGUMENT) != after.get(key, _NO_ARGUMENT):
                path = f"{name}:{key}" if name else str(key)
                yield PropertyChange(
                    _clip_text(path, TEXT_LIMIT),
                    _format_value(before.get(key)),
                    _format_value(after.get(key)),
                )
        return
    yield PropertyChange(_clip_text(name, TEXT_LIMIT), _format_value(old), _format_value(new))


def _format_value(value: object) -> str | None:
    """A value as it is kept: text as it is, all else as JSON; cut if it is long."""
    if value is None:
        return None
    if isinstance(value, str):
        return _clip_text(value, VALUE_LIMIT)
    try:
        return _clip_text(json.dumps(value, default=str, sort_keys=True), VALUE_LIMIT)
    except (TypeError, ValueError, RecursionError):
        return _clip_text(repr(value), VALUE_LIMIT)


def _clip_text(value: object, limit: int) -> str:
    if isinstance(value, (list, tuple)):
        value = "\n".join(map(str, value))
    text = str(value)
    if len(text) > limit:
        text = text[: limit - len(CUT)] + CUT
    if text.isascii() and "\0" not in text:
        return text
    # No database takes NUL and halves of surrogate pairs.
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


# --- as it is stored ---------------------------------------------------------------------------


def pack_changes(changes: Sequence[PropertyChange]) -> str:
    """Changes as one text; empty for none."""
    if not changes:
        return ""
    return json.dumps([[one.property, one.old, one.new] for one in changes])


def unpack_changes(text: str) -> tuple[PropertyChange, ...]:
    """What :func:`pack_changes` made; a damaged text is none."""
    if not text:
        return ()
    try:
        return tuple(PropertyChange(str(one[0]), one[1], one[2]) for one in json.loads(text))
    except (ValueError, TypeError, IndexError):
        return ()


def pack_counts(sls: Mapping[str, int]) -> str:
    """The counts of a run's SLS as one text."""
    return json.dumps(dict(sls))


def unpack_counts(text: str) -> dict[str, int]:
    """What :func:`pack_counts` made; a damaged text is nothing."""
    try:
        return {str(name): int(count) for name, count in json.loads(text).items()}
    except (ValueError, TypeError, AttributeError):
        return {}
