"""YAML texts that were read before: what is the same text for a thousand minions is read once.

The key is the whole text, so that what comes of it depends on nothing else: a text that was made
with one minion's data is found again by the same text alone. Values are kept packed, so that each
caller gets one of its own, faster than by copying. Kept are the texts used last, as many as fit
into :data:`KEPT_BYTES`.
"""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict
from typing import Any

import msgpack

from saltlite.config.yaml import LinedMap, load

KEPT_BYTES = 16 * 1024 * 1024
"""Memory for texts and their values in one process."""

ONE_BYTES = 1024 * 1024
"""Larger ones are not kept."""


class ParsedTexts:
    """Texts and the values they stand for, those used last at the end."""

    def __init__(self, kept_bytes: int = KEPT_BYTES) -> None:
        self._limit = kept_bytes
        self._lock = threading.Lock()
        self._size = 0
        self._kept: OrderedDict[str, bytes] = OrderedDict()

    @property
    def size(self) -> int:
        """Bytes of memory of all that is kept."""
        return self._size

    def load(self, text: str, path: str) -> Any:
        """As :func:`saltlite.config.yaml.load`, the lines of keys apart."""
        with self._lock:
            found = self._kept.get(text)
            if found is not None:
                self._kept.move_to_end(text)
        if found is not None:
            return msgpack.unpackb(found, strict_map_key=False)
        value = load(text, path)
        if isinstance(value, LinedMap):
            value = dict(value)
        self._keep_value(text, value)
        return value

    def _keep_value(self, text: str, value: object) -> None:
        if len(text) > ONE_BYTES:
            return
        try:
            packed = msgpack.packb(value)
        except OverflowError:  # an integer of more than 64 bits
            return
        size = sys.getsizeof(text) + len(packed)
        if size > ONE_BYTES:
            return
        with self._lock:
            if text in self._kept:
                return
            self._kept[text] = packed
            self._size += size
            while self._size > self._limit:
                old, dropped = self._kept.popitem(last=False)
                self._size -= sys.getsizeof(old) + len(dropped)


_texts = ParsedTexts()


def load_yaml(text: str, path: str) -> Any:
    """The value of a YAML document, which belongs to the caller.

    Raises:
        ConfigError: not one well-formed document; names ``path`` and the line.
    """
    return _texts.load(text, path)
