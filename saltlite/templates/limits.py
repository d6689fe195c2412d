"""What one template may take: time of the processor, memory, and the size of any one value.

Jinja's sandbox keeps a template from what is private, not from going on forever. So loops, calls
and what makes large values of small ones are counted, and now and then the count looks at the
clock. Counting rather than a signal: it stops at a place that the template wrote, never within a
function of Salt's that holds a lock or a half written file. (Regular expressions do not count:
``expressions.py``.)
"""

from __future__ import annotations

import re
import resource
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from itertools import islice
from types import BuiltinMethodType
from typing import Any

from jinja2.filters import sync_do_join as do_join
from jinja2.runtime import Context
from jinja2.utils import _PassArg, generate_lorem_ipsum, pass_context

from saltlite.core.lazyregex import regex
from saltlite.templates.jinja_options import MAX_CHARS

MAX_BITS = 1_000_000
"""How large a number may be; what multiplies larger ones takes minutes."""

MAX_GROWTH = 1024 * 1024 * 1024
"""Bytes by which the process may grow while one template is rendered."""

TIME_LIMIT = 30.0
"""Seconds of the processor for one template where no option says otherwise."""

MIN_LEFT_S = 0.001

STEPS = 1024
"""Between two looks at the clock: rounds of a loop, calls, or KiB of text."""

_RSS_UNIT = 1 if sys.platform == "darwin" else 1024


class LimitExceeded(Exception):
    """A template takes more than it may."""


class Meter:
    """Counts the steps of one template and of all that it imports.

    ``limit`` is in seconds of this thread's time on the processor, 0 for none: waiting for a
    program or the network is free, and a busy machine makes nobody fail.
    """

    __slots__ = ("_base", "_began", "_left", "_limit")

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._began = time.thread_time()
        self._base = _peak_memory()
        self._left = STEPS

    def step(self, weight: int = 1) -> None:
        """Count; look at clock and memory when enough has come together.

        Raises:
            LimitExceeded: it was too much.
        """
        self._left -= weight
        if self._left < 0:
            self._left = STEPS
            self.look()

    def left_s(self) -> float | None:
        """Seconds that the template still has, more than none; ``None`` without a limit."""
        if not self._limit:
            return None
        return max(MIN_LEFT_S, self._limit - (time.thread_time() - self._began))

    def look(self) -> None:
        """Look at clock and memory.

        Raises:
            LimitExceeded: it was too much.
        """
        if self._limit and time.thread_time() - self._began > self._limit:
            raise LimitExceeded(
                f"the template takes more than {self._limit:g} s (jinja_time_limit)"
            )
        if _peak_memory() - self._base > MAX_GROWTH:
            raise LimitExceeded(f"the template takes more than {MAX_GROWTH >> 20} MiB of memory")

    def grown(self, size: int) -> None:
        """Count a value of so many characters or elements that is about to be made.

        Raises:
            OverflowError: it is too large by itself.
            LimitExceeded: it was too much.
        """
        if size > 1024:
            refuse_large(size)
            self.step(size >> 10)

    def measure(self, text: str) -> str:
        """A text that was joined of others; counted."""
        if len(text) > 1024:
            self.grown(len(text))
        return text

    def rounds(self, values: Any) -> Any:
        """The same values for a loop, each of which counts; few ones at once."""
        if type(values) in _PLAIN and len(values) <= _FEW:
            self.step(len(values) + 1)
            return values
        return _CountedSized(self, values) if isinstance(values, Sized) else self.count(values)

    def count(self, values: Iterable[Any]) -> Iterator[Any]:
        """The values one after the other, counted by dozens: that is hardly slower."""
        left = iter(values)
        self.step()
        for value in left:
            yield value
            yield from islice(left, _FEW - 1)
            self.step(_FEW)


_FEW = 32
_PLAIN = frozenset({list, tuple, dict, type({}.items()), type({}.keys()), type({}.values())})
"""What does not grow in a loop but by calls and filters, which count themselves."""


class _CountedSized:
    """What a loop goes through if it has a length, which ``loop.length`` asks for."""

    __slots__ = ("_meter", "_values")

    def __init__(self, meter: Meter, values: Any) -> None:
        self._meter = meter
        self._values = values

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[Any]:
        return self._meter.count(self._values)


def _peak_memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _RSS_UNIT


def refuse_large(size: int) -> None:
    """Raise ``OverflowError`` for more characters or elements than a value may have."""
    if size > MAX_CHARS:
        raise OverflowError(f"the sandbox blocks results larger than {MAX_CHARS}")


def size_of_binop(operator: str, left: Any, right: Any) -> int:
    """How many characters or elements an operator would make; 0 if it is little or unknown.

    Raises:
        OverflowError: a number would be too large.
    """
    if operator == "+":
        return len(left) + len(right) if _are_sized(left, right) else 0
    if operator == "%":
        if not isinstance(left, (str, bytes)):
            return 0
        return size_of_format(PERCENT, left, right if isinstance(right, tuple) else (right,))
    if isinstance(left, int) and isinstance(right, int):
        power = operator == "**"
        bits = left.bit_length() * right if power else left.bit_length() + right.bit_length()
        if bits > MAX_BITS:
            raise OverflowError(f"the sandbox blocks numbers of more than {MAX_BITS} bits")
    elif isinstance(left, int) and isinstance(right, (str, bytes, list, tuple)):
        return left * len(right)
    elif isinstance(right, int) and isinstance(left, (str, bytes, list, tuple)):
        return right * len(left)
    return 0


def _are_sized(left: Any, right: Any) -> bool:
    return isinstance(left, (str, bytes, list, tuple)) and isinstance(right, type(left))


PERCENT = regex(r"%(?:\([^)]*\))?([-+ #0-9.*]*)")
BRACES = regex(r"\{[^{}:]*:?([^{}]*\{?)")
"""The part of a format that has width and precision; a star or brace if arguments have them."""


def size_of_format(places: re.Pattern[str], form: str | bytes, args: Iterable[Any]) -> int:
    """How long a text could become that is filled up to widths, and with long arguments."""
    text = form.decode("latin-1") if isinstance(form, bytes) else form
    found = places.findall(text)
    given = list(args)
    joined = " ".join(found)
    widths = [int(width[:20]) for width in re.findall(r"\d+", joined)]
    if "*" in joined or "{" in joined:
        widths += [abs(arg) for arg in given if isinstance(arg, int)]
    longest = max((len(arg) for arg in given if isinstance(arg, (str, bytes))), default=0)
    return len(text) + max([longest * len(found), *widths])


def _size_of_fill(value: Any, width: Any = 0, *_: Any) -> int:
    return width if isinstance(width, int) else 0


def _size_of_expandtabs(value: Any, tabsize: Any = 8) -> int:
    tab = "\t" if isinstance(value, str) else b"\t"
    size: int = len(value) + value.count(tab) * max(int(tabsize), 0)
    return size


def _size_of_replace(value: Any, old: Any, new: Any, *_: Any) -> int:
    if not isinstance(old, type(value)) or not isinstance(new, type(value)):
        return 0
    size: int = len(value) + value.count(old) * max(0, len(new) - len(old))
    return size


def _size_of_join(separator: Any, values: Any) -> int:
    if not isinstance(values, (list, tuple, str, bytes)):
        return 0
    return sum(map(_length_of, values)) + len(separator) * len(values)


def _size_of_translate(value: Any, table: Any, *_: Any) -> int:
    longest = max(map(_length_of, table.values()), default=0) if isinstance(table, Mapping) else 1
    return len(value) * longest


def _size_of_extend(value: Any, more: Any) -> int:
    return len(value) + (len(more) if isinstance(more, Sized) else 0)


def _length_of(value: Any) -> int:
    return len(value) if isinstance(value, (str, bytes)) else 1


METHODS: Mapping[str, Callable[..., int]] = {
    "center": _size_of_fill,
    "expandtabs": _size_of_expandtabs,
    "extend": _size_of_extend,
    "join": _size_of_join,
    "ljust": _size_of_fill,
    "replace": _size_of_replace,
    "rjust": _size_of_fill,
    "to_bytes": _size_of_fill,
    "translate": _size_of_translate,
    "zfill": _size_of_fill,
}
"""Methods of Python's own types that make much of little, and how to tell how much."""


_SCOPES = frozenset({"_block_vars", "_loop_vars"})
"""What compiled code adds to the arguments of a call."""


def size_of_call(
    function: BuiltinMethodType, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> int:
    """How much a method of a text or list would make; 0 for anything else."""
    estimate = METHODS.get(function.__name__)
    owner = function.__self__
    if estimate is None or not isinstance(owner, (str, bytes, list, int)):
        return 0
    try:
        named = (value for name, value in kwargs.items() if name not in _SCOPES)
        return estimate(owner, *args, *named)
    except TypeError:
        return 0  # wrong arguments: the method itself says so


def _size_of_indent(value: Any, width: Any = 4, *_: Any, **__: Any) -> int:
    each = len(width) if isinstance(width, str) else width
    return len(str(value)) + (str(value).count("\n") + 1) * each


def _size_of_wrap(value: Any, width: int = 79, *rest: Any, wrapstring: Any = None, **_: Any) -> int:
    between = wrapstring if wrapstring is not None else (rest[1] if len(rest) > 1 else "")
    text = str(value)
    return len(text) + (len(text) // max(width, 1) + text.count("\n")) * len(between or "")


def _size_of_text_replace(value: Any, old: Any, new: Any, *_: Any, **__: Any) -> int:
    return _size_of_replace(str(value), str(old), str(new))


def _size_of_format_filter(value: Any, *args: Any, **kwargs: Any) -> int:
    return size_of_format(PERCENT, str(value), (*args, *kwargs.values()))


def _size_of_random(length: Any = 0, *_: Any, **__: Any) -> int:
    return length if isinstance(length, int) else 0


def _size_of_nothing(*_: Any, **__: Any) -> int:
    return 0  # but a loop over the list that it adds to would never end: it is counted


def _per_row(value: Any, count: Any = 1, *_: Any, **__: Any) -> int:
    return count if isinstance(count, int) else 0


def _of_json(value: Any, *args: Any, indent: Any = None, **_: Any) -> int:
    wide = indent if indent is not None else next(reversed(args), None)
    if isinstance(wide, bool) or not isinstance(wide, int):
        return 0
    return wide * 1024  # a line for each value: few thousand are usual


SIZED_FILTERS: Mapping[str, Callable[..., int]] = {
    "append_dict_key_value": _size_of_nothing,
    "batch": _per_row,
    "center": _size_of_fill,
    "extend_dict_key_value": _size_of_nothing,
    "format": _size_of_format_filter,
    "indent": _size_of_indent,
    "json": _of_json,
    "random_str": _size_of_random,
    "replace": _size_of_text_replace,
    "slice": _per_row,
    "tojson": _of_json,
    "wordwrap": _size_of_wrap,
}
"""Filters that make much of little, and how to tell how much."""

LAZY_FILTERS = ("combinations", "combinations_with_replacement", "permutations", "product")
"""Filters whose result has more members than anybody could go through."""


def limit_filters(filters: Mapping[str, Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    """The filters that could make too much, each with its limit."""
    held = {
        name: _limit_size(filters[name], estimate)
        for name, estimate in SIZED_FILTERS.items()
        if name in filters
    }
    held.update((name, _limit_count(filters[name])) for name in LAZY_FILTERS if name in filters)
    held["join"] = join
    return held


def _limit_size(function: Callable[..., Any], estimate: Callable[..., int]) -> Callable[..., Any]:
    passed = _PassArg.from_obj(function)

    @pass_context
    def check_size(context: Context, *args: Any, **kwargs: Any) -> Any:
        try:
            size = estimate(*args, **kwargs)
        except TypeError:
            size = 0  # wrong arguments: the filter itself says so
        meter = meter_of(context)
        meter.step()
        meter.grown(size)
        if passed is None:
            return function(*args, **kwargs)
        first = {
            _PassArg.context: context,
            _PassArg.eval_context: context.eval_ctx,
            _PassArg.environment: context.environment,
        }
        return function(first[passed], *args, **kwargs)

    return check_size


def _limit_count(function: Callable[..., Iterable[Any]]) -> Callable[..., Any]:
    @pass_context
    def count_values(context: Context, *args: Any, **kwargs: Any) -> Iterator[Any]:
        meter = meter_of(context)
        for number in (*args, *kwargs.values()):
            if isinstance(number, int):
                meter.grown(number * 1024)
        return meter.count(function(*args, **kwargs))

    return count_values


@pass_context
def join(context: Context, value: Any, d: Any = "", attribute: Any = None) -> str:
    """Jinja's ``join``; the length is known before it is made."""
    if attribute is not None:
        chosen = {"attribute": attribute}
        value = context.environment.call_filter("map", value, [], chosen, context=context)
    values = list(value)
    meter_of(context).grown(_size_of_join(str(d), values))
    return do_join(context.eval_ctx, values, d)


def meter_of(context: Context) -> Meter:
    """The meter of the template that is rendered."""
    meter: Meter = context.environment.meter  # type: ignore[attr-defined]  # SaltEnvironment's
    return meter


def lorem_ipsum(n: int = 5, html: bool = True, min: int = 20, max: int = 100) -> str:
    """Jinja's ``lipsum``, of a size that somebody reads."""
    refuse_large(n * max * 1000)
    return generate_lorem_ipsum(n, html, min, max)
