"""From what the files of an event say to reactions: merged, checked, ordered, with arguments.

Pure. The syntax is that of states: id → ``kind.function`` → a list of maps of one key. Errors are
values: one mistake in the structure drops the whole set, as in Salt; one in a reaction drops it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from saltlite.core.dataclasses import dataclass, field
from saltlite.highstate.chunk import Chunk
from saltlite.highstate.high import verify
from saltlite.highstate.low import low_of
from saltlite.highstate.sls import expand_high
from saltlite.reactor.arguments import OWN_KEYS

LOCAL: Final = "local"
CALLER: Final = "caller"
KINDS: Final = {
    "local": LOCAL,
    "cmd": LOCAL,
    "runner": "runner",
    "wheel": "wheel",
    "caller": CALLER,
}
"""What a file may say, and what it means; ``cmd`` is the old name of ``local``."""

_RESERVED: Final = frozenset(("order", "key", "name_order"))
"""Never an argument of the function, but for those of :data:`OWN_KEYS`."""

_LOCAL_KEYS: Final = frozenset(("tgt", "tgt_type", "ret", "timeout", "args", "arg", "kwarg"))
_JOB_OPTIONS: Final = frozenset(
    ("metadata", "module_executors", "executor_opts", "ret_config", "ret_kwargs", "start_event",
     "delimiter")
)  # fmt: skip
"""What else becomes part of a job."""

RIGHT_FORM: Final = "`args` is a map, or a list of maps of one key: `- args: [{name: value}]`"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reaction:
    """One call that an event causes.

    ``kind`` is ``local``, ``runner``, ``wheel`` or ``caller``. With ``by_signature`` the keywords
    are laid out by the function's signature when it is known. ``tgt``, ``tgt_type``, ``ret`` and
    ``options`` are those of a job.
    """

    id: str
    sls: str
    kind: str
    fun: str
    arg: tuple[Any, ...] = ()
    kwarg: Mapping[str, Any] = field(default_factory=dict)
    by_signature: bool = False
    tgt: str | list[str] = ""
    tgt_type: str = "glob"
    ret: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)

    def as_map(self) -> dict[str, Any]:
        """The call, for people."""
        shown: dict[str, Any] = {"id": self.id, "sls": self.sls, "kind": self.kind, "fun": self.fun}
        if self.kind == LOCAL:
            shown |= {"tgt": self.tgt, "tgt_type": self.tgt_type}
        shown |= {"arg": list(self.arg), "kwarg": dict(self.kwarg)}
        extra = {"ret": self.ret, **self.options} if self.ret else dict(self.options)
        return {**shown, **extra}


@dataclass(slots=True)
class Compiled:
    """What came of a set of files, in the order in which it is to be done."""

    reactions: list[Reaction] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


class _Refused(Exception):
    """A reaction cannot be made; the text says why."""


def compile_reactions(
    rendered: Sequence[tuple[str, object]], *, masterless: bool = False
) -> Compiled:
    """The reactions of the files of one event: pairs of a file's name and what it renders to.

    Of an id that several files have, the last one counts. ``caller`` is for a masterless minion
    alone, and the other kinds for a master.
    """
    made = Compiled()
    high: dict[Any, Any] = {}
    structural: list[str] = []
    for name, value in rendered:
        declared, mistakes = _read_declarations(name, value, made)
        high.update(declared)
        structural += mistakes
    structural += verify(high)
    if structural:
        made.errors += structural
        return made
    for chunk in low_of(high):
        _add(chunk, made, masterless=masterless)
    return made


def _add(chunk: Chunk, made: Compiled, *, masterless: bool) -> None:
    try:
        made.reactions.append(_reaction(chunk, made.warnings, masterless=masterless))
    except _Refused as error:
        made.errors.append(f"{chunk.sls}: {chunk.ident}: {error}")


def _read_declarations(
    name: str, value: object, made: Compiled
) -> tuple[dict[Any, Any], list[str]]:
    """The declarations of one file, written out, with its name in each; mistakes in them."""
    if value is None or value == {}:
        return {}, []
    if not isinstance(value, Mapping):
        made.errors.append(f"{name}: does not render to a map of reactions")
        return {}, []
    alone = {ident: _drop_repeats(ident, body, name, made) for ident, body in value.items()}
    written, errors = expand_high(alone, f"SLS '{name}'")
    declared = {}
    for ident, body in written.items():
        if isinstance(body, Mapping):
            declared[ident] = {**body, "__sls__": name}
        else:
            errors.append(f"ID '{ident}' in SLS '{name}' is not a map of reactions")
    return declared, errors


def _drop_repeats(ident: object, body: object, name: str, made: Compiled) -> Any:
    """Of two functions of one kind under an id the first counts, as in Salt; the other is told."""
    if not isinstance(body, Mapping):
        return body
    seen: set[str] = set()
    kept = {}
    for key, value in body.items():
        kind, dot, _fun = str(key).partition(".")
        if dot and kind in seen:
            made.errors.append(f"{name}: {ident}: {key} is a second {kind} reaction of this id")
        else:
            kept[key] = value
        seen.add(kind)
    return kept


def _reaction(chunk: Chunk, warnings: list[str], *, masterless: bool) -> Reaction:
    kind = KINDS.get(str(chunk.state))
    if kind is None:
        known = ", ".join(sorted(KINDS))
        raise _Refused(f"there is no reaction of the kind {chunk.state!r}; there are {known}")
    if (kind == CALLER) is not masterless:
        where = "a minion without a master" if kind == CALLER else "a master"
        raise _Refused(f"{chunk.state} reactions are for the reactor of {where}")
    given = {key: value for key, value in chunk.arguments.items() if key not in _RESERVED}
    ident, sls = str(chunk.ident), str(chunk.sls)
    base = {"id": ident, "sls": sls, "kind": kind, "fun": str(chunk.fun)}
    warnings.extend(f"{sls}: {ident}: {note}" for note in _list_ignored(kind, given))
    if kind in (LOCAL, CALLER):
        return _local(base, given) if kind == LOCAL else _caller(base, given)
    low = chunk.to_low()
    return _run(base, given, {key: low[key] for key in OWN_KEYS if key in low})


def _list_ignored(kind: str, given: Mapping[str, object]) -> Iterator[str]:
    """A line for each key that has no effect."""
    beside = [key for key in ("arg", "kwarg") if key in given]
    if "args" in given and beside:
        yield f"with args, {' and '.join(beside)} are ignored"
    if kind == LOCAL and "expr_form" in given:
        yield "expr_form is no longer known; tgt_type takes its place"
    known = _LOCAL_KEYS | _JOB_OPTIONS | {"expr_form"} if kind == LOCAL else _LOCAL_KEYS
    has_arguments = kind in (LOCAL, CALLER) or "args" in given or bool(beside)
    for key in given if has_arguments else ():
        if key not in known:
            yield f"{key} is ignored; arguments of the function are below args"


def _local(base: Mapping[str, Any], given: Mapping[str, object]) -> Reaction:
    tgt = given.get("tgt")
    if isinstance(tgt, (int, float)) and not isinstance(tgt, bool):
        tgt = str(tgt)
    if not isinstance(tgt, (str, list)) or not tgt:
        raise _Refused("a job needs tgt: the minions that are meant")
    tgt_type = str(given.get("tgt_type") or "glob")
    arg, kwarg = _arguments(given)
    ret = given.get("ret") or ""
    options = {key: given[key] for key in _JOB_OPTIONS if key in given}
    return Reaction(
        **base,
        arg=tuple(arg),
        kwarg=kwarg,
        tgt=[str(one) for one in tgt] if isinstance(tgt, list) else tgt,
        tgt_type="list" if isinstance(tgt, list) else tgt_type,
        ret=",".join(map(str, ret)) if isinstance(ret, list) else str(ret),
        options=options,
    )


def _run(
    base: Mapping[str, Any], given: Mapping[str, object], own: Mapping[str, object]
) -> Reaction:
    if not given.keys() & {"args", "arg", "kwarg"}:
        named = {**own, **{str(key): value for key, value in given.items()}}
        return Reaction(**base, kwarg=named, by_signature=True)
    arg, kwarg = _arguments(given)
    return Reaction(**base, arg=tuple(arg), kwarg=kwarg)


def _caller(base: Mapping[str, Any], given: Mapping[str, Any]) -> Reaction:
    args = given.get("args")
    if "args" not in given or isinstance(args, Mapping):
        arg, kwarg = _arguments(given)
        return Reaction(**base, arg=tuple(arg), kwarg=kwarg)
    if not isinstance(args, list):
        raise _Refused("args of a caller reaction is a list of values, or a map of keywords")
    if all(isinstance(one, Mapping) and len(one) == 1 for one in args):
        return Reaction(**base, kwarg=_arguments(given)[1])
    return Reaction(**base, arg=tuple(args))


def _arguments(given: Mapping[str, object]) -> tuple[list[Any], dict[str, Any]]:
    """Positional arguments and keywords, in the new form (``args``) or the old one."""
    if "args" in given:
        keywords = _keywords(given["args"])
        if not keywords and not isinstance(given["args"], Mapping):
            raise _Refused(f"args is empty; {RIGHT_FORM}")
        return [], keywords
    arg, kwarg = given.get("arg"), given.get("kwarg")
    if kwarg is not None and not isinstance(kwarg, (Mapping, list)):
        raise _Refused("kwarg is a map of keywords")
    listed = [] if arg is None else list(arg) if isinstance(arg, (list, tuple)) else [arg]
    return listed, {} if kwarg is None else _keywords(kwarg)


def _keywords(args: object) -> dict[str, Any]:
    """The keywords of a map, or of a list of maps of one key."""
    if isinstance(args, Mapping):
        return {str(key): value for key, value in args.items()}
    if not isinstance(args, list):
        raise _Refused(RIGHT_FORM)
    keywords: dict[str, Any] = {}
    for one in args:
        if not isinstance(one, Mapping):
            raise _Refused(f"{RIGHT_FORM}; found {one!r:.80}")
        keywords.update({str(key): value for key, value in one.items()})
    return keywords
