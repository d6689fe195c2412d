"""Names of functions and classes, and types of parameters, held to the rules of docs/glossary.md.

What is above the aim has a ceiling that may only come down: who renames lowers it, and nobody can
raise it without saying so here.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "saltlite"

PARTICIPLES_PERCENT = 2.0
"""Of all functions, those whose name begins with a participle. The aim is 2."""

ONE_WORD_PERCENT = 2.3
"""Of all functions, the private ones of a single word. The aim is 6."""

REPEATED_CLASSES = 0
"""Class names that mean more than two things."""

ANY_PERCENT = 5.0
"""Of all parameters, those whose type contains ``Any``. The aim is 10."""

SLACK = 0.6
"""A ceiling this far above what is there is to be lowered."""

FORBIDDEN_NAMES = ("utils", "helpers", "common", "misc")
FORBIDDEN_CLASSES = ("Manager", "Helper", "Util")

IRREGULAR = frozenset(
    {
        "begun",
        "bound",
        "built",
        "chosen",
        "done",
        "drawn",
        "found",
        "given",
        "gone",
        "held",
        "hidden",
    }
    | {
        "kept",
        "known",
        "left",
        "lost",
        "made",
        "meant",
        "met",
        "put",
        "said",
        "seen",
        "sent",
        "shown",
    }
    | {"split", "spoken", "taken", "thought", "told", "written"}
)
NO_PARTICIPLES = frozenset(
    {"bed", "embed", "exceed", "feed", "led", "need", "proceed", "red", "seed", "shed", "speed"}
    | {"succeed"}
)


@cache
def definitions() -> tuple[ast.AST, ...]:
    return tuple(node for path in sorted(PACKAGE.rglob("*.py")) for node in ast.walk(parsed(path)))


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def function_names() -> Iterator[str]:
    for node in definitions():
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name[:2] != "__":
            yield node.name


def parameters() -> Iterator[ast.arg]:
    for node in definitions():
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            given = node.args
            for parameter in (*given.posonlyargs, *given.args, *given.kwonlyargs):
                if parameter.arg not in ("self", "cls"):
                    yield parameter


def is_untyped(parameter: ast.arg) -> bool:
    return parameter.annotation is None or "Any" in ast.unparse(parameter.annotation)


def words_of(name: str) -> list[str]:
    return [word for word in name.split("_") if word]


def is_participle(word: str) -> bool:
    if word in IRREGULAR:
        return True
    return word.endswith("ed") and len(word) > 3 and word not in NO_PARTICIPLES


def percent(part: int, whole: int) -> float:
    return 100 * part / whole


def test_functions_are_not_named_by_participles():
    names = [words_of(name) for name in function_names()]
    share = percent(sum(is_participle(words[0]) for words in names if words), len(names))
    assert PARTICIPLES_PERCENT - SLACK < share <= PARTICIPLES_PERCENT


def test_private_functions_say_what_they_do():
    names = list(function_names())
    one_word = [name for name in names if name[0] == "_" and len(words_of(name)) == 1]
    share = percent(len(one_word), len(names))
    assert ONE_WORD_PERCENT - SLACK < share <= ONE_WORD_PERCENT


def test_parameters_have_types():
    """Who takes whatever a user gives takes an ``object``, and must look before using it."""
    untyped = [is_untyped(parameter) for parameter in parameters()]
    share = percent(sum(untyped), len(untyped))
    assert ANY_PERCENT - SLACK < share <= ANY_PERCENT


def test_one_class_name_means_one_thing():
    counts = Counter(node.name for node in definitions() if isinstance(node, ast.ClassDef))
    repeated = sorted(name for name, times in counts.items() if times > 2)
    assert len(repeated) <= REPEATED_CLASSES, repeated


def test_nothing_is_called_by_an_empty_word():
    files = [path.stem for path in PACKAGE.rglob("*.py")]
    assert [name for name in files if name in FORBIDDEN_NAMES] == []
    classes = [node.name for node in definitions() if isinstance(node, ast.ClassDef)]
    assert [name for name in classes if name.endswith(FORBIDDEN_CLASSES)] == []
    assert [name for name in classes if name.startswith("Base")] == []
