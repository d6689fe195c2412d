"""How two sets of states differ: of two environments, of two branches, of two minions.

A state of one is held against the one of the other that has the same module, ID and name. What the
two say of the same thing are its arguments; where it stands among the others is told apart from
them, and in which SLS and environment it was written does not count. Nothing here looks at a
machine.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from saltlite.core.dataclasses import dataclass, field
from saltlite.highstate.chunk import ABSENT, Chunk
from saltlite.highstate.graph import order

FUNCTION = "fun"
"""Under which name a change of the function itself is told; no argument can be called so."""


class StateKey(NamedTuple):
    """Which state it is; ``number`` tells those apart that have all the rest in common."""

    state: str
    ident: str
    name: str
    number: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """One call of a state function, as far as it counts for what is done."""

    key: StateKey
    fun: str
    arguments: Mapping[str, Any]
    sls: str = field(default="", compare=False)

    @property
    def tag(self) -> str:
        """The key of its return: ``file_|-id_|-name_|-managed``."""
        return f"{self.key.state}_|-{self.key.ident}_|-{self.key.name}_|-{self.fun}"

    def says(self) -> dict[str, Any]:
        """Its arguments, and which function they are for."""
        return {FUNCTION: self.fun, **self.arguments}


@dataclass(frozen=True, slots=True)
class Placed:
    """A state, and the one before it in the second run; ``None``: it is the first."""

    key: StateKey
    after: StateKey | None


@dataclass(frozen=True, slots=True)
class Changed:
    """A state that both have: by argument what the first and the second say.

    ``ABSENT`` stands for what one of them does not say.
    """

    key: StateKey
    arguments: Mapping[str, tuple[Any, Any]]


@dataclass(frozen=True, slots=True)
class Differences:
    """All that has to be known to get from the first run to the second.

    ``added`` are in the order of the second run. ``placed`` says where those stand, and which of
    those that both have stand elsewhere among the ones that both have: as few as can be.
    """

    added: Sequence[Declaration] = ()
    removed: Sequence[Declaration] = ()
    changed: Sequence[Changed] = ()
    placed: Sequence[Placed] = ()

    def as_answer(self, old: Sequence[Declaration], new: Sequence[Declaration]) -> dict[str, Any]:
        """The form in which ``state.diff`` gives them, by tag; ``old`` and ``new`` were compared.

        A state whose function changed has the tag of the second run.
        """
        tags = {one.key: one.tag for one in (*old, *new)}
        added = {one.key for one in self.added}
        return {
            "added": {one.tag: _describe(one) for one in self.added},
            "removed": {one.tag: _describe(one) for one in self.removed},
            "changed": {
                tags[one.key]: {name: _describe_pair(*pair) for name, pair in one.arguments.items()}
                for one in self.changed
            },
            "moved": {
                tags[one.key]: {"after": None if one.after is None else tags[one.after]}
                for one in self.placed
                if one.key not in added
            },
        }


def _describe(one: Declaration) -> dict[str, Any]:
    return {"sls": one.sls, **one.arguments}


def _describe_pair(old: Any, new: Any) -> dict[str, Any]:
    pair = {"old": old, "new": new}
    return {which: value for which, value in pair.items() if value is not ABSENT}


def declarations_of(low: Iterable[Chunk]) -> list[Declaration]:
    """What chunks declare, in the order in which they would run."""
    chunks = list(low)
    names = dict.fromkeys(str(chunk.sls) for chunk in chunks if chunk.sls is not None)
    counts: Counter[StateKey] = Counter()
    found = []
    for chunk in order(chunks, names).low:
        key = StateKey(chunk.state, str(chunk.ident), str(chunk.name))
        counts[key] += 1
        # The number to which the order came is another one as soon as a state is added before it.
        arguments = {name: value for name, value in chunk.arguments.items() if name != "order"}
        found.append(
            Declaration(
                key=key._replace(number=counts[key] - 1),
                fun=chunk.fun,
                arguments=arguments,
                sls=str(chunk.sls or ""),
            )
        )
    return found


def compare(old: Sequence[Declaration], new: Sequence[Declaration]) -> Differences:
    """What would have to be done to ``old`` to get ``new``. Keys are unique in each.

    Takes n log n steps for n states.
    """
    before = {one.key: one for one in old}
    after = {one.key: one for one in new}
    pairs = ((before[key], one) for key, one in after.items() if key in before)
    kept = _find_unmoved([key for key in before if key in after], list(after))
    keys = list(after)
    return Differences(
        added=[one for key, one in after.items() if key not in before],
        removed=[one for key, one in before.items() if key not in after],
        changed=[
            Changed(there.key, said) for there, one in pairs if (said := _compare_one(there, one))
        ],
        placed=[
            Placed(key, keys[place - 1] if place else None)
            for place, key in enumerate(keys)
            if key not in kept
        ],
    )


def apply(found: Differences, old: Sequence[Declaration]) -> list[Declaration]:
    """``new``, of what :func:`compare` found about ``old`` and ``new``."""
    there = {one.key: one for one in (*old, *found.added)}
    for change in found.changed:
        there[change.key] = _apply_one(there[change.key], change)
    gone = {one.key for one in found.removed} | {one.key for one in found.placed}
    keys: list[StateKey] = [one.key for one in old if one.key not in gone]
    places = {one.after: one.key for one in found.placed}
    sequence: list[StateKey] = []
    # Each that is placed may itself be what the next one stands behind.
    for key in (None, *keys):
        here: StateKey | None = key
        if here is not None:
            sequence.append(here)
        while (here := places.get(here)) is not None:
            sequence.append(here)
    return [there[key] for key in sequence]


def _compare_one(old: Declaration, new: Declaration) -> dict[str, tuple[Any, Any]]:
    one, other = old.says(), new.says()
    return {
        name: (one.get(name, ABSENT), other.get(name, ABSENT))
        for name in dict.fromkeys([*one, *other])
        if not _is_same(one.get(name, ABSENT), other.get(name, ABSENT))
    }


def _is_same(one: Any, other: Any) -> bool:
    """As ``==``, but 1 and ``True`` are two things, and so are ``1`` and ``1.0``."""
    if type(one) is not type(other):
        # Of the many kinds of maps and lists only the values count.
        kinds = next((kind for kind in (Mapping, list) if isinstance(one, kind)), None)
        if kinds is None or not isinstance(other, kinds):
            return False
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and all(_is_same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(_is_same, one, other))
    return bool(one == other)


def _apply_one(old: Declaration, change: Changed) -> Declaration:
    said = old.says()
    for name, (_old, new) in change.arguments.items():
        if new is ABSENT:
            del said[name]
        else:
            said[name] = new
    return Declaration(key=old.key, fun=said.pop(FUNCTION), arguments=said, sls=old.sls)


def _find_unmoved(old: Sequence[StateKey], new: Sequence[StateKey]) -> set[StateKey]:
    """The longest run of keys that stand in both in the same order: patience sorting."""
    places = {key: place for place, key in enumerate(old)}
    common = [key for key in new if key in places]
    ends: list[int] = []  # the smallest place at which a run of each length ends
    last: list[int] = []  # and the number in ``common`` of that end
    before: list[int] = []
    for number, key in enumerate(common):
        length = bisect_left(ends, places[key])
        before.append(last[length - 1] if length else -1)
        ends[length : length + 1] = [places[key]]
        last[length : length + 1] = [number]
    found: set[StateKey] = set()
    number = last[-1] if last else -1
    while number >= 0:
        found.add(common[number])
        number = before[number]
    return found
