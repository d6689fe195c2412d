"""What the user asked of the output, and the colours it may have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saltlite.core.dataclasses import dataclass, fields
from saltlite.core.terminal import sanitize, sanitize_but_colors

RESET = "\033[0;0m"
RED = "\033[0;31m"
GREEN = "\033[0;32m"
BLUE = "\033[0;34m"
PURPLE = "\033[0;35m"
CYAN = "\033[0;36m"
LIGHT_GRAY = "\033[0;37m"
DARK_GRAY = "\033[0;1;30m"
LIGHT_RED = "\033[0;1;31m"
LIGHT_GREEN = "\033[0;1;32m"
YELLOW = "\033[0;1;33m"
LIGHT_BLUE = "\033[0;1;34m"
LIGHT_PURPLE = "\033[0;1;35m"
WHITE = "\033[0;1;37m"


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputOptions:
    """The options that outputters read; names are Salt's.

    ``output_indent`` ``None`` leaves it to the outputter; negative means one line. ``retcode`` is
    the exit code of the function whose return is shown. Source: docs/cli.md,
    tests/cases/data/cli_samples.yaml.
    """

    color: bool = False
    output_indent: int | None = None
    strip_colors: bool = True
    retcode: int = 0
    state_output: str = "full"
    state_verbose: bool = True
    state_output_profile: bool = True
    state_output_pct: bool = False
    state_output_diff: bool = False
    state_output_exclude: tuple[str, ...] = ()
    """Results (``True``, ``False``, ``None``) that ``filter`` hides."""
    state_output_terse: tuple[str, ...] = ()
    """Results that ``filter`` shows in one line."""
    state_compress_ids: bool = False
    state_tabular: bool | str = False

    @classmethod
    def of(cls, source: Mapping[str, Any], **more: Any) -> OutputOptions:
        """Options picked out of a wider mapping; entries of other names or ``None`` are left."""
        names = {field.name for field in fields(cls)}
        known = {name: value for name, value in source.items() if name in names}
        known.update(more)
        # In YAML these are a word or a list of words.
        for name in ("state_output_exclude", "state_output_terse"):
            given = known.get(name)
            if isinstance(given, str):
                known[name] = (given,)
            elif isinstance(given, list):
                known[name] = tuple(str(item) for item in given)
        return cls(**{name: value for name, value in known.items() if value is not None})

    def paint(self, text: str, color: str) -> str:
        """``text`` in ``color``, if colours are on."""
        return f"{color}{text}{RESET}" if self.color else text

    def clean(self, text: str) -> str:
        """``text`` of others made harmless; colours stay with ``strip_colors`` off."""
        return sanitize(text) if self.strip_colors else sanitize_but_colors(text)

    def clean_painted(self, text: str) -> str:
        """The same for what an outputter has made: its own colours stay."""
        return sanitize_but_colors(text) if self.color else self.clean(text)
