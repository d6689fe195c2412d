"""JSON with indentation, which is written here, is what Python's own encoder writes."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from saltlite.core.jsontext import dump_json

TEXTS = st.text(max_size=6) | st.sampled_from(['"', "\\", "\n", "\x7f", "\u2028", "é", "</script>"])


class Word(str):
    __slots__ = ()


class Number(int):
    def __repr__(self) -> str:
        return "a number"


LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | TEXTS
    | st.sampled_from([Word("w"), Number(3), b"\xff", (1, 2), {1}])
)
KEYS = TEXTS | st.integers(0, 9) | st.booleans() | st.none() | st.floats(0, 1) | st.just(Word("k"))
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(TEXTS, inner, max_size=3)
        | st.dictionaries(KEYS, inner, max_size=2)
    ),
    max_leaves=10,
)


def by_python(value: Any, indent: int) -> Any:
    """What the standard encoder writes; ``None`` where it writes nothing, or no JSON."""
    try:
        return json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError):
        return None


@settings(max_examples=1000, deadline=None)
@given(value=VALUES, indent=st.integers(0, 5))
@example(value={"a": [], "b": {}, "c": [[]], "d": {"e": {"f": [1.5, -1, True, None]}}}, indent=4)
@example(value=[float("inf")], indent=4)
@example(value="text", indent=0)
def test_it_says_what_pythons_own_encoder_says(value: Any, indent: int) -> None:
    text = dump_json(value, indent=indent)
    wanted = by_python(value, indent)
    if wanted is not None:
        assert json.loads(text) == json.loads(wanted)
        assert text == wanted or not wanted.replace("\n", "").isprintable()
    else:
        json.loads(text)


def test_what_is_in_itself_is_an_error_as_ever() -> None:
    value: list[Any] = []
    value.append(value)
    try:
        dump_json(value, indent=4)
    except (ValueError, RecursionError):
        return
    raise AssertionError
