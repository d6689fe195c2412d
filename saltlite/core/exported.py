"""Exported declarations: how they are written into the mine, and what of them is believed. Pure.

An exporter is another machine, which may be in strange hands. So who collects says which functions
are taken, which arguments of each and which names; everything else of a declaration is refused,
never passed over. What is taken is data: no template, no slot, no requisite, no option of the
engine.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any, Final

from saltlite.core.dataclasses import dataclass, field
from saltlite.core.plain import Plain

MINE_NAME: Final = "exported"
"""What the declarations of a minion are in the mine as."""

VERSION: Final = 1
DECLARATIONS: Final = 500
"""So many of one minion."""

COLLECTED: Final = 2000
"""So many of all minions in one ``collect``."""

DECLARATION_BYTES: Final = 65536
ALL_BYTES: Final = 1024 * 1024
DEPTH: Final = 8
NAME_LETTERS: Final = 4096
TAG_LETTERS: Final = 100

NEVER_TAKEN: Final = frozenset(
    {
        *("name", "names", "state", "fun", "template", "source", "sources", "check_cmd", "export"),
        *("source_hash", "source_hashes", "context", "defaults", "sfun", "saltenv", "tgt"),
    }
)
"""Arguments that make more of a declaration than data; who collects may set some of them."""

COMMANDS: Final = frozenset(
    {"cmd", "module", "salt", "saltmod", "docker_container", "http", "schedule", "cron", "event"}
)
"""State modules that run what they are given; taken with ``commands: True`` alone."""

_WORD: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")


class BadExport(ValueError):
    """A declaration that cannot be exported, or is not taken; the text says why."""


class BadCollect(ValueError):
    """An entry of ``collect`` that makes no sense; the text says what is allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedState:
    """A declaration as it is exported: plain data, under a tag."""

    tag: str
    function: str
    name: str
    ident: str
    sls: str
    arguments: Mapping[str, Any]

    @property
    def key(self) -> str:
        """What it is known by among those of its minion."""
        return f"{self.sls}|{self.function}|{self.ident}|{self.name}"

    def to_wire(self) -> dict[str, Plain]:
        """As it is in the mine."""
        return {
            "v": VERSION, "tag": self.tag, "fun": self.function, "name": self.name,
            "id": self.ident, "sls": self.sls, "args": dict(self.arguments),
        }  # fmt: skip

    @classmethod
    def from_wire(cls, found: object) -> ExportedState:
        """From what a minion put into the mine; raises BadExport for what is none."""
        if not isinstance(found, Mapping) or found.get("v") != VERSION:
            raise BadExport("no declaration of version 1")
        texts = [found.get(key) for key in ("tag", "fun", "name", "id", "sls")]
        if not all(isinstance(text, str) for text in texts):
            raise BadExport("tag, function, name, id and sls have to be texts")
        arguments = found.get("args")
        if not isinstance(arguments, Mapping):
            raise BadExport("the arguments are no map")
        tag, function, name, ident, sls = map(str, texts)
        made = cls(tag=tag, function=function, name=name, ident=ident, sls=sls, arguments=arguments)
        check_export(made)
        return made


def check_export(declared: ExportedState) -> None:
    """Raise BadExport unless it is plain data within the bounds."""
    require_tag(declared.tag)
    module, _, function = declared.function.partition(".")
    if not all(part.isidentifier() and part.isascii() for part in (module, function)):
        raise BadExport(f"{declared.function[:80]!r} is no function of a state")
    for what, text in (("name", declared.name), ("id", declared.ident), ("sls", declared.sls)):
        if len(text) > NAME_LETTERS or any(ord(letter) < 32 for letter in text):
            raise BadExport(f"the {what} is too long, or has control characters")
    size = sum(_measure_argument(name, value, DEPTH) for name, value in declared.arguments.items())
    if size > DECLARATION_BYTES:
        raise BadExport(f"the arguments have more than {DECLARATION_BYTES} bytes")


def require_tag(tag: str) -> None:
    """Raise BadExport for what is no tag."""
    if not tag or len(tag) > TAG_LETTERS or not _WORD.issuperset(tag):
        raise BadExport(
            f"{tag[:TAG_LETTERS]!r} is no tag: letters, digits, _ and -, {TAG_LETTERS} at most"
        )


def _measure_argument(name: object, value: object, depth: int) -> int:
    """About the bytes of an argument; raises BadExport for what is no data."""
    if not isinstance(name, str) or name.startswith("__"):
        raise BadExport(f"{str(name)[:80]!r} is no name of an argument")
    return len(name) + _measure_value(name, value, depth)


def _measure_value(name: str, value: object, depth: int) -> int:
    if depth == 0:
        raise BadExport(f"{name[:80]}: more than {DEPTH} levels of lists and maps")
    if value is None or isinstance(value, (bool, float)):
        return 8
    if isinstance(value, int):
        return max(8, value.bit_length() // 8)
    if isinstance(value, str):
        if "__slot__:" in value:
            raise BadExport(f"{name[:80]}: a slot is no data")
        return len(value.encode("utf-8", "surrogatepass"))
    if isinstance(value, Mapping):
        return sum(_measure_argument(key, each, depth - 1) for key, each in value.items())
    if isinstance(value, (list, tuple)):
        return 8 + sum(_measure_value(name, each, depth - 1) for each in value)
    raise BadExport(f"{name[:80]}: {type(value).__name__} is no plain data")


# --- collecting ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """What is taken of one function: these arguments, and names that fit one of these globs.

    Of an argument with a glob only texts of one line that fit it, or lists of such.
    """

    arguments: Mapping[str, str] = field(default_factory=dict)
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Collect:
    """An entry of ``collect``: which tag, of whom, what is taken, and what is set."""

    tag: str
    accept: Mapping[str, Acceptance]
    target: Any = "*"
    target_type: str = "glob"
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Collected:
    """A declaration that was taken: its ID here, its function and its arguments."""

    ident: str
    function: str
    arguments: Mapping[str, Any]


KEYS: Final = ("tag", "accept", "from", "from_type", "set", "commands")


def read_collect(entry: object, engine: Set[str]) -> Collect:
    """An entry of ``collect`` as it is written; ``engine`` are the engine's own arguments.

    Raises:
        BadCollect: it makes no sense.
    """
    if not isinstance(entry, Mapping):
        raise BadCollect("an entry is no map with tag and accept")
    unknown = [str(key) for key in entry if key not in KEYS]
    if unknown:
        raise BadCollect(f"there is no {', '.join(unknown)} (there are {', '.join(KEYS)})")
    tag, settings = str(entry.get("tag", "")), entry.get("set", {})
    try:
        require_tag(tag)
    except BadExport as error:
        raise BadCollect(f"tag: {error}") from None
    if not isinstance(settings, Mapping):
        raise BadCollect("set: is no map of arguments")
    if "template" in settings:
        raise BadCollect("set: template: what others exported is data, and never rendered")
    accept = entry.get("accept")
    if not isinstance(accept, Mapping) or not accept:
        raise BadCollect(
            "accept: is no map of functions with what is taken of each, as in file.accumulated:"
            " {arguments: [text], names: 'web-*'}"
        )
    allowed = {
        str(function): _read_acceptance(str(function), taken, settings, engine)
        for function, taken in accept.items()
    }
    for function in allowed:
        if function.partition(".")[0] in COMMANDS and entry.get("commands") is not True:
            raise BadCollect(
                f"accept: {function} runs what it is given; say commands: True if it shall be taken"
            )
    return Collect(
        tag=tag, accept=allowed, target=entry.get("from", "*"),
        target_type=str(entry.get("from_type", "glob")), settings=settings,
    )  # fmt: skip


def _read_acceptance(
    function: str, taken: object, settings: Mapping[Any, Any], engine: Set[str]
) -> Acceptance:
    if not isinstance(taken, Mapping) or not set(taken) <= {"arguments", "names"}:
        raise BadCollect(f"accept: {function}: is no map with arguments and names")
    names = _as_texts(function, "names", taken.get("names", ()))
    given = taken.get("arguments", ())
    if isinstance(given, Mapping):
        globs = _as_texts(function, "arguments", [*given, *given.values()])
        arguments = dict(zip(globs[: len(given)], globs[len(given) :], strict=True))
    else:
        arguments = dict.fromkeys(_as_texts(function, "arguments", given), "")
    refused = sorted((NEVER_TAKEN | engine).intersection(arguments))
    if refused:
        raise BadCollect(f"accept: {function}: {', '.join(refused)}: is never taken of others")
    if not names and ("name" not in settings or "{name}" in repr(settings)):
        raise BadCollect(
            f"accept: {function}: say which names are taken (names: a glob, or a list of them), or"
            " set name to one without {name}"
        )
    return Acceptance(arguments=arguments, names=names)


def _as_texts(function: str, key: str, given: object) -> tuple[str, ...]:
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, (list, tuple)) or not all(isinstance(one, str) for one in texts):
        raise BadCollect(f"accept: {function}: {key}: is no list of texts")
    return tuple(texts)


def take(wanted: Collect, exporter: str, found: object) -> Iterator[Collected | BadExport]:
    """What is taken of what one minion has in the mine, in its order, and what is refused.

    Other tags are neither.
    """
    if not isinstance(found, (list, tuple)):
        yield BadExport("what it exported is no list")
        return
    if len(found) > DECLARATIONS:
        yield BadExport(f"it exported more than {DECLARATIONS} declarations")
        return
    judged = (_judge_one(wanted, exporter, each) for each in found)
    yield from (one for one in judged if one is not None)


def _judge_one(wanted: Collect, exporter: str, found: object) -> Collected | BadExport | None:
    try:
        declared = ExportedState.from_wire(found)
        return _take_one(wanted, exporter, declared) if declared.tag == wanted.tag else None
    except BadExport as error:
        return error


def _take_one(wanted: Collect, exporter: str, declared: ExportedState) -> Collected:
    accepted = wanted.accept.get(declared.function)
    if accepted is None:
        raise BadExport(f"{declared.function} is not accepted")
    left = {key: its for key, its in declared.arguments.items() if key not in wanted.settings}
    stray = sorted(left.keys() - accepted.arguments.keys())
    if stray:
        raise BadExport(f"{declared.function}: {', '.join(stray)[:200]}: is not accepted")
    for key, value in left.items():
        if accepted.arguments[key] and not _fits_glob(value, accepted.arguments[key]):
            raise BadExport(f"{declared.function}: {key}: {str(value)[:200]!r} is not accepted")
    has_id, has_name = (word in repr(wanted.settings) for word in ("{id}", "{name}"))
    # It may become a part of a path.
    if has_id and ("/" in declared.ident or declared.ident.startswith(".")):
        raise BadExport(
            f"the id {declared.ident[:200]!r} is not accepted where {{id}} is filled in"
        )
    words = {"{exporter}": exporter, "{id}": declared.ident, "{name}": declared.name}
    settings = {str(key): _fill_in(value, words) for key, value in wanted.settings.items()}
    name = settings.pop("name", None)
    if name is None or has_name:
        _check_name(declared.name, accepted.names)
    return Collected(
        ident=f"exported:{exporter}:{declared.tag}:{declared.function}:{declared.ident}"
        + ("" if declared.name == declared.ident else f":{declared.name}"),
        function=declared.function,
        arguments={"name": declared.name if name is None else name, **left, **settings},
    )


def _fits_glob(value: object, glob: str) -> bool:
    if isinstance(value, (list, tuple)):
        return all(isinstance(each, str) and _fits_glob(each, glob) for each in value)
    if not isinstance(value, str) or not value.isprintable():
        return False
    return fnmatch.fnmatchcase(value, glob)


def _check_name(name: str, globs: Sequence[str]) -> None:
    if ".." in name.split("/") or not any(fnmatch.fnmatchcase(name, glob) for glob in globs):
        raise BadExport(f"the name {name[:200]!r} is not accepted")


def _fill_in(value: Any, words: Mapping[str, str]) -> Any:
    """A setting with ``{exporter}``, ``{id}`` and ``{name}`` filled in, each text once."""
    if isinstance(value, str):
        # In one pass: what an exporter wrote is not looked at for further words.
        parts, rest = [], value
        while rest:
            spots = {word: rest.find(word) for word in words if word in rest}
            if not spots:
                break
            word = min(spots, key=lambda one: spots[one])
            parts += [rest[: spots[word]], words[word]]
            rest = rest[spots[word] + len(word) :]
        return "".join([*parts, rest])
    if isinstance(value, Mapping):
        return {key: _fill_in(each, words) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_fill_in(each, words) for each in value]
    return value
