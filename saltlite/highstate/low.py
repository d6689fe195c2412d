"""From high data to low chunks, numbered and in the order in which they stand in the files.

A chunk is Salt's: ``{"state", "fun", "name", "__id__", "__sls__", "__env__", "order", ...}``, and
the arguments, requisites among them. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from saltlite.highstate.sls import runs

Chunk = dict[str, Any]

LOWSTATE = "lowstate"
"""Where ``ctx.state`` has the chunks of the run that goes on: some states ask what else runs."""

LAST = 1_000_000
"""Added to the numbers of states that shall come last."""

GAP = 100
"""Between the numbers and states without one."""

NAME_STEP = 10_000
"""A state may have so many ``names`` before one gets into the next state's place."""


def low_tag(chunk: Mapping[str, object]) -> str:
    """The key of a chunk's return: ``file_|-id_|-name_|-managed``."""
    return f"{chunk['state']}_|-{chunk['__id__']}_|-{chunk['name']}_|-{chunk['fun']}"


def low_of(high: Mapping[Any, Any]) -> list[Chunk]:
    """The chunks of high data, in order."""
    return sort_chunks(
        [chunk for ident, body in high.items() for chunk in _split_body(ident, body)]
    )


def sort_chunks(chunks: list[Chunk]) -> list[Chunk]:
    """The same chunks, ``order`` a number in each, sorted by it, then module, name, function."""
    behind = _last_order(chunks)
    for chunk in chunks:
        chunk["order"] = _order_of(chunk, behind)
    return sorted(
        chunks, key=lambda chunk: (chunk["order"], f"{chunk['state']}{chunk['name']}{chunk['fun']}")
    )


def _last_order(chunks: Sequence[Chunk]) -> int:
    """The place of states without a number: ``GAP`` behind the last number that reached so far.

    So in Salt, where a number within the gap does not move it on.
    """
    behind = 1
    for chunk in chunks:
        order = chunk.get("order")
        if isinstance(order, int) and not isinstance(order, bool) and order >= behind:
            behind = order + GAP
    return behind


def _order_of(chunk: Chunk, behind: int) -> float:
    """The place of a chunk; ``behind`` is that of one without a number."""
    order = chunk.get("order")
    if order is None:
        return behind
    if order == "last":
        order = behind + LAST
    elif order == "first":
        order = 0
    elif not isinstance(order, (int, float)):
        order = behind
    elif order < 0:
        order = behind + LAST + order
    if "name_order" in chunk:
        order = order + chunk.pop("name_order") / NAME_STEP
    return order


def _split_body(ident: object, body: Any) -> Iterator[Chunk]:
    if isinstance(ident, str) and ident.startswith("__"):
        return
    for module, run in runs(body):
        chunk: Chunk = {"state": module, "name": ident}
        chunk.update({key: body[key] for key in ("__sls__", "__env__") if key in body})
        chunk["__id__"] = ident
        functions, names = _take_arguments(chunk, run)
        named = [_chunk_of_name(chunk, entry, number) for number, entry in enumerate(names, 1)]
        for each in named or [chunk]:
            for function in functions:
                yield {**each, "fun": function}


def _take_arguments(chunk: Chunk, run: Sequence[object]) -> tuple[list[str], list[Any]]:
    """Put the arguments of a declaration into its chunk; its functions and its ``names``."""
    functions: dict[str, None] = {}
    names: list[Any] = []
    for argument in run:
        if isinstance(argument, str):
            functions[argument] = None
        elif isinstance(argument, (dict, Mapping)):
            for key, value in argument.items():
                if key == "names":
                    names += (name for name in value if name not in names)
                elif key != "state" and (key != "name" or isinstance(value, str)):
                    chunk[key] = value
    return list(functions), names


def _chunk_of_name(chunk: Chunk, entry: object, number: int) -> Chunk:
    """The chunk of one of ``names``, which may bring arguments of its own."""
    named = {**chunk, "name": entry, "name_order": number}
    if isinstance(entry, Mapping):
        named["name"], more = next(iter(entry.items()))
        for argument in [more] if isinstance(more, Mapping) else more or ():
            if isinstance(argument, Mapping):
                named.update(argument)
    return named
