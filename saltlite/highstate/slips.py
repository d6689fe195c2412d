"""Misspelt functions and arguments of declarations: what was probably meant, and on which line.

Called where something is wrong already, or where a function that takes any keyword is given one
that is none of its own; so a sound declaration costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, Final

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.errors import SaltliteError
from saltlite.fileserver.client import file_client
from saltlite.highstate.chunk import Chunk
from saltlite.highstate.locations import SALT, Places
from saltlite.highstate.sls import StateTree
from saltlite.loader.catalogue import STATES
from saltlite.loader.states import functions

PASS_KEYWORDS_ON: Final = frozenset(
    {
        *("beacon", "docker_container", "docker_image", "docker_network", "event", "http"),
        *("iptables", "module", "mysql_database", "mysql_grants", "mysql_user", "network", "salt"),
        *("schedule", "stateconf", "x509"),
    }
)
"""State modules whose ``**kwargs`` are data, or arguments of something else: any may be meant."""

ALIKE: Final = 0.75
"""How like another name a name must be for that one to be offered."""

_SHORTEST: Final = 4
_SHORTEST_FOR_CUSTOM: Final = 5
"""Letters of an argument that a slip of one letter is looked for in; more where the function is
the user's, whose ``**kwargs`` may be anything."""

_PLACES: Final = "places of declarations"


@dataclass(frozen=True, slots=True)
class Slip:
    """An argument that was taken although it is none, and what was probably meant."""

    given: str
    meant: str


def find_slips(
    stray: Iterable[str],
    chunk: Chunk,
    taken: frozenset[str],
    own: frozenset[str],
    *,
    is_custom: bool,
) -> list[Slip]:
    """Those of the stray arguments of a function that takes any that are surely misspelt.

    ``taken`` are the arguments that it names, ``own`` those of the engine, which may be meant too.
    """
    if chunk.state in PASS_KEYWORDS_ON:
        return []
    found = ((key, _find_meant(key, taken, own, is_custom=is_custom)) for key in stray)
    return [Slip(key, meant) for key, meant in found if meant is not None]


# Remembered: a tree may give a thousand states the same argument that its function passes over.
@lru_cache(maxsize=1024)
def _find_meant(
    key: str, taken: frozenset[str], own: frozenset[str], *, is_custom: bool
) -> str | None:
    shortest = _SHORTEST_FOR_CUSTOM if is_custom else _SHORTEST
    for other in sorted(taken | own):
        # A custom function may well take ``create`` beside the engine's ``creates``.
        if is_custom and f"{key}s" == other and not key.endswith("s"):
            continue
        if len(other) >= shortest and key[:1] == other[:1] and is_one_slip(key, other):
            return other
        if len(other) >= _SHORTEST - 1 and _is_swap(key, other):
            return other
    return None


def is_one_slip(one: str, other: str) -> bool:
    """Whether two words differ by one letter: another one, one more, or two that are swapped."""
    if one == other or abs(len(one) - len(other)) > 1:
        return False
    if len(one) == len(other):
        unlike = sum(a != b for a, b in zip(one, other, strict=True))
        return unlike == 1 or _is_swap(one, other)
    short, long = sorted((one, other), key=len)
    return any(long[:at] + long[at + 1 :] == short for at in range(len(long)))


def _is_swap(one: str, other: str) -> bool:
    if len(one) != len(other):
        return False
    at = next((n for n in range(len(one)) if one[n] != other[n]), len(one))
    return (
        one[at + 2 :] == other[at + 2 :]
        and one[at : at + 2] == other[at : at + 2][::-1]
        and one != other
    )


def suggest_nearest(wanted: str, known: Iterable[str], cutoff: float = ALIKE) -> str:
    """``; did you mean 'x'?``, or nothing where no name is like it."""
    from difflib import get_close_matches

    close = get_close_matches(wanted, list(known), n=1, cutoff=cutoff)
    return f"; did you mean '{close[0]}'?" if close else ""


def suggest_function(ctx: MinionContext, wanted: str) -> str:
    """The same for the name of a state function; only modules that may be meant are imported."""
    from difflib import get_close_matches

    custom = _list_custom_functions(ctx)
    module, _, function = wanted.partition(".")
    prefix = f"{module}."
    own = [*functions(module), *(name[len(prefix) :] for name in custom if name.startswith(prefix))]
    if own:
        # The module is right: it is not to make up for a function that is unlike.
        close = get_close_matches(function, own, n=1, cutoff=ALIKE)
        return f"; did you mean '{prefix}{close[0]}'?" if close else ""
    near = get_close_matches(module, list(STATES), n=3, cutoff=0.6)
    return suggest_nearest(wanted, [f"{e}.{n}" for e in near for n in functions(e)] + custom)


def _list_custom_functions(ctx: MinionContext) -> list[str]:
    from saltlite.loader.surroundings import surroundings

    return surroundings(ctx).modules("states").names()


def locate(ctx: MinionContext, chunk: Chunk, argument: str = "") -> str:
    """``salt://a.sls:7``, where an argument stands, or without one the declaration's function.

    Empty if that is not known.
    """
    if chunk.sls is None:
        return ""
    try:
        # Kept for the job: a file may have a slip in each of a hundred declarations.
        places: Any = ctx.state.get(_PLACES)
        if places is None:
            places = ctx.state[_PLACES] = Places(StateTree(file_client(ctx)))
        path, line = places.of(chunk, argument) if argument else places.of_function(chunk)
    except (OSError, SaltliteError):  # the master is away: what is wrong is told without a place
        return ""
    if not path:
        return ""
    return f"{SALT}{path}:{line}" if line else f"{SALT}{path}"


def join_hint(place: str, hint: str) -> str:
    """``salt://a.sls:7: did you mean 'x'?``, as much of it as is known."""
    return f"{place}: {hint.removeprefix('; ')}" if place and hint else place or hint[2:]


def describe_slips(ctx: MinionContext, chunk: Chunk, slips: Iterable[Slip]) -> Iterator[str]:
    """A line for each argument that is misspelt."""
    for slip in slips:
        place = locate(ctx, chunk, slip.given)
        text = f"'{slip.given}' is no argument of {chunk.function}; did you mean '{slip.meant}'?"
        yield f"{place}: {text}" if place else text
