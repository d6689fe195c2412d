"""Our dataclass decorator beside Python's: the same classes, the same behaviour, no source."""

from __future__ import annotations

import copy
import dataclasses as standard
import os
import pickle
import re
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from saltlite.core import dataclasses as ours

T = TypeVar("T")
ROUNDS = (1, 2, ours.COMPILE_AT, ours.COMPILE_AT + 2)
"""Which value of a class is looked at: made by the loop, or by what was compiled then."""


def both(make: Callable[[Any], type[Any]]) -> tuple[type[Any], type[Any]]:
    return make(ours), make(standard)


def plain(lib: Any) -> type[Any]:
    @lib.dataclass(frozen=True, slots=True)
    class Point:
        x: int
        y: int = 0
        tags: list[str] = lib.field(default_factory=list)
        secret: str = lib.field(default="", repr=False, compare=False)
        kind: ClassVar[str] = "point"

        def length(self) -> int:
            return abs(self.x) + abs(self.y)

    return Point


def named(lib: Any) -> type[Any]:
    @lib.dataclass(slots=True, kw_only=True)
    class Job:
        y: int = 1
        x: int
        seen: int = lib.field(default=0, init=False)

        def __post_init__(self) -> None:
            self.seen = self.x + self.y

    return Job


def with_dict(lib: Any) -> type[Any]:
    @lib.dataclass(frozen=True, kw_only=True)
    class Low(ABC, Generic[T]):
        x: int
        y: int = 2

        @abstractmethod
        def read(self) -> T: ...

    @lib.dataclass(frozen=True, kw_only=True)
    class High(Low[int]):
        z: str = "z"

        def read(self) -> int:
            return self.x

    return High


def inheriting(lib: Any) -> type[Any]:
    @lib.dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
    class Log:
        x: int = 1
        y: int = 2

    @lib.dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
    class MinionLog(Log):
        y: int = 3
        z: int = 4

    return MinionLog


def own_methods(lib: Any) -> type[Any]:
    @lib.dataclass(frozen=True, slots=True)
    class Own:
        x: int
        y: int = 0

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Own) and self.x == other.x

        def __hash__(self) -> int:
            return hash(self.x)

        def __repr__(self) -> str:
            return f"<{self.x}>"

    return Own


SHAPES = (plain, named, with_dict, inheriting, own_methods)


def outcome(call: Callable[[], Any]) -> Any:
    """The value, or the kind and words of the exception."""
    try:
        return call()
    except (TypeError, AttributeError) as error:
        return type(error), str(error)


def state(value: Any) -> Any:
    if isinstance(value, tuple):
        return value
    return {one.name: getattr(value, one.name) for one in standard.fields(value)}


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)  # on a busy machine
@given(
    shape=st.sampled_from(SHAPES),
    values=st.lists(st.integers(0, 2), max_size=5),
    words=st.dictionaries(
        st.sampled_from(["x", "y", "z", "tags", "secret", "seen"]), st.integers(0, 2)
    ),
    number=st.sampled_from(ROUNDS),
)
def test_what_is_made_of_arguments(shape, values, words, number) -> None:
    mine, theirs = both(shape)
    for _ in range(number):
        made = outcome(lambda: mine(*values, **words))
    expected = outcome(lambda: theirs(*values, **words))
    assert state(made) == state(expected)
    if "object at" not in repr(expected):
        assert repr(made) == repr(expected)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("number", ROUNDS)
def test_comparing_and_hashing(shape: Any, number: int) -> None:
    mine, theirs = (facts(cls, number) for cls in both(shape))
    if shape is plain:  # a list in it: not hashable, and both say so
        assert mine[4] == (TypeError, "unhashable type: 'list'")
    assert mine == theirs


def facts(cls: Any, number: int) -> list[Any]:
    for _ in range(number):
        one, same, other = cls(x=1), cls(x=1), cls(x=2)
    return [
        one == same,
        one == other,
        one != same,
        one == 1,
        outcome(lambda: hash(one) == hash(same)) if cls.__eq__ is not object.__eq__ else None,
        cls.__hash__ is None,
        cls.__match_args__,
        getattr(cls, "__slots__", None),
        hasattr(one, "__dict__"),
        cls.__qualname__,
        outcome(lambda: setattr(one, "x", 3)),
        outcome(lambda: delattr(one, "y")),
    ]


@pytest.mark.parametrize("shape", SHAPES)
def test_pythons_functions_take_them(shape: Any) -> None:
    mine, theirs = both(shape)

    def seen(fields: Any) -> list[Any]:
        return [
            (it.name, it.type, it.init, it.repr, it.kw_only, dict(it.metadata)) for it in fields
        ]

    one = mine(x=1)
    assert standard.is_dataclass(mine)
    assert standard.is_dataclass(one)
    assert standard.asdict(one) == standard.asdict(theirs(x=1)) == ours.asdict(one)
    assert seen(standard.fields(mine)) == seen(standard.fields(theirs)) == seen(ours.fields(mine))
    assert state(standard.replace(one, x=5)) == state(ours.replace(one, x=5))
    assert state(ours.replace(one, x=5)) == state(standard.replace(theirs(x=1), x=5))
    assert outcome(lambda: ours.replace(one, nothing=1))[0] is TypeError


@ours.dataclass(frozen=True, slots=True)
class Kept:
    x: int
    more: Any = None


def test_values_are_copied_and_pickled() -> None:
    one = Kept(1, [2])
    assert pickle.loads(pickle.dumps(one)) == one
    assert copy.copy(one) == one
    deep = copy.deepcopy(one)
    assert deep == one
    assert deep.more is not one.more


def test_defaults_that_are_made_belong_to_one_value() -> None:
    cls = plain(ours)
    for _ in range(ours.COMPILE_AT + 2):
        first, second = cls(1), cls(1)
        first.tags.append("a")
        assert second.tags == []


def test_a_default_that_all_values_would_share_is_refused() -> None:
    for lib in (ours, standard):
        with pytest.raises(ValueError, match="items"):

            @lib.dataclass
            class Wrong:
                items: list[str] = []  # noqa: RUF012


def test_an_init_that_is_wrapped_later_is_left_alone() -> None:
    cls = plain(ours)
    original, calls = cls.__init__, []

    def wrapped(self: Any, *args: Any, **kwargs: Any) -> None:
        calls.append(args)
        original(self, *args, **kwargs)

    cls.__init__ = wrapped
    for number in range(ours.COMPILE_AT + 3):
        assert cls(number).x == number
    assert len(calls) == ours.COMPILE_AT + 3


def test_subclasses_that_are_no_dataclasses_keep_what_they_add() -> None:
    class Named(with_dict(ours)):
        def __init__(self) -> None:
            super().__init__(x=1)
            object.__setattr__(self, "extra", 1)

    one = Named()
    one.extra = 2
    assert (one.x, one.extra) == (1, 2)
    with pytest.raises(standard.FrozenInstanceError):
        one.x = 2


def test_pythons_decorator_builds_on_them() -> None:
    @standard.dataclass(frozen=True, kw_only=True)
    class More(with_dict(ours)):
        extra: int = 7

    assert state(More(x=1)) == {"x": 1, "y": 2, "z": "z", "extra": 7}


LOADED_BY_ALL = ("cli", "client", "config", "core", "crypto", "channel", "loader", "transport")


@pytest.mark.parametrize("package", LOADED_BY_ALL)
def test_what_commands_load_does_without_pythons(package: str) -> None:
    found = [
        path.name
        for path in (Path(ours.__file__).parents[1] / package).rglob("*.py")
        if re.search(r"^\s*(import dataclasses$|from dataclasses import)", path.read_text(), re.M)
    ]
    assert found == (["dataclasses.py"] if package == "core" else [])


def test_a_class_is_made_without_pythons_module() -> None:
    code = (
        "import sys\nfrom saltlite.core.dataclasses import dataclass, field, replace, fields\n"
        "@dataclass(frozen=True, slots=True)\nclass A:\n  x: 'int' = 1\n"
        "for _ in range(100): replace(A(2), x=3); fields(A); hash(A()); repr(A())\n"
        "print({'dataclasses', 'typing', 're', 'inspect'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "set()\n"
