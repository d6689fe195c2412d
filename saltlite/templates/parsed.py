"""YAML texts that were read before: what is the same text for a thousand minions is read once.

The key is the whole text, so that what comes of it depends on nothing else: a text that was made
with one minion's data is found again by the same text alone. Values are kept packed, so that each
caller gets one of its own, faster than by copying. A text is kept when it comes for the second
time: most of one minion's never do. Kept are the texts used last, as many as fit into
:data:`KEPT_BYTES`.
"""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict
from typing import Any

from saltlite.config.plainlines import UNREAD, read_document

KEPT_BYTES = 16 * 1024 * 1024
"""Memory for texts and their values in one process."""

ONE_BYTES = 1024 * 1024
"""Larger ones are not kept."""

MET_MOST = 10_000
"""Texts of which is known that they came once."""


class ParsedTexts:
    """Texts and the values they stand for, those used last at the end."""

    def __init__(self, kept_bytes: int = KEPT_BYTES) -> None:
        self._limit = kept_bytes
        self._lock = threading.Lock()
        self._size = 0
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._met: set[int] = set()

    @property
    def size(self) -> int:
        """Bytes of memory of all that is kept."""
        return self._size

    def load(self, text: str, path: str, *, keep: bool = False) -> Any:
        """As :func:`saltlite.config.yaml.load`, the lines of keys apart.

        With ``keep`` it is kept although it has not come before.
        """
        with self._lock:
            found = self._kept.get(text)
            if found is not None:
                self._kept.move_to_end(text)
        if found is not None:
            import msgpack

            return msgpack.unpackb(found, strict_map_key=False)
        value = load(text, path)
        if keep or self._has_met(text):
            self._keep_value(text, value)
        return value

    def _has_met(self, text: str) -> bool:
        """Whether a text came before; two of one hash are taken for one, and kept too early."""
        stamp = hash(text)
        with self._lock:
            if stamp in self._met:
                return True
            if len(self._met) >= MET_MOST:
                self._met.clear()
            self._met.add(stamp)
        return False

    def _keep_value(self, text: str, value: object) -> None:
        if len(text) > ONE_BYTES:
            return
        import msgpack

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


def load(text: str, path: str) -> Any:
    """A document's value; only what is more than plain lines pays for PyYAML.

    Raises:
        ConfigError: not one well-formed document; names ``path`` and the line.
    """
    value = read_document(text)
    if value is not UNREAD:
        return value
    from saltlite.config.yaml import LinedMap
    from saltlite.config.yaml import load as load_with_lines

    value = load_with_lines(text, path)
    return dict(value) if isinstance(value, LinedMap) else value


_texts = ParsedTexts()


def load_yaml(text: str, path: str, *, keep: bool = False) -> Any:
    """The value of a YAML document, which belongs to the caller.

    ``keep``: others will ask for the same text.

    Raises:
        ConfigError: not one well-formed document; names ``path`` and the line.
    """
    return _texts.load(text, path, keep=keep)
