"""The machine as it is, as an SLS that changes nothing on it.

Each declaration is tried before it is shown, as a test run would: what would not be found as it is
declared is left out, with a line that says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.errors import FunctionError, SaltliteError
from saltlite.modules._resource.kinds import HOMES, find_type
from saltlite.modules._resource.listed import Ask, Found, LeftOut, ListedType, StateDeclaration

OUTPUTTERS = {"show": "newline_values_only", "list": "newline_values_only"}

LIMIT = 1000
"""How many resources are listed unless the call says otherwise."""

MOST = 100_000
"""What a call may say at most."""


def types() -> list[str]:
    """The types that ``resource.show`` and ``resource.list`` know.

    CLI Example:

        salt '*' resource.types
    """
    return sorted(HOMES)


def show(ctx: MinionContext, type: str, *names: object, secrets: bool = False) -> str:
    """Resources of a type as they are now, as an SLS: what it declares is what is there.

    ``names`` are those of the type: users, services, paths. Hashes of passwords, and contents of
    files that not everybody may read, are shown only with ``secrets``. The SLS is plain YAML.

    CLI Example:

        salt-call --local resource.show user alice > alice.sls
        salt '*' resource.show file /etc/motd
    """
    kind = find_type(str(type))
    wanted = [str(name) for name in names]
    if not wanted:
        raise FunctionError(f"name: say which {type}; resource.list {type} shows all")
    found = list(kind.declare(ctx, Ask(wanted, bool(secrets))))
    there = {name for each in found for name in _names_of(each)}
    missing = [name for name in wanted if name not in there]
    if missing:
        raise FunctionError(_say_missing(ctx, str(type), kind, missing))
    return _write_sls(ctx, f"resource.show {type} {' '.join(wanted)}", str(type), found)


def list_(
    ctx: MinionContext,
    type: str,
    pattern: object = "*",
    limit: object = LIMIT,
    secrets: bool = False,
) -> str:
    """All resources of a type, or those whose names fit a glob, as they are now: as an SLS.

    Of the types ``file``, ``git`` and ``virtualenv`` it is the directory to look in, or a glob of
    paths. With more than ``limit`` of them none is shown. ``secrets`` is as in ``resource.show``.

    CLI Example:

        salt-call --local resource.list service 'ssh*'
        salt '*' resource.list user limit=5000
        salt '*' resource.list file /etc/ssh
    """
    kind = find_type(str(type))
    most = _parse_limit(limit)
    asked = str(pattern)
    if kind.by_path and not asked.startswith("/"):
        raise FunctionError(f"pattern: of {type}, say the directory to look in, or a glob of paths")
    names = list(kind.names(ctx, asked))
    if not names:
        raise FunctionError(f"{type}: there is none that fits {asked!r}")
    if len(names) > most:
        raise FunctionError(
            f"limit: {len(names)} of {type} fit {asked!r}, {most} may; say a narrower pattern, or"
            f" limit={len(names)}"
        )
    found = list(kind.declare(ctx, Ask(names, bool(secrets))))
    if not found:
        raise FunctionError(f"{type}: there is none that fits {asked!r}")
    return _write_sls(ctx, f"resource.list {type} {asked}", str(type), found)


def _parse_limit(limit: object) -> int:
    text = str(limit)
    if isinstance(limit, bool) or not text.isdecimal() or not 1 <= int(text) <= MOST:
        raise FunctionError(f"limit: {limit!r} is no whole number from 1 to {MOST}")
    return int(text)


def _say_missing(ctx: MinionContext, type: str, kind: ListedType, missing: Sequence[str]) -> str:
    """The sentence about names that are not there; one that is near, where the type lists all."""
    from difflib import get_close_matches

    said = f"{type}: not there: {', '.join(missing)}"
    near = [] if kind.by_path else get_close_matches(missing[0], list(kind.names(ctx, "*")), n=1)
    return f"{said}; did you mean {near[0]}?" if near else said


def _names_of(found: Found) -> list[str]:
    also = found.also if isinstance(found, StateDeclaration) else ()
    return [found.of, *also]


def _write_sls(ctx: MinionContext, command: str, type: str, found: Iterable[Found]) -> str:
    """The text: first what was asked and what is left out, as comments.

    Its first line names the renderer: what stands in a file or a comment is no template.
    """
    body: dict[str, Any] = {}
    left: list[LeftOut] = []
    for each in found:
        why = each.why if isinstance(each, LeftOut) else _find_deviation(ctx, each)
        if why or isinstance(each, LeftOut):
            left.append(LeftOut(each.of, why))
            continue
        arguments = [{"name": each.name}, *({key: each.arguments[key]} for key in each.arguments)]
        body[each.ident or f"{type} {each.of}"] = {each.fun: arguments}
    comments = [f"{command} on {ctx.config.identity.id}"]
    comments += [f"left out: {type} {each.of}: {each.why}" for each in left]
    lines = ["#!yaml", *(f"# {_as_line(text)}" for text in comments)]
    return "\n".join([*lines, _dump_states(body)]).rstrip("\n")


def _dump_states(body: dict[str, Any]) -> str:
    from saltlite.config.yaml import LONG_LINE, dump

    if not body:
        return ""
    text = dump(body, sort_keys=False, width=LONG_LINE)
    # What a terminal must not be sent would not be printed as it is.
    if not text.replace("\n", "").isprintable():
        text = dump(body, sort_keys=False, width=LONG_LINE, allow_unicode=False)
    return text


def _as_line(text: str) -> str:
    """Text for a comment: on one line, of signs that can be seen."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())


def _find_deviation(ctx: MinionContext, declared: StateDeclaration) -> str:
    """What a test run would find to do; nothing if things are as declared."""
    from saltlite.highstate.resource import Verdict, realise
    from saltlite.loader.states import resolve

    try:
        function = resolve(declared.fun, ctx)
        # A user's own state acts when it is called; only an SLS may do that.
        if function.is_users:
            return ""
        verdict = realise(function.call(name=declared.name, **declared.arguments), ctx, test=True)
    except SaltliteError as error:
        return f"{declared.fun} {error}"
    if not isinstance(verdict, Verdict) or (verdict.result is True and not verdict.changes):
        return ""
    return f"{declared.fun} would find: {verdict.comment or dict(verdict.changes)}"
