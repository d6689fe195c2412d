"""What an access list allows: the entries of a user, and whether they cover a call. Pure.

One decision for every road: ``publisher_acl``, ``external_auth``, over port 4506 and over HTTP. An
access list is a list of entries::

    - test.*                                  # functions, on every minion
    - web*: [state.apply]                     # functions on the minions of a target
    - 'G@os:Debian':
        - network.ping: {args: ['10[.].*'], kwargs: {count: '[1-5]'}}
    - '@runner'                               # all runners
    - '@wheel': [key.list_all]                # some wheel functions
    - '@jobs'                                 # all functions of the runner and wheel module jobs

Whatever is not understood allows nothing, and an expression must fit the whole name. Source: Salt's
pages on access control and external authentication; docs/access.md.
"""

from __future__ import annotations

import fnmatch
import logging
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from saltlite.core.dataclasses import dataclass, field
from saltlite.core.patterns import fits_whole
from saltlite.errors import PatternTooSlow, TargetError

log = logging.getLogger(__name__)

# Without it a client cannot learn whether a minion that is silent is still at work.
ALWAYS_ALLOWED: Final = "saltutil.find_job"
"""Anybody who is authenticated may ask this."""

EVERYBODY: Final = "*"
GROUP_SIGN: Final = "%"
SETTING_SIGN: Final = "^"

NAME_LIMIT: Final = 256
GROUPS_LIMIT: Final = 10_000

Entries: TypeAlias = Sequence[Any]
Matching: TypeAlias = Callable[[str], set[str]]
"""The minions of a compound target that stands in a list."""


@dataclass(frozen=True, slots=True)
class Call:
    """One function of a job with its own arguments.

    ``ambiguous``: a minion may take an argument for a keyword, so that the others are not what we
    see; then no expression for arguments fits.
    """

    function: str
    args: Sequence[Any] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    ambiguous: bool = False


# --- whose entries -----------------------------------------------------------------------


def valid_login_name(name: object) -> bool:
    """Whether this may be the name of somebody who logs in: printable, and not endless."""
    return isinstance(name, str) and 0 < len(name) <= NAME_LIMIT and name.isprintable()


def name_key(name: str) -> str:
    """One key for all spellings of a name: directories, and some hosts, take them for one user.

    Source: RFC 4518, 2; the matching of names in LDAP.
    """
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def user_entries(
    block: Any,
    name: str,
    groups: Collection[str] = (),
    *,
    permissive: bool = False,
    is_named: bool = False,
) -> list[Any]:
    """The entries that a block of ``external_auth`` has for a user; none of a block with a fault.

    The entry ``*`` is for those whose name no other entry has, or with ``permissive`` for all. An
    entry that has the name in another spelling gives nothing, and takes ``*`` away: many modules
    let in ``Anna`` for ``anna``, who is not to choose her rights by that.
    ``is_named``: something else names the user already.
    """
    # A block that is only partly understood could be meant to forbid what it grants here.
    if find_fault(block):
        return []
    found: list[Any] = []
    own_key = name_key(name)
    for key, entries in block.items():
        # Without ``permissive`` the entry ``*`` waits until all other names have been looked at.
        if key.startswith(SETTING_SIGN) or (key == EVERYBODY and not permissive):
            continue
        if key.endswith(GROUP_SIGN):
            found += entries if key.removesuffix(GROUP_SIGN) in groups else []
        elif key in (name, EVERYBODY):
            found += entries
        is_user = key != EVERYBODY and not key.endswith(GROUP_SIGN)
        is_named = is_named or (is_user and name_key(key) == own_key)
    if not is_named and not permissive:
        found += block.get(EVERYBODY, [])
    return found


def list_permissions(
    config: Mapping[str, object],
    eauth: str,
    name: str,
    groups: Collection[str] = (),
    more: Entries = (),
    *,
    permissive: bool = False,
) -> list[Any] | dict[str, Any]:
    """What a login is told that it may do, as salt-api shows it: texts sorted, then maps.

    ``config`` is ``external_auth``; ``more`` are entries that come from elsewhere. Just what is
    granted; ``{}`` if that is nothing.
    """
    granted = [*user_entries(config.get(eauth), name, groups, permissive=permissive), *more]
    texts = sorted({one for one in granted if isinstance(one, str)})
    # Maps have no order and no hash: their text stands for them.
    maps = {str(one): one for one in granted if isinstance(one, Mapping)}
    shown = [*texts, *(maps[text] for text in sorted(maps))]
    return shown or {}


def find_fault(block: object) -> str:
    """What is wrong with a block of ``external_auth``, with its place; ``""`` if nothing is."""
    if not isinstance(block, Mapping):
        return f"found {_describe_value(block)}, allowed: map of users"
    for key, entries in block.items():
        if not isinstance(key, str):
            return f"{key!r}: found {_describe_value(key)}, allowed: the name of a user in quotes"
        # Settings such as ``^model`` are of their module, in any form.
        fault = "" if key.startswith(SETTING_SIGN) else find_fault_in_entries(entries)
        if fault:
            return f"{key}: {fault}"
    return ""


def find_fault_in_entries(entries: object) -> str:
    """What is wrong with an access list; ``""`` if nothing is."""
    if not isinstance(entries, (list, tuple)):
        return f"found {_describe_value(entries)}, allowed: list"
    return next(filter(None, map(_find_fault_in_entry, entries)), "")


def _find_fault_in_entry(entry: object) -> str:
    if isinstance(entry, str):
        return _find_fault_in_expression(entry)
    if not isinstance(entry, Mapping) or len(entry) != 1:
        return f"found {entry!r:.80}, allowed: text, or map of one target"
    target, functions = next(iter(entry.items()))
    if not isinstance(target, str):
        return f"found {target!r:.80}, allowed: target in quotes"
    if target == "@publish":  # the fields of a publish, which have a form of their own
        return ""
    for one in _as_list(functions):
        fault = _find_fault_in_function(one)
        if fault:
            return f"{target}: {fault}"
    return ""


def _find_fault_in_function(function: object) -> str:
    if isinstance(function, str):
        return _find_fault_in_expression(function)
    if not isinstance(function, Mapping) or not all(isinstance(one, str) for one in function):
        return f"found {function!r:.80}, allowed: function, or map of one"
    for name, wanted in function.items():
        if not all(_is_restriction(one) for one in _as_list(wanted)):
            return f"{name}: found {wanted!r:.80}, allowed: map of args and kwargs"
    return ""


def _find_fault_in_expression(expression: str) -> str:
    if _is_glob(expression):
        return ""
    try:
        # Only compiled: the empty text is matched at once.
        fits_whole(expression, "")
    except PatternTooSlow:
        # It is an expression, and what is slow is refused when it is matched.
        return ""
    except TargetError as error:
        return str(error)
    return ""


def _describe_value(value: object) -> str:
    return f"{value!r:.80} ({type(value).__name__})"


# --- what they allow ---------------------------------------------------------------------


def allows_all(
    entries: Entries, calls: Iterable[Call], minions: Collection[str], matching: Matching
) -> bool:
    """Whether the entries cover each of ``calls`` on all of ``minions``."""
    # Once for all functions of a job, which may be a hundred.
    wanted = set(minions)
    return all(
        call.function == ALWAYS_ALLOWED or _is_granted(entries, call, wanted, matching)
        for call in calls
    )


def allows_run(entries: Entries, kind: str, call: Call) -> bool:
    """Whether the entries cover a ``runner`` or ``wheel`` function."""
    module, _, name = call.function.partition(".")
    # Exactly two parts: ``@jobs`` is not to allow a function of a deeper name.
    if not module or not name or "." in name:
        return False
    return any(_grants_run(entry, kind, module, call) for entry in entries)


def expression_fits(expression: str, text: str) -> bool:
    """Whether a rule's expression names ``text``: literally, as a glob, or as a whole expression.

    A broken expression names nothing, nor does one that takes too long.
    """
    # A name with brackets in it still means itself.
    if expression == text or fnmatch.fnmatchcase(text, expression):
        return True
    try:
        return fits_whole(expression, text)
    except TargetError as error:
        log.error("An expression allows nothing: %s", error)
        return False


def expression_may_fit(expression: str, text: str) -> bool:
    """Whether an expression that forbids names ``text``; one that takes too long forbids."""
    if expression == text or fnmatch.fnmatchcase(text, expression):
        return True
    try:
        return fits_whole(expression, text)
    # The other way round than for what allows: if in doubt, no.
    except PatternTooSlow as error:
        log.error("publisher_acl_blacklist: %s, so it is forbidden", error)
        return True
    except TargetError as error:
        log.error("publisher_acl_blacklist: %s", error)
        return False


def _is_glob(expression: str) -> bool:
    """Whether this is a glob that an expression of the same letters would not say wider.

    ``[^r]*`` means something else to each of them, so what has brackets is an expression.
    """
    return "[" not in expression and ("*" in expression or "?" in expression)


def _function_fits(expression: str, function: str) -> bool:
    """Whether an expression names a function."""
    if expression == function:
        return True
    # Case matters: ``fnmatch`` itself would fold it on some systems.
    if _is_glob(expression) and fnmatch.fnmatchcase(function, expression):
        return True
    try:
        return fits_whole(expression, function)
    except TargetError as error:
        # ``*.ping`` is a glob and no expression, which is no fault.
        if not _is_glob(expression):
            log.error("An expression allows nothing: %s", error)
        return False


def _is_granted(entries: Entries, call: Call, minions: set[str], matching: Matching) -> bool:
    """Whether an entry covers the function on all minions; one in no known form covers nothing."""
    for target, function in _entry_functions(entries):
        if target is None:
            if _rule_covers(function, call):
                return True
        # The target last: it is matched against all minions. Nobody is not "all of them".
        elif _rule_covers(function, call) and minions and minions <= matching(target):
            return True
    return False


def _entry_functions(entries: Entries) -> Iterator[tuple[str | None, Any]]:
    """Each function with its target, ``None`` for everywhere. Targets with ``@`` are no targets."""
    for entry in entries:
        if isinstance(entry, str):
            yield None, entry
        elif isinstance(entry, Mapping):
            for target, functions in entry.items():
                # ``@runner`` and the like are not for jobs on minions.
                if not str(target).startswith("@"):
                    yield from ((str(target), one) for one in _as_list(functions))


def _rule_covers(rule: object, call: Call) -> bool:
    """Whether one function of an entry covers the call.

    It is an expression, or a map from expressions to what the arguments have to be:
    ``{"test.echo": {"args": ["a.*"], "kwargs": {"name": "b.*"}}}``.
    """
    return _names_as(rule, call.function, call)


def _names_as(rule: object, function: str, call: Call) -> bool:
    if isinstance(rule, str):
        return _function_fits(rule, function)
    if not isinstance(rule, Mapping):
        return False
    return any(
        # A number as a name is a slip in YAML, and allows nothing.
        isinstance(name, str) and _function_fits(name, function) and _arguments_fit(wanted, call)
        for name, wanted in rule.items()
    )


def _is_restriction(wanted: object) -> bool:
    if not isinstance(wanted, Mapping) or set(wanted) - {"args", "kwargs"}:
        return False
    args, kwargs = wanted.get("args") or [], wanted.get("kwargs") or {}
    return isinstance(args, (list, tuple)) and isinstance(kwargs, Mapping)


def _arguments_fit(wanted: object, call: Call) -> bool:
    """Whether the arguments are as one of the restrictions says; a malformed one fits nothing."""
    restrictions = wanted if isinstance(wanted, (list, tuple)) else [wanted]
    return any(_fits_restriction(one, call) for one in restrictions)


def _fits_restriction(wanted: Any, call: Call) -> bool:
    """Whether each argument that is restricted is there and fits."""
    if not _is_restriction(wanted) or call.ambiguous:
        return False
    args, kwargs = wanted.get("args") or [], wanted.get("kwargs") or {}
    # What is restricted has to be there: a default might be what the rule is against.
    if len(args) > len(call.args) or any(name not in call.kwargs for name in kwargs):
        return False
    # Arguments beyond those that the rule names are free.
    pairs = [*zip(args, call.args, strict=False)]
    pairs += [(pattern, call.kwargs[name]) for name, pattern in kwargs.items()]
    return all(_value_fits(pattern, value) for pattern, value in pairs)


def _value_fits(pattern: object, value: object) -> bool:
    # ``None`` keeps the place of an argument that may be anything.
    if pattern is None:
        return True
    text = value if isinstance(value, str) else str(value)
    try:
        return fits_whole(str(pattern), text)
    except TargetError as error:
        log.error("An expression allows nothing: %s", error)
        return False


def _grants_run(entry: object, kind: str, module: str, call: Call) -> bool:
    """Whether one entry covers a runner or wheel function."""
    if isinstance(entry, str):
        return entry in (f"@{kind}", f"@{kind}s", f"@{module}")
    if not isinstance(entry, Mapping):
        return False
    for name, functions in entry.items():
        if name in (f"@{kind}", f"@{kind}s"):
            wanted = call.function
        # Below ``@jobs`` stand the names without the module.
        elif name == f"@{module}":
            wanted = call.function.partition(".")[2]
        else:
            continue
        if any(_names_as(one, wanted, call) for one in _as_list(functions)):
            return True
    return False


def _as_list(value: object) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]
