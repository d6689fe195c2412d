"""Regular expressions that are compiled at their first use: a command needs few that it loads."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, AnyStr


class _LazyRegex:
    """Has the attributes of a compiled pattern, each from its first use on as its own."""

    _compiled: re.Pattern[Any] | None = None

    def __init__(self, source: str | bytes, flags: int) -> None:
        self._source = source
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.compile(), name)
        setattr(self, name, value)  # so that this is not asked again
        return value

    def compile(self) -> re.Pattern[Any]:
        if self._compiled is None:
            self._compiled = re.compile(self._source, self._flags)
        return self._compiled

    def __repr__(self) -> str:
        return f"regex({self._source!r})"


_ALL: list[_LazyRegex] = []


def compile_all() -> None:
    """Compile what was declared so far, for processes that are forked next."""
    for lazy in _ALL:
        lazy.compile()


def regex(source: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """As ``re.compile``, but an error in ``source`` shows at the first use. For constants.

    Functions of ``re`` do not take it for a pattern: use its methods.
    """
    lazy: Any = _LazyRegex(source, flags)
    _ALL.append(lazy)
    return lazy  # type: ignore[no-any-return]  # it has all attributes
