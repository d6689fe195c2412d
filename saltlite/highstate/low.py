"""From high data to low chunks, numbered, in the order in which they stand in the files. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from saltlite.highstate.chunk import Chunk
from saltlite.highstate.sls import runs

Low = dict[str, Any]
"""A chunk while it is put together, in Salt's form."""

LAST = 1_000_000
"""Added to the numbers of states that shall come last."""

GAP = 100
"""Between the numbers and states without one."""

NAME_STEP = 10_000
"""A state may have so many ``names`` before one gets into the next state's place."""


def low_of(high: Mapping[Any, Any]) -> list[Chunk]:
    """The chunks of high data, in order."""
    return sort_chunks(
        [chunk for ident, body in high.items() for chunk in _split_body(ident, body)]
    )


def sort_chunks(chunks: list[Chunk]) -> list[Chunk]:
    """The same chunks, ``order`` a number in each, sorted by it, then module, name, function."""
    behind = _last_order(chunks)
    for chunk in chunks:
        chunk.order = _order_of(chunk.arguments, behind)
    # The names settle ties as in Salt: states of one number would else keep the order of the files.
    return sorted(chunks, key=lambda chunk: (chunk.order, f"{chunk.state}{chunk.name}{chunk.fun}"))


def _last_order(chunks: Sequence[Chunk]) -> int:
    """The place of states without a number: ``GAP`` behind the last number that reached so far.

    So in Salt, where a number within the gap does not move it on.
    """
    behind = 1
    for chunk in chunks:
        order = chunk.arguments.get("order")
        # bool is a kind of int, and no place.
        if isinstance(order, int) and not isinstance(order, bool) and order >= behind:
            behind = order + GAP
    return behind


def _order_of(arguments: Low, behind: int) -> float:
    """The place that arguments ask for; ``behind`` is that of a chunk without a number."""
    order = arguments.get("order")
    if order is None:
        return behind
    if order == "last":
        order = behind + LAST
    elif order == "first":
        order = 0
    elif not isinstance(order, (int, float)):
        order = behind
    elif order < 0:
        # Negative ones count from the end.
        order = behind + LAST + order
    if "name_order" in arguments:
        order = order + arguments.pop("name_order") / NAME_STEP
    return order


def _split_body(ident: object, body: Any) -> Iterator[Chunk]:
    # Among the ids stand __extend__ and __exclude__.
    if isinstance(ident, str) and ident.startswith("__"):
        return
    for module, run in runs(body):
        arguments: Low = {}
        functions, names = _take_arguments(arguments, run)
        if names or not _OF_CHUNKS.isdisjoint(arguments):
            yield from _split_names(ident, body, module, arguments, functions, names)
            continue
        name = arguments.pop("name", ident)
        last = len(functions) - 1
        for number, function in enumerate(functions):
            own = arguments if number == last else dict(arguments)
            sls, saltenv = body.get("__sls__"), body.get("__env__")
            yield Chunk(module, function, name, ident, sls, saltenv, own)


_OF_CHUNKS = frozenset({"fun", "__id__", "__sls__", "__env__"})
"""What a chunk has beside its arguments; a declaration may bring some of it."""


def _split_names(
    ident: object,
    body: Any,
    module: str,
    arguments: Low,
    functions: Sequence[str],
    names: Sequence[object],
) -> Iterator[Chunk]:
    """The chunks of a declaration of several names."""
    origin = {key: body[key] for key in ("__sls__", "__env__") if key in body}
    low: Low = {"state": module, "name": ident, **origin, "__id__": ident, **arguments}
    named = [_low_of_name(low, entry, number) for number, entry in enumerate(names, 1)]
    for each in named or [low]:
        for function in functions:
            yield Chunk.from_low({**each, "fun": function})


def _take_arguments(low: Low, run: Sequence[object]) -> tuple[list[str], list[Any]]:
    """Put the arguments of a declaration into its chunk; its functions and its ``names``."""
    functions: dict[str, None] = {}
    names: list[Any] = []
    for argument in run:
        if isinstance(argument, str):
            functions[argument] = None
        elif isinstance(argument, (dict, Mapping)):
            for key, value in argument.items():
                if key == "names":
                    # Not a set: an entry may be a map.
                    names += (name for name in value if name not in names)
                # As in Salt a name that is no text does not count, and the id stays the name.
                elif key != "state" and (key != "name" or isinstance(value, str)):
                    low[key] = value
    return list(functions), names


def _low_of_name(low: Low, entry: object, number: int) -> Low:
    """The chunk of one of ``names``, which may bring arguments of its own."""
    name, more = next(iter(entry.items())) if isinstance(entry, Mapping) else (entry, ())
    named = {**low, "name": name, "name_order": number}
    for argument in [more] if isinstance(more, Mapping) else more or ():
        if isinstance(argument, Mapping):
            named.update(argument)
    return named
