"""What a publish may contain, by who asks: the one decision on every road to a job.

Users of ``publisher_acl`` and minions with ``peer`` come here; logins, syndics and the HTTP API are
to come here as well. Who has all rights may set every field. Anybody else may set the fields of
:data:`FREE`, each of one type and with a bound; a field of :data:`GRANTED` needs a right of its
own. What stands in neither table is refused, but for keywords in which Salt sees nothing and which
clients send along: they are dropped, by :func:`drop_unknown`, and are in no job and on no record.
Such a right is an entry beside the functions::

    publisher_acl:
      deploy:
        - web*:
          - state.apply
        - '@publish':
          - metadata
          - ret: [mysql, redis]

A name gives the field with any value; a map says which words its value may be made of.

The reason for so little: a returner with ``ret_config`` or ``ret_kwargs`` writes files as root, an
executor replaces what is run, a job id is the name of somebody else's job. Source:
docs/security.md#who-may-do-what.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from saltlite.core.dataclasses import dataclass, field, replace
from saltlite.core.ids import valid_function
from saltlite.core.job_times import is_moment
from saltlite.core.messages import ASKED_AT, FOLLOW, Job, PublishLoad
from saltlite.core.targets import Expected, Target, has_pillar_pattern
from saltlite.errors import PatternTooSlow, TargetError, WireError
from saltlite.transport.codec import pack

log = logging.getLogger(__name__)

RIGHT: Final = "@publish"
"""The entry of an access list that gives fields."""

FUNCTIONS_LIMIT: Final = 100
TARGET_LIMIT_BYTES: Final = 256 * 1024
ARGUMENTS_LIMIT_BYTES: Final = 1024 * 1024
METADATA_LIMIT_BYTES: Final = 4096
TEXT_LIMIT: Final = 128
ONLY_WHOLE: Final = "patterns for values of pillar need the right to call pillar.items everywhere"
"""Else one finds out the pillar of minions letter by letter, whatever one may call there."""

DROPPED_MOST: Final = 32
"""Keywords of one publish that mean nothing."""

TIME_LIMIT_S: Final = 86400

Words: TypeAlias = frozenset[str] | None
"""The words that a field may be made of; ``None``: any."""

Check: TypeAlias = Callable[[Any], bool]


@dataclass(frozen=True, slots=True)
class Publisher:
    """Who wants to publish.

    ``allows`` says whether functions with their arguments may be called on minions; it is asked
    about a limited publisher only. ``fields`` are the rights of :data:`GRANTED`.
    ``reads_pillars`` says whether he may know all pillars.
    """

    name: str
    limited: bool = True
    fields: Mapping[str, Words] = field(default_factory=dict)
    allows: Callable[[Sequence[str], Sequence[Sequence[Any]], Sequence[str]], bool] = (
        lambda _functions, _arguments, _minions: False
    )
    reads_pillars: Callable[[], bool] = lambda: False


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a job is not published: ``reason`` for the log, ``advice`` for who asked."""

    reason: str
    advice: str = ""


def decide(
    publisher: Publisher, wanted: PublishLoad, match: Callable[[Target], Expected]
) -> Expected | Refused:
    """Who is to run the job, or why it is not published.

    ``match`` gives the minions of a target, and is not called for what is refused by its form. A
    malformed target means nobody.

    Raises:
        PatternTooSlow: a regular expression in the target takes too long.
        WireError: a field has a type that no minion would take, whoever sends it.
    """
    # Of root's jobs too: minions drop a job of a wrong type, and its caller would wait.
    check_types(wanted)
    if publisher.limited:
        refused = _refuse_form(publisher, wanted)
        if refused is not None:
            return refused
    expected = _match_target(publisher, wanted, match)
    if not publisher.limited:
        return expected
    minions = sorted(expected.minions)
    # With the minions that are then expected: matched twice, a target may differ.
    if not publisher.allows(wanted.functions, wanted.arguments, minions):
        return Refused(f"{wanted.functions} is not allowed")
    return expected


def drop_unknown(publisher: Publisher, wanted: PublishLoad) -> PublishLoad:
    """The publish of a limited publisher without the keywords that mean nothing to anybody.

    What is not small and simple stays, to be refused, and so does what has a meaning somewhere.
    """
    if not publisher.limited:
        return wanted
    kept = {name: value for name, value in wanted.kwargs.items() if not _is_unknown(name, value)}
    # More than any client sends along; what stays is refused by its name.
    if len(wanted.kwargs) - len(kept) > DROPPED_MOST:
        return wanted
    return replace(wanted, kwargs=kept)


def _is_unknown(name: str, value: object) -> bool:
    known = name in FREE or name in GRANTED or name in MEANINGFUL or name.startswith("_")
    simple = value is None or _is_text(value) or type(value) in (bool, int, float)
    return not known and simple and len(name) <= TEXT_LIMIT


def list_granted_fields(rules: Iterable[object]) -> dict[str, Words]:
    """The fields that an access list gives; an entry in no known form gives none."""
    found: dict[str, Words] = {}
    for rule in rules:
        entries = rule.get(RIGHT) if isinstance(rule, Mapping) else None
        for entry in _as_list(entries):
            for name, words in _read_entry(entry):
                found[name] = _join_words(found.get(name, frozenset()), words)
    return found


def check_types(wanted: PublishLoad) -> None:
    """Ensure that minions would take the job.

    Raises:
        WireError: they would not; the text names the field.
    """
    for name, value in wanted.kwargs.items():
        holds = _TYPES.get(name)
        if holds is not None and value is not None and not holds(value):
            raise WireError(f"{name} has the wrong type")


# --- the form of a limited publish -------------------------------------------------------


def _refuse_form(publisher: Publisher, wanted: PublishLoad) -> Refused | None:
    if len(wanted.functions) > FUNCTIONS_LIMIT or not all(map(valid_function, wanted.functions)):
        return Refused("fun is not the name of a function")
    too_large = _too_large(wanted)
    if too_large:
        return Refused(f"{too_large} is too large", f"{too_large} is too large")
    if _has_pillar_pattern(wanted) and not publisher.reads_pillars():
        return Refused(ONLY_WHOLE, ONLY_WHOLE)
    for name, value in _set_fields(wanted):
        refused = _refuse_field(publisher, name, value)
        if refused is not None:
            return refused
    return None


def _has_pillar_pattern(wanted: PublishLoad) -> bool:
    try:
        return has_pillar_pattern(Target(wanted.tgt, wanted.tgt_type))
    except TargetError:
        return False  # nobody is meant


def _too_large(wanted: PublishLoad) -> str:
    """The name of what exceeds its bound."""
    bounds = (("tgt", wanted.tgt, TARGET_LIMIT_BYTES), ("arg", wanted.arg, ARGUMENTS_LIMIT_BYTES))
    return next((name for name, value, most in bounds if len(pack(value)) > most), "")


def _set_fields(wanted: PublishLoad) -> list[tuple[str, Any]]:
    """What a publish sets besides target, functions and arguments, who asks and his credentials."""
    named = {"ret": wanted.ret, "jid": wanted.jid, "to": wanted.to}
    found = [(name, value) for name, value in named.items() if value not in ("", None)]
    found += [("tgt_type", wanted.tgt_type)]
    found += [(name, value) for name, value in wanted.kwargs.items() if value is not None]
    return [*found, *wanted.extra.items()]


def _refuse_field(publisher: Publisher, name: str, value: object) -> Refused | None:
    check = FREE.get(name)
    if check is not None and check(value):
        return None
    if name not in GRANTED:
        problem = "no such field" if check is None else "it cannot have this value"
        return Refused(f"{name}: {problem}", f"{name}: {problem}")
    if name not in publisher.fields:
        needed = f"{name} needs the right '{RIGHT}: [{name}]'"
        return Refused(needed, f"{needed} in the access list of {publisher.name}")
    words = publisher.fields[name]
    if words is None or _is_made_of(value, words):
        return None
    return Refused(f"{name}: only {', '.join(sorted(words))} is allowed", f"{name} is not allowed")


def _is_made_of(value: object, words: frozenset[str]) -> bool:
    used = _words_of(value)
    return used is not None and used <= words


def _words_of(value: object) -> frozenset[str] | None:
    if isinstance(value, str):
        return frozenset(one.strip() for one in value.split(",") if one.strip())
    if isinstance(value, (list, tuple)) and all(isinstance(one, str) for one in value):
        return frozenset(value)
    return None


def _match_target(
    publisher: Publisher, wanted: PublishLoad, match: Callable[[Target], Expected]
) -> Expected:
    delimiter = wanted.kwargs.get("delimiter")
    target = Target(wanted.tgt, wanted.tgt_type, delimiter if isinstance(delimiter, str) else ":")
    try:
        return match(target)
    # A TargetError too, but one that the caller is told.
    except PatternTooSlow:
        raise
    except TargetError as problem:
        log.info("%s: %s", publisher.name, problem)
        return Expected(problem=str(problem))


# --- the tables --------------------------------------------------------------------------


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and len(value) <= TEXT_LIMIT


def _is_time(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value <= TIME_LIMIT_S


def _is_metadata(value: object) -> bool:
    return _is_map(value) and len(pack(value)) <= METADATA_LIMIT_BYTES


def _is_map(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(one, str) for one in value)


def _is_name_or_names(value: object) -> bool:
    return isinstance(value, str) or _words_of(value) is not None


FREE: Final[Mapping[str, Check]] = {
    "tgt_type": _is_text,
    "to": _is_time,
    "delimiter": lambda value: _is_text(value) and 0 < len(value) <= 8,
    "metadata": _is_metadata,
    "start_event": _is_flag,
    ASKED_AT: is_moment,  # for jobs.trace alone
    FOLLOW: _is_flag,  # a ticket for the job's own returns: master/commands/follow.py
    "cmd": lambda value: value == "mk_token",  # what Salt's own `salt -T` leaves there
    # What clients say of themselves, and nobody else hears:
    "client": _is_text,
    "show_timeout": _is_flag,
    "show_jid": _is_flag,
    "verbose": _is_flag,
    "progress": _is_flag,
    "static": _is_flag,
    "raw": _is_flag,
    "listen": _is_flag,
    "yield_pub_data": _is_flag,
    "full_return": _is_flag,
    "timeout": _is_time,
    "gather_job_timeout": _is_time,
    "output": _is_text,
    "batch": lambda value: _is_text(value) or _is_time(value),
}
"""What anybody who may publish may set. Source: docs/wire.md#clear-commands."""

_TYPES: Final[Mapping[str, Check]] = {
    "metadata": _is_map,
    "ret_kwargs": _is_map,
    "ret_config": lambda value: isinstance(value, str),
    "module_executors": _is_name_or_names,
    "start_event": _is_flag,
    "master_id": lambda value: isinstance(value, str),
}

MEANINGFUL: Final = Job.FORBIDDEN | frozenset(
    ("arg", "auth_list", "eauth", "enc", "error", "expr_form", "form", "fun", "id", "key", "load",
     "load_auth", "minions", "nocache", "password", "pillar_override", "pub", "sig", "sudo_user",
     "syndic", "tgt", "tok", "token", "user", "username")
)  # fmt: skip
"""Names with a meaning in a job, in a request or for the master; nobody sets them in ``kwargs``."""

GRANTED: Final = frozenset(
    ("ret", "ret_config", "ret_kwargs", "module_executors", "executor_opts", "metadata", "jid",
     "master_id")
)  # fmt: skip
"""What a limited publisher may set only with a right; ``metadata`` is also free while small."""


def _as_list(value: object) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _read_entry(entry: object) -> list[tuple[str, Words]]:
    if isinstance(entry, str):
        return [(entry, None)]
    if not isinstance(entry, Mapping):
        return []
    read = [(name, _words_of(words)) for name, words in entry.items() if isinstance(name, str)]
    # None would mean any value: an entry that cannot be read gives nothing instead.
    return [(name, words) for name, words in read if words]


def _join_words(known: Words, words: Words) -> Words:
    return None if known is None or words is None else known | words
