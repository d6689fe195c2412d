"""A nested map as XML, as the filter ``xml`` shows it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

INDENT = " "


def to_xml(value: object) -> str:
    """XML of one root element: plain values are attributes, maps and lists are elements.

    Raises:
        TypeError: there is no map with a root.
    """
    if isinstance(value, list) and value and isinstance(value[-1], Mapping):
        value = value[-1]
    if not isinstance(value, Mapping) or not value:
        raise TypeError("XML needs a map with the root element")
    name = list(value)[-1]
    return "\n".join(['<?xml version="1.0" ?>', *_format_element(str(name), value[name], 0), ""])


def _format_element(name: str, value: object, depth: int) -> Iterator[str]:
    from xml.sax import saxutils  # brings HTTP and TLS, for a filter that few templates use

    before = INDENT * depth
    if not isinstance(value, (Mapping, list, tuple)):
        yield f"{before}<{name}>{saxutils.escape(str(value))}</{name}>"
        return
    pairs = list(_pairs_of(value))
    attributes = "".join(
        f" {key}={saxutils.quoteattr(str(item))}" for key, item in pairs if not _is_nested(item)
    )
    inner = [
        line
        for key, item in pairs
        if _is_nested(item)
        for line in _format_element(key, item, depth + 1)
    ]
    if not inner:
        yield f"{before}<{name}{attributes}/>"
        return
    yield f"{before}<{name}{attributes}>"
    yield from inner
    yield f"{before}</{name}>"


def _pairs_of(value: Any) -> Iterator[tuple[str, Any]]:
    for each in [value] if isinstance(value, Mapping) else value:
        for key, item in each.items() if isinstance(each, Mapping) else [("item", each)]:
            yield str(key), item


def _is_nested(value: object) -> bool:
    return isinstance(value, (Mapping, list, tuple))
