"""What a type says of itself: which of it there are, and how each would be declared."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class StateDeclaration:
    """A call of a state function that finds things as they are.

    ``of`` is the name that was asked for, ``also`` are others that it stands for too. ``ident`` is
    the ID it gets in the SLS, where one name comes to several declarations; without one it is the
    type and the name.
    """

    of: str
    fun: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    ident: str = ""
    also: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something that is there and is not declared, and why."""

    of: str
    why: str


Found = StateDeclaration | LeftOut


@dataclass(frozen=True, slots=True)
class Ask:
    """What is asked for: names that the type has listed, and whether secrets may be shown."""

    names: Sequence[str]
    secrets: bool = False


@dataclass(frozen=True, slots=True)
class ListedType:
    """A type.

    ``names`` gives those that fit a glob; of a type ``by_path`` it is the path of a directory to
    look in, or a glob of paths. ``declare`` looks at the machine once for all that is asked for; a
    name that it says nothing about is not there. Both raise SaltliteError.
    """

    names: Callable[[MinionContext, str], Iterable[str]]
    declare: Callable[[MinionContext, Ask], Iterator[Found]]
    by_path: bool = False


def pick_names(names: Iterable[str], pattern: str) -> list[str]:
    """Those that fit a glob, each once, sorted."""
    return sorted({name for name in names if fnmatch.fnmatchcase(name, pattern)})


def declare_each(
    fun: str, ask: Ask, there: Mapping[str, Mapping[str, Any]]
) -> Iterator[StateDeclaration]:
    """What is asked for of what is there, each by its own name and with its arguments."""
    for name in ask.names:
        if name in there:
            yield StateDeclaration(of=name, fun=fun, name=name, arguments=there[name])


def declare_together(type: str, named: Sequence[str], said: Mapping[str, Any]) -> Iterator[Found]:
    """One ``installed`` for all of them, if there is any: each of its own would ask anew."""
    for first in named[:1]:
        yield StateDeclaration(
            of=first,
            fun=f"{type}.installed",
            name="packages",
            arguments=said,
            ident=f"{type} packages",
            also=named[1:],
        )
