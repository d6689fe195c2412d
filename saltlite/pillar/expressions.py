"""The expressions of templates and of Python in one form: what is named, what is taken of it.

Only what tells which pillar keys are read is kept apart; all else has its parts and no meaning.
"""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterable, Sequence

from jinja2 import TemplateError, nodes

from saltlite.core.dataclasses import dataclass
from saltlite.templates.jinja import SaltEnvironment


class Kind(enum.Enum):
    """What an expression is."""

    NAME = enum.auto()
    """``x``, in ``text``."""
    TEXT = enum.auto()
    """A constant, in ``text``."""
    DATA = enum.auto()
    """Of a template: what is not within braces, in ``text``."""
    PART = enum.auto()
    """``a.b``, ``a['b']``: of ``parts[0]`` what ``parts[1]`` says."""
    CALL = enum.auto()
    """``f(x)``: the function, then what it is given."""
    KEYWORD = enum.auto()
    """``x=…`` of a call: its name in ``text``, its value in ``parts[0]``."""
    JOINED = enum.auto()
    """A text that is made of these parts, one behind the other."""
    IN = enum.auto()
    """``a in b``."""
    SET = enum.auto()
    """``text`` is a name for ``parts[0]`` from here on."""
    SAME = enum.auto()
    """The value of ``parts[0]``, unless it is missing."""
    OTHER = enum.auto()
    """Anything else."""


@dataclass(frozen=True, slots=True)
class Expression:
    """One of them, with its line in the file (from 1)."""

    kind: Kind
    line: int
    text: str = ""
    parts: Sequence[Expression] = ()


def parse_template(text: str) -> Expression | None:
    """A Jinja template; ``None`` if it is none, RecursionError if it is too deep."""
    try:
        return _of_jinja(SaltEnvironment({}).parse(text))
    except TemplateError:
        return None


def parse_python(text: str) -> Expression | None:
    """A module in Python; ``None`` if it is none, RecursionError, MemoryError if it is too deep."""
    try:
        return _of_python(ast.parse(text), 1)
    except (SyntaxError, ValueError):
        return None


def _of_jinja(node: nodes.Node) -> Expression:
    line = node.lineno or 1
    if isinstance(node, nodes.TemplateData):
        return Expression(Kind.DATA, line, node.data)
    if isinstance(node, nodes.Name):
        return Expression(Kind.NAME, line, node.name)
    if isinstance(node, nodes.Const):
        return Expression(Kind.TEXT, line, str(node.value))
    if isinstance(node, nodes.Keyword):
        return Expression(Kind.KEYWORD, line, node.key, (_of_jinja(node.value),))
    if isinstance(node, nodes.Getattr):
        key = Expression(Kind.TEXT, line, node.attr)
        return Expression(Kind.PART, line, parts=(_of_jinja(node.node), key))
    if isinstance(node, nodes.Filter) and node.name == "join" and isinstance(node.node, nodes.List):
        return _join_list(node.node, node.args)
    kind, parts = _sort_jinja(node)
    name = node.target.name if isinstance(node, nodes.Assign) and kind is Kind.SET else ""  # type: ignore[attr-defined]
    return Expression(kind, line, name, tuple(map(_of_jinja, parts)))


def _join_list(items: nodes.List, between: Sequence[nodes.Expr]) -> Expression:
    """``['a', b] | join(':')``."""
    parts: list[Expression] = []
    for item in items.items:
        parts += [*map(_of_jinja, between), _of_jinja(item)] if parts else [_of_jinja(item)]
    return Expression(Kind.JOINED, items.lineno, parts=parts)


def _sort_jinja(node: nodes.Node) -> tuple[Kind, Iterable[nodes.Node]]:
    if isinstance(node, nodes.Getitem):
        return Kind.PART, (node.node, node.arg)
    if isinstance(node, nodes.Call):
        return Kind.CALL, node.iter_child_nodes()
    if isinstance(node, nodes.Concat):
        return Kind.JOINED, node.nodes
    if isinstance(node, nodes.Add):
        return Kind.JOINED, (node.left, node.right)
    if isinstance(node, nodes.Assign) and isinstance(node.target, nodes.Name):
        return Kind.SET, (node.node,)
    if isinstance(node, nodes.Compare) and [each.op for each in node.ops] in (["in"], ["notin"]):
        return Kind.IN, (node.expr, node.ops[0].expr)
    if isinstance(node, nodes.Filter) and node.node is not None:
        if node.name in ("default", "d"):
            return Kind.SAME, (node.node, *node.args)
        if node.name == "traverse" and node.args:
            return Kind.PART, (node.node, *node.args)
    return Kind.OTHER, node.iter_child_nodes()


def _of_python(node: ast.AST, line: int) -> Expression:
    line = getattr(node, "lineno", line)
    if isinstance(node, ast.Name):
        return Expression(Kind.NAME, line, node.id)
    if isinstance(node, ast.Constant):
        return Expression(Kind.TEXT, line, str(node.value))
    kind, parts = _sort_python(node)
    converted = [_of_python(part, line) for part in parts]
    if isinstance(node, ast.Attribute):
        converted.append(Expression(Kind.TEXT, line, node.attr))
    name = node.arg or "" if isinstance(node, ast.keyword) else ""
    return Expression(kind, line, name, converted)


def _sort_python(node: ast.AST) -> tuple[Kind, Iterable[ast.AST]]:
    if isinstance(node, ast.keyword):
        return Kind.KEYWORD, (node.value,)
    if isinstance(node, ast.Attribute):
        return Kind.PART, (node.value,)
    if isinstance(node, ast.Subscript):
        return Kind.PART, (node.value, node.slice)
    if isinstance(node, ast.Call):
        return Kind.CALL, (node.func, *node.args, *node.keywords)
    if isinstance(node, ast.JoinedStr):
        return Kind.JOINED, node.values
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return Kind.JOINED, (node.left, node.right)
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        kind = Kind.IN if isinstance(node.ops[0], (ast.In, ast.NotIn)) else Kind.OTHER
        return kind, (node.left, *node.comparators)
    return Kind.OTHER, ast.iter_child_nodes(node)
