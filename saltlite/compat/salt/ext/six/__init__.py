"""``salt.ext.six``: what files written for Python 2 and 3 ask of it; Python 3's side alone."""

from __future__ import annotations

import builtins
import io
import sys
from collections.abc import Iterator
from typing import Any

from saltlite.compat.salt.ext.six import moves as moves

__all__ = ["moves"]

PY2 = False
PY3 = True
PY34 = True
string_types = (str,)
integer_types = (int,)
class_types = (type,)
text_type = str
binary_type = bytes
MAXSIZE = sys.maxsize
StringIO = io.StringIO
BytesIO = io.BytesIO
print_ = print
callable = builtins.callable
unichr = chr
int2byte = bytes


def iteritems(d: Any, **kwargs: Any) -> Iterator[Any]:
    """The pairs of a dict."""
    return iter(d.items(**kwargs))


def iterkeys(d: Any, **kwargs: Any) -> Iterator[Any]:
    """The keys of a dict."""
    return iter(d.keys(**kwargs))


def itervalues(d: Any, **kwargs: Any) -> Iterator[Any]:
    """The values of a dict."""
    return iter(d.values(**kwargs))


def viewitems(d: Any) -> Any:
    """The pairs of a dict."""
    return d.items()


def viewkeys(d: Any) -> Any:
    """The keys of a dict."""
    return d.keys()


def viewvalues(d: Any) -> Any:
    """The values of a dict."""
    return d.values()


def b(s: str) -> bytes:
    """A text as bytes."""
    return s.encode("latin-1")


def u(s: str) -> str:
    """A text."""
    return s


def ensure_str(s: object, encoding: str = "utf-8", errors: str = "strict") -> str:
    """A text, also from bytes."""
    return s.decode(encoding, errors) if isinstance(s, bytes) else str(s)


ensure_text = ensure_str


def ensure_binary(s: Any, encoding: str = "utf-8", errors: str = "strict") -> bytes:
    """Bytes, also from a text."""
    return s.encode(encoding, errors) if isinstance(s, str) else bytes(s)


def reraise(tp: Any, value: BaseException | None, tb: Any = None) -> None:
    """Raise an exception that was caught before."""
    raise (tp() if value is None else value).with_traceback(tb)


def raise_from(value: BaseException, from_value: BaseException | None) -> None:
    """Raise an exception for the reason of another."""
    raise value from from_value


def with_metaclass(meta: Any, *bases: Any) -> Any:
    """A class to inherit from that has this metaclass."""
    return meta("temporary_class", bases or (object,), {})


def add_metaclass(metaclass: Any) -> Any:
    """Make a class anew with this metaclass."""

    def wrapper(cls: Any) -> Any:
        return metaclass(cls.__name__, cls.__bases__, dict(vars(cls)))

    return wrapper


def python_2_unicode_compatible(klass: object) -> Any:
    """The class as it is."""
    return klass
