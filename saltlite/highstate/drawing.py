"""The graph of a run as text for other programs: DOT for Graphviz, Mermaid for pages, JSON.

States are boxes in a frame per SLS, numbered as they run; an arrow leads from what is needed to who
needs it and is named after the requisite. What cannot run is red.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from saltlite.core.dataclasses import dataclass
from saltlite.errors import FunctionError
from saltlite.highstate.chunk import Chunk
from saltlite.highstate.graph import Ordered
from saltlite.highstate.requisites import PREREQUIRED, Requisite

if TYPE_CHECKING:
    from saltlite.host import Host

FORMATS = ("mermaid", "dot", "svg", "json")

BROKEN = "#c0392b"


@dataclass(frozen=True, slots=True)
class Box:
    """A state: its number in the run, its lines, and what is wrong with its requisites."""

    number: int
    lines: tuple[str, ...]
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Arrow:
    """From the number of what is needed to the number of who needs it."""

    source: int
    target: int
    kind: Requisite


@dataclass(frozen=True, slots=True)
class Drawing:
    """Boxes by SLS in the order of the run, and arrows."""

    frames: Mapping[str, Sequence[Box]]
    arrows: Sequence[Arrow]


def drawing_of(settled: Ordered) -> Drawing:
    """What is to be drawn of states whose order has been settled."""
    numbers = {chunk.tag: number for number, chunk in enumerate(settled.low)}
    frames: dict[str, list[Box]] = {}
    for chunk in settled.low:
        tag = chunk.tag
        problem = _describe_problem(settled, tag)
        box = Box(numbers[tag], tuple(_label_lines(chunk)), problem)
        # In order of the run, so the first state of a file places its frame.
        frames.setdefault(str(chunk.sls or ""), []).append(box)
    arrows = [
        _make_arrow(numbers[other], numbers[tag], kind)
        for tag, edges in settled.requisites.items()
        for kind, other in edges
        if kind is not PREREQUIRED  # the other end of a prereq, which is drawn already
    ]
    return Drawing(frames, sorted(arrows, key=lambda arrow: (arrow.target, arrow.source)))


def draw(host: Host, settled: Ordered, form: str) -> str:
    """The graph in one of :data:`FORMATS`.

    Raises:
        FunctionError: there is no Graphviz, or it fails.
    """
    drawing = drawing_of(settled)
    if form == "json":
        return as_json(settled, drawing)
    if form == "mermaid":
        return mermaid(drawing)
    text = dot(drawing)
    if form == "dot":
        return text
    program = host.which("dot")
    if program is None:
        raise FunctionError("format: svg needs the program dot of Graphviz, which is not here")
    done = host.run([program, "-Tsvg"], stdin=text)
    if done.exit_code:
        raise FunctionError(f"dot: {done.stderr.strip()}")
    return done.stdout


def _describe_problem(settled: Ordered, tag: str) -> str:
    if tag in settled.circles:
        return "circle: " + " -> ".join(settled.circles[tag])
    return " ".join(settled.problems.get(tag, "").split())


def _label_lines(chunk: Chunk) -> Iterator[str]:
    yield str(chunk.ident)
    if chunk.name != chunk.ident:
        yield str(chunk.name)
    yield chunk.function


def _make_arrow(needed: int, needing: int, kind: Requisite) -> Arrow:
    if kind.runs_first:
        return Arrow(needing, needed, kind)
    return Arrow(needed, needing, kind)


# --- JSON ----------------------------------------------------------------------------------------


def as_json(settled: Ordered, drawing: Drawing) -> str:
    """The graph as a JSON text; its shape is kept from release to release.

    ``nodes`` are in the order of the run: ``tag`` (the key of the state's return), ``id``,
    ``name``, ``state``, ``fun``, ``sls``, ``saltenv``, and ``problem``, ``null`` if nothing is
    wrong. ``edges`` lead ``from`` the tag of what runs first ``to`` the one that runs after it, by
    the ``requisite`` that says so.
    """
    boxes = (box for frame in drawing.frames.values() for box in frame)
    problems = {box.number: box.problem or None for box in boxes}
    nodes = [
        {
            "tag": chunk.tag,
            "id": str(chunk.ident),
            "name": str(chunk.name),
            "state": chunk.state,
            "fun": chunk.fun,
            "sls": None if chunk.sls is None else str(chunk.sls),
            "saltenv": None if chunk.saltenv is None else str(chunk.saltenv),
            "problem": problems[number],
        }
        for number, chunk in enumerate(settled.low)
    ]
    edges = [
        {
            "from": settled.low[arrow.source].tag,
            "to": settled.low[arrow.target].tag,
            "requisite": arrow.kind.name,
        }
        for arrow in drawing.arrows
    ]
    return json.dumps({"nodes": nodes, "edges": edges}, indent=2)


# --- DOT -----------------------------------------------------------------------------------------


def dot(drawing: Drawing) -> str:
    """The graph in Graphviz's language."""
    lines = ["digraph states {", "  rankdir=LR;", '  node [shape=box, fontname="sans-serif"];']
    for place, (sls, boxes) in enumerate(drawing.frames.items()):
        # Graphviz frames only those whose name begins with cluster.
        lines += [f"  subgraph cluster_{place} {{", f"    label={_quote_dot(sls)};"]
        lines += [f"    {_dot_box(box)}" for box in boxes]
        lines.append("  }")
    lines += [f"  {_dot_arrow(arrow)}" for arrow in drawing.arrows]
    return "\n".join([*lines, "}"])


def _dot_box(box: Box) -> str:
    label = _quote_dot("\n".join([f"{box.number + 1}. {box.lines[0]}", *box.lines[1:]]))
    if not box.problem:
        return f"n{box.number} [label={label}];"
    return f'n{box.number} [label={label}, color="{BROKEN}", tooltip={_quote_dot(box.problem)}];'


def _dot_arrow(arrow: Arrow) -> str:
    style = ", style=dashed" if arrow.kind.is_dashed else ""
    return f"n{arrow.source} -> n{arrow.target} [label={_quote_dot(arrow.kind.name)}{style}];"


def _quote_dot(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


# --- Mermaid -------------------------------------------------------------------------------------


def mermaid(drawing: Drawing) -> str:
    """The graph in Mermaid's language, which Markdown pages of many sites show as a picture."""
    lines = ["flowchart LR"]
    for place, (sls, boxes) in enumerate(drawing.frames.items()):
        lines.append(f"  subgraph s{place}[{_quote_mermaid(sls)}]")
        lines += [f"    {_mermaid_box(box)}" for box in boxes]
        lines.append("  end")
    lines += [f"  {_mermaid_arrow(arrow)}" for arrow in drawing.arrows]
    broken = [f"n{box.number}" for boxes in drawing.frames.values() for box in boxes if box.problem]
    if broken:
        lines += [f"  classDef broken stroke:{BROKEN}", f"  class {','.join(broken)} broken"]
    return "\n".join(lines)


def _mermaid_box(box: Box) -> str:
    lines = [f"{box.number + 1}. {box.lines[0]}", *box.lines[1:]]
    if box.problem:
        lines.append(box.problem)
    return f"n{box.number}[{_quote_mermaid(*lines)}]"


def _mermaid_arrow(arrow: Arrow) -> str:
    line = "-.->" if arrow.kind.is_dashed else "-->"
    return f"n{arrow.source} {line}|{arrow.kind.name}| n{arrow.target}"


def _quote_mermaid(*lines: str) -> str:
    """Text in quotes; signs that would end it, or be read as markup, as entities."""
    escaped = (
        # Mermaid has no escapes, but knows numbered entities.
        "".join(f"#{ord(sign)};" if sign in '"#<>&`|' else sign for sign in line)
        for line in lines
    )
    return '"' + "<br/>".join(" ".join(line.split()) for line in escaped) + '"'
