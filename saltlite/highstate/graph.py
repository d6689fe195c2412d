"""Requisites: which chunks they name, and the order in which chunks can run.

The order is the one of the low chunks, but what a chunk needs comes right before it. Chunks are
looked at as ids and edges only. Time is linear in chunks and edges. Source: observed on
Salt 3006.30.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from saltlite.core.dataclasses import dataclass, field
from saltlite.core.lazyregex import regex
from saltlite.highstate.chunk import Chunk
from saltlite.highstate.requisites import LISTEN, PREREQ, PREREQUIRED, SETTLING, Requisite

Edge = tuple[Requisite, str]
"""A kind of requisite, and the tag of a chunk that it names."""

Wanted = tuple[Requisite, list[tuple[tuple[str, Any], list[int]]]]
"""A requisite as it was declared: of each module and name the numbers of the chunks it names."""

Unheard = tuple[str, str, str]
"""Module and name of what listens or is listened to, and is not there; the tag of the chunk that
says so by ``listen_in``, which matters only if it changes, or ``""``."""

READ = (*SETTLING, PREREQUIRED)
"""What names chunks before the run."""

GLOB = regex(r"[*?\[]")
NOT_FOUND = "The following requisites were not found:\n"
RECURSIVE = "Recursive requisite found"


@dataclass(slots=True)
class Ordered:
    """Chunks in the order in which they run.

    ``requisites`` has the edges of each tag, ``listen`` and ``prerequired`` among them.
    ``problems`` are the comments of chunks that cannot run, by tag; their edges are left out.
    ``circles`` names those of them that are about a circle as a path of ids, the first being the
    last.
    """

    low: list[Chunk]
    requisites: dict[str, list[Edge]]
    problems: dict[str, str] = field(default_factory=dict)
    circles: dict[str, list[str]] = field(default_factory=dict)
    unheard: list[Unheard] = field(default_factory=list)


def order(low: Sequence[Chunk], names: Iterable[str] = ()) -> Ordered:
    """The chunks in the order in which they run, and what is wrong with their requisites.

    ``names`` are the SLS that were read; one of them may be required though it has no chunks.
    """
    tags = [chunk.tag for chunk in low]
    found = Requisites(low, names)
    edges = [list(found.of(number)) for number in range(len(low))]
    for number in found.unmet:  # what it was to run before is not to be run without it
        edges[number] = [edge for edge in edges[number] if edge[0] is PREREQ]
    sequence, circles = sort_topologically(_needs_of(edges))
    # It is told its mistake and not run, so nothing of what it names is to be waited for.
    for number in circles:
        edges[number] = []
    requisites = {
        tags[number]: [(kind, tags[other]) for kind, other in edges[number]]
        for number in range(len(low))
    }
    # Not before: to the order both ends of a prereq would be a circle.
    _turn_prereq(requisites)
    # Whoever listens is told when all have run, so this settles no order.
    for listener, other in found.listeners():
        requisites[tags[listener]].append((LISTEN, tags[other]))
    return Ordered(
        [low[number] for number in sequence],
        requisites,
        {tags[number]: RECURSIVE for number in circles}
        | {tags[number]: text for number, text in found.unmet.items()},
        {tags[number]: _ids_of_circle(low, circle) for number, circle in circles.items()},
        list(dict.fromkeys(found.unheard)),
    )


def _turn_prereq(requisites: dict[str, list[Edge]]) -> None:
    turned = [
        (other, tag) for tag, edges in requisites.items() for kind, other in edges if kind is PREREQ
    ]
    for other, tag in turned:
        requisites[other].append((PREREQUIRED, tag))


def _ids_of_circle(low: Sequence[Chunk], circle: Sequence[int]) -> list[str]:
    return [str(low[number].ident) for number in circle]


# --- what requisites name ------------------------------------------------------------------------


class Requisites:
    """What the requisites of chunks name. Chunks are their numbers in the list."""

    def __init__(self, low: Sequence[Chunk], names: Iterable[str] = ()) -> None:
        self._low = low
        self._by: dict[tuple[str, str], list[int]] = {}
        self._read = frozenset(names)
        self._seen: dict[tuple[str, str], list[int]] = {}
        for number, chunk in enumerate(low):
            self._add_name("sls", chunk.sls, number)
            # A set: most have their id for a name, and would be found twice.
            for name in {str(chunk.ident), str(chunk.name)}:
                self._add_name("id", name, number)
                self._add_name(str(chunk.state), name, number)
        self._modules: dict[str, list[tuple[str, list[int]]]] = {}
        for (module, name), numbers in self._by.items():
            self._modules.setdefault(module, []).append((name, numbers))
        self.unheard: list[Unheard] = []
        self._wanted = [[*self._read_requisites(chunk.arguments)] for chunk in low]
        self.unmet = {
            number: text
            for number, wanted in enumerate(self._wanted)
            if (text := _describe_lacking(wanted))
        }

    def of(self, number: int) -> Iterator[tuple[Requisite, int]]:
        """Kind and number of each chunk that the requisites of a chunk name."""
        for kind, wanted in self._wanted[number]:
            if kind is PREREQUIRED:  # the other side of a prereq, which has the edge
                continue
            named = dict.fromkeys(other for _pair, others in wanted for other in others)
            yield from ((kind, other) for other in named)

    def lacking(self, number: int) -> list[tuple[Requisite, str, Any]]:
        """Kind, module and name of what a chunk's requisites name and is not there."""
        return [
            (kind, *pair)
            for kind, pairs in self._wanted[number]
            if not kind.may_lack
            for pair, named in pairs
            if not named
        ]

    def listeners(self) -> Iterator[tuple[int, int]]:
        """Who listens, and to whom; what is not there goes to ``unheard``."""
        for number, chunk in enumerate(self._low):
            for module, name in _listen_items(chunk.arguments.get(LISTEN.name)):
                yield from ((number, other) for other in self._find_listened(module, name, ""))
            for module, name in _listen_items(chunk.arguments.get(LISTEN.inverse)):
                heard = self._find_listened(module, name, chunk.tag)
                yield from ((other, number) for other in heard)

    def _read_requisites(self, arguments: Mapping[str, object]) -> Iterator[Wanted]:
        for kind in READ:
            if kind.name in arguments:
                names = self._read_names(arguments[kind.name])
                yield kind, [(pair, self._find_named(*pair)) for pair in names]

    def _read_names(self, requisite: object) -> Iterator[tuple[str, Any]]:
        """What a requisite names, without SLS that have been read and are empty."""
        for module, name in _requisite_items(requisite):
            if module != "sls" or name not in self._read or self._find_named(module, name):
                yield module, name

    def _find_listened(self, module: str, name: Any, teller: str) -> list[int]:
        """The chunks of this very name: as in Salt globs and SLS are none; of an id the first."""
        if not module:
            return self._by.get(("id", name), [])[:1]
        # Salt looks up state modules alone here, and neither of the two is one.
        found = [] if module in ("id", "sls") else self._by.get((module, str(name)), [])
        if not found:
            self.unheard.append((module, str(name), teller))
        return found

    def _add_name(self, module: str, name: object, number: int) -> None:
        self._by.setdefault((module, str(name)), []).append(number)

    def _find_named(self, module: str, pattern: object) -> list[int]:
        """The chunks of a module whose id or name fits; of an SLS with ``sls``, any with ``id``."""
        if not isinstance(pattern, str) or not GLOB.search(pattern):
            return self._by.get((module, str(pattern)), [])
        # A glob is held against every name of its module, so what it fits is kept for the next.
        kept = self._seen.get((module, pattern))
        if kept is None:
            found = {
                number
                for name, numbers in self._modules.get(module, ())
                if fnmatch.fnmatchcase(name, pattern)
                for number in numbers
            }
            kept = self._seen[module, pattern] = sorted(found)
        return kept


def _describe_lacking(wanted: Sequence[Wanted]) -> str:
    """Salt's sentence about requisites that name nothing; ``""`` if all do."""
    text = ""
    for kind, pairs in wanted:
        lines = "".join(
            f"{'':23}{module}: {name}\n" for (module, name), named in pairs if not named
        )
        if lines and not kind.may_lack:
            text += f"{'':19}{kind.name}:\n{lines}"
    return NOT_FOUND + text if text else ""


def _requisite_items(requisite: object) -> Iterator[tuple[str, Any]]:
    """``[{module: name}, id]`` as pairs; a map's further keys do not count.

    As in Salt a text in place of the list is one of ids of one letter, a map one of its keys.
    """
    for item in requisite if isinstance(requisite, (list, str, Mapping)) else ():
        if isinstance(item, (dict, Mapping)) and item:
            module, name = next(iter(item.items()))
            yield str(module), name
        elif isinstance(item, str):
            yield "id", item


def _listen_items(requisite: object) -> Iterator[tuple[str, Any]]:
    """The same of what is listened to, where all keys of a map count; no module with an id."""
    for item in requisite if isinstance(requisite, (list, str, Mapping)) else ():
        if isinstance(item, Mapping):
            yield from ((str(module), name) for module, name in item.items())
        elif isinstance(item, str):
            yield "", item


# --- order ---------------------------------------------------------------------------------------


def _needs_of(edges: Sequence[Sequence[tuple[Requisite, int]]]) -> list[list[int]]:
    """What each node needs before it.

    A ``prereq`` needs what the other one needs, but comes before it. So for each chunk ``n`` that
    one names there is a node ``n + count`` that stands for its being tried. What both the tried
    one needs and the other one comes before need only have been tried, too.
    """
    count = len(edges)
    needs: list[list[int]] = [[] for _ in range(2 * count)]
    before: dict[int, set[int]] = {}
    for number, own in enumerate(edges):
        for kind, other in own:
            if kind.runs_first:
                before.setdefault(other, set()).add(number)
    for number, own in enumerate(edges):
        for kind, other in own:
            tried = kind.runs_first
            needs[number].append(other + count if tried else other)
            if tried and other != number:
                # The other one must not run before this one has.
                needs[other].append(number)
    for number, own in enumerate(edges):
        firsts = before.get(number, set())
        needs[number + count] = [
            other + count
            if kind.runs_first or not firsts.isdisjoint(before.get(other, ()))
            else other
            for kind, other in own
        ]
    return needs


def sort_topologically(needs: Sequence[Sequence[int]]) -> tuple[list[int], dict[int, list[int]]]:
    """An order of the first half of the nodes in which needs come first, and the circles in it.

    Nodes of the second half stand for others (``n`` for ``n - half``) and are left out of the
    order. Ties keep the order of the numbers. A node that closes a circle comes without its other
    needs; the circle begins and ends with the node that is needed again.
    """
    half = len(needs) // 2
    done = [False] * len(needs)
    walk = _DepthWalk(needs, half)
    order: list[int] = []
    for start in range(half):
        if not done[start]:
            order += walk.visit(start, done)
    return order, walk.circles


class _DepthWalk:
    """A walk into the depth, with a stack of its own: chains may be long."""

    def __init__(self, needs: Sequence[Sequence[int]], half: int) -> None:
        self._needs = needs
        self._half = half
        self.circles: dict[int, list[int]] = {}

    def visit(self, start: int, done: list[bool]) -> list[int]:
        """What is to come up to ``start``, itself the last."""
        order: list[int] = []
        stack: list[tuple[int, Iterator[int]]] = [(start, iter(self._needs[start]))]
        active = {start}
        while stack:
            node, rest = stack[-1]
            other = next((need for need in rest if not done[need]), None)
            if other is not None and other not in active:
                active.add(other)
                stack.append((other, iter(self._needs[other])))
                continue
            if other is not None:
                # It is on the stack already: without leaving it out the walk would never end.
                self._note_circle([entry[0] for entry in stack], other)
            stack.pop()
            active.discard(node)
            done[node] = True
            # The second half stands for states that are tried, and these have no turn of their own.
            if node < self._half:
                order.append(node)
        return order

    def _note_circle(self, path: Sequence[int], again: int) -> None:
        """Note a circle with the last chunk in it."""
        circle = [node % self._half for node in path[path.index(again) :]]
        last = next((node for node in reversed(path) if node < self._half), path[0] % self._half)
        self.circles[last] = [*circle, again % self._half]
