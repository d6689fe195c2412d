"""What a Jinja template looks up, reads and names, without rendering it."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import jinja2
from jinja2 import nodes

from saltlite.core.dataclasses import dataclass, field
from saltlite.templates.jinja import SaltEnvironment

ASKED = frozenset({"pillar.get", "grains.get"})
DEFAULTS = frozenset({"default", "d"})


@dataclass(frozen=True, slots=True)
class Lookup:
    """``{{ salt['pillar.get']('a:b') }}`` in a line: an empty text if there is no ``a:b``."""

    function: str
    key: str
    line: int


@dataclass(frozen=True, slots=True)
class NamedTemplate:
    """A template that another one includes, imports or extends by a fixed name.

    ``sees`` are the names that it has of the other one, ``None`` if it has none of them.
    ``is_sure``: it is read whenever the other one is rendered, and must be there.
    """

    path: str
    line: int
    sees: frozenset[str] | None = field(default=None)
    is_sure: bool = True


@functools.lru_cache(maxsize=8)
def _parse(text: str) -> tuple[nodes.Template, tuple[int, str] | None]:
    """A template, of which all of these functions read, or an empty one and its fault."""
    try:
        return SaltEnvironment({}).parse(text), None
    except jinja2.TemplateSyntaxError as error:
        return nodes.Template([]), (error.lineno, str(error.message or ""))


def bare_lookups(text: str, *, with_macros: bool = True) -> list[Lookup]:
    """The lookups whose value is printed as it is; none for a text that is no template.

    Without ``with_macros`` none of those that wait for somebody to call them.

    One that is a condition, is given a default, or goes through the filter ``default`` is not among
    them: it may well find nothing.
    """
    tree, _fault = _parse(text)
    waiting = set() if with_macros else _find_within(tree, (nodes.Macro,), nodes.Output)
    return [
        found
        for output in tree.find_all(nodes.Output)
        if id(output) not in waiting
        for part in output.nodes
        for found in _find_printed_lookups(part)
    ]


def template_fault(text: str) -> tuple[int, str] | None:
    """The line and words of what keeps a text from being a template; ``None`` if nothing does."""
    return _parse(text)[1]


def undeclared_names(text: str) -> list[tuple[str, int]]:
    """Names that a template reads and never sets, each with its first line.

    None of one that extends another or whose text is no template, or that asks anywhere whether the
    name is there (``is defined``, ``default``): it may well be missing.
    """
    from jinja2 import meta

    tree, _fault = _parse(text)
    if next(tree.find_all(nodes.Extends), None) is not None:
        return []
    unset = meta.find_undeclared_variables(tree) - set(_find_asked_names(tree))
    first: dict[str, int] = {}
    for each in tree.find_all(nodes.Name):
        if each.name in unset:
            first.setdefault(each.name, each.lineno)
    return sorted(first.items(), key=lambda pair: pair[1])


def named_templates(text: str, path: str) -> list[NamedTemplate]:
    """What a template at ``path`` names, paths below the roots; none of a text that is none."""
    environment = SaltEnvironment({})
    tree, _fault = _parse(text)
    unsure = _find_within(tree, _PERHAPS, _NAMING)
    own = frozenset(_find_set_names(tree))
    found = []
    for named in _find_naming(tree):
        if not isinstance(named.template, nodes.Const) or not isinstance(named.template.value, str):
            continue
        shares = isinstance(named, nodes.Extends) or named.with_context
        name = environment.join_path(named.template.value, path)
        found.append(
            NamedTemplate(
                name.removeprefix("salt://").lstrip("/"),
                named.lineno,
                own if shares else None,
                id(named) not in unsure and not getattr(named, "ignore_missing", False),
            )
        )
    return found


_NAMING = (nodes.Extends, nodes.Include, nodes.Import, nodes.FromImport)
_PERHAPS = (nodes.If, nodes.For, nodes.Macro, nodes.CallBlock, nodes.Block)
"""What is in these may not be rendered."""


def _find_naming(
    tree: nodes.Template,
) -> Iterator[nodes.Extends | nodes.Include | nodes.Import | nodes.FromImport]:
    yield from tree.find_all(nodes.Extends)
    yield from tree.find_all(nodes.Include)
    yield from tree.find_all(nodes.Import)
    yield from tree.find_all(nodes.FromImport)


def _find_within(
    tree: nodes.Template,
    outer: tuple[type[nodes.Node], ...],
    inner: type[nodes.Node] | tuple[type[nodes.Node], ...],
) -> set[int]:
    """By their ``id`` the nodes that are somewhere in one of these others."""
    return {id(found) for part in tree.find_all(outer) for found in part.find_all(inner)}


def _find_set_names(tree: nodes.Template) -> Iterator[str]:
    for name in tree.find_all(nodes.Name):
        if name.ctx in ("store", "param"):
            yield name.name
    yield from (made.name for made in tree.find_all(nodes.Macro))
    yield from (made.target for made in tree.find_all(nodes.Import))
    for taken in tree.find_all(nodes.FromImport):
        yield from (one if isinstance(one, str) else one[1] for one in taken.names)


def _find_asked_names(tree: nodes.Template) -> Iterator[str]:
    for each in tree.find_all((nodes.Test, nodes.Filter)):
        if each.name in ("defined", "undefined", *DEFAULTS) and each.node is not None:
            yield from (name.name for name in each.node.find_all(nodes.Name))
            if isinstance(each.node, nodes.Name):
                yield each.node.name


def _find_printed_lookups(node: nodes.Node) -> Iterator[Lookup]:
    if isinstance(node, nodes.Filter) and node.name in DEFAULTS:
        return
    if isinstance(node, nodes.CondExpr):
        for side in (node.expr1, node.expr2):
            if side is not None:
                yield from _find_printed_lookups(side)
        return
    if isinstance(node, (nodes.Or, nodes.Compare, nodes.Test)):
        return
    if isinstance(node, nodes.Call):
        found = _read_lookup(node)
        if found is not None:
            yield found
            return
    for child in node.iter_child_nodes():
        yield from _find_printed_lookups(child)


def _read_lookup(call: nodes.Call) -> Lookup | None:
    """``salt['pillar.get']('x')`` or ``salt.pillar.get('x')`` with nothing but a key."""
    name = _function_of(call.node)
    if name not in ASKED or len(call.args) != 1 or call.kwargs or call.dyn_kwargs:
        return None
    key = call.args[0]
    if not isinstance(key, nodes.Const) or not isinstance(key.value, str):
        return None
    return Lookup(name, key.value, call.lineno)


def _function_of(node: nodes.Node) -> str:
    if isinstance(node, nodes.Getitem) and _is_salt(node.node):
        return str(node.arg.value) if isinstance(node.arg, nodes.Const) else ""
    if isinstance(node, nodes.Getattr):
        module = node.node
        if isinstance(module, nodes.Getattr) and _is_salt(module.node):
            return f"{module.attr}.{node.attr}"
    return ""


def _is_salt(node: nodes.Node) -> bool:
    return isinstance(node, nodes.Name) and node.name == "salt"
