r"""Places in a template where a grain becomes part of YAML unquoted.

A minion says of itself what its grains are: ``"a\nsecret: b"`` in ``name: {{ grains.x }}`` adds a
key, in quotes or not. ``check.pillar`` looks for this; it reads templates and runs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from jinja2 import TemplateError, nodes

from saltlite.templates.jinja import SaltEnvironment

SAFE_FILTERS = frozenset(
    (
        "abs", "base64_encode", "count", "float", "int", "json", "length", "md5", "round",
        "sha256", "sha512", "to_bool", "tojson", "yaml", "yaml_dquote", "yaml_encode",
        "yaml_squote",
    )
)  # fmt: skip
"""What these give is a number, or a text that YAML reads as one value."""

PROVEN = frozenset(("id",))
"""Grains that the master knows itself, and whose letters are few."""

_FUNCTIONS = frozenset(("salt", "__salt__"))


GRAINS = frozenset(("grains", "__grains__"))


def find_unquoted(text: str, names: frozenset[str] = GRAINS) -> list[int]:
    """The lines of a template that do so; none of one that is no template.

    ``names`` are the variables that have what others say.
    """
    try:
        tree = SaltEnvironment({}).parse(text)
    except TemplateError:  # told as an error, where it is rendered
        return []
    return sorted(set(_find_lines(tree.body, set(names))))


def _find_lines(body: Iterable[nodes.Node], known: set[str]) -> Iterator[int]:
    for node in body:
        if isinstance(node, nodes.Output):
            yield from (each.lineno for each in node.nodes if _is_grain(each, known))
            continue
        if _is_grain(_value_named_by(node), known):
            known |= _names_in(node)
        yield from _find_lines(node.iter_child_nodes(), known)


def _value_named_by(node: nodes.Node) -> nodes.Node | None:
    """What ``set`` gives a name to, and ``for`` its items."""
    if isinstance(node, nodes.Assign):
        return node.node
    return node.iter if isinstance(node, nodes.For) else None


def _names_in(node: nodes.Node) -> set[str]:
    target = node.target if isinstance(node, (nodes.Assign, nodes.For)) else node
    inner = {name.name for name in target.find_all(nodes.Name)}
    return inner | ({target.name} if isinstance(target, nodes.Name) else set())


def _is_grain(node: nodes.Node | None, known: set[str]) -> bool:
    """Whether the value of an expression is, or has in it, what a minion says."""
    if isinstance(node, nodes.Name):
        return node.name in known
    if isinstance(node, nodes.Filter):
        return node.name not in SAFE_FILTERS and _any_is_grain([node.node, *node.args], known)
    if isinstance(node, (nodes.Getattr, nodes.Getitem)):
        return _is_function(node) or (_key_of(node) not in PROVEN and _is_grain(node.node, known))
    if isinstance(node, nodes.Call):
        return _is_call_of_grain(node, known)
    if isinstance(node, nodes.CondExpr):
        return _any_is_grain([node.expr1, node.expr2], known)
    if isinstance(node, (nodes.BinExpr, nodes.Concat, nodes.List, nodes.Tuple, nodes.Dict)):
        return _any_is_grain(node.iter_child_nodes(), known)
    return isinstance(node, nodes.Pair) and _any_is_grain([node.key, node.value], known)


def _any_is_grain(found: Iterable[nodes.Node | None], known: set[str]) -> bool:
    return any(_is_grain(node, known) for node in found)


def _is_call_of_grain(node: nodes.Call, known: set[str]) -> bool:
    first = node.args[0] if node.args else None
    if isinstance(first, nodes.Const) and first.value in PROVEN:
        return False
    if isinstance(node.node, nodes.Getattr) and isinstance(node.node.node, nodes.Const):
        return _any_is_grain(node.args, known)  # '{}'.format(…), ', '.join(…)
    return _is_grain(node.node, known)


def _is_function(node: nodes.Getattr | nodes.Getitem) -> bool:
    """Whether it is ``salt['grains.get']`` or ``salt.grains``."""
    if not isinstance(node.node, nodes.Name) or node.node.name not in _FUNCTIONS:
        return False
    return str(_key_of(node)).partition(".")[0] == "grains"


def _key_of(node: nodes.Getattr | nodes.Getitem) -> object:
    if isinstance(node, nodes.Getattr):
        return node.attr
    return node.arg.value if isinstance(node.arg, nodes.Const) else None
