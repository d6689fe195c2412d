"""Prints what functions return: outputter, colours, file or terminal.

Source: docs/cli.md, tests/cases/data/cli_samples.yaml.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TextIO

from saltlite.core.output_options import OutputOptions
from saltlite.core.plain import Plain
from saltlite.loader.outputters import render

if TYPE_CHECKING:
    import optparse
    from collections.abc import Sequence

    from saltlite.config.master import MasterConfig
    from saltlite.config.minion import MinionConfig


class Screen:
    """Where one command's output goes and how it looks.

    ``outputter`` is what the user asked for, ``None`` if nothing.
    """

    def __init__(
        self,
        options: OutputOptions,
        outputter: str | None,
        stream: TextIO,
        config: MasterConfig | MinionConfig | None = None,
    ) -> None:
        self.options = options
        self._config = config
        self.outputter = outputter
        self._stream = stream

    @classmethod
    def of(
        cls,
        config: MasterConfig | MinionConfig,
        options: optparse.Values,
        words: Sequence[str] = (),
    ) -> Screen:
        """As the configuration and the command line say; both have been checked.

        ``exclude=True,None`` among the ``words`` of a call are results that ``filter`` hides,
        ``terse=True,None`` those that it shows in one line.
        """
        section = config.output
        wanted = {name: getattr(section, name, None) for name in OutputOptions.__slots__}
        stream = _open_stream(
            section.output_file, bool(getattr(options, "output_file_append", False))
        )
        color = section.color and stream.isatty() and not section.output_file
        wanted["color"] = color or bool(getattr(options, "force_color", False))
        if "strip_colors" not in config.source:
            wanted["strip_colors"] = True  # what a minion returns must not steer the terminal
        for word in words:
            name, _, results = word.partition("=")
            if name in ("exclude", "terse"):
                option = f"state_output_{name}"
                wanted[option] = [*(wanted[option] or ()), *results.split(",")]
        return cls(OutputOptions.of(wanted), section.output, stream, config)

    def show(self, data: Plain, outputter: str | None = None, *, retcode: int = 0) -> None:
        """Print ``data``; the user's outputter goes before ``outputter``."""
        options = self.options
        if retcode:
            from saltlite.core import dataclasses

            options = dataclasses.replace(options, retcode=retcode)
        text = render(data, self.outputter or outputter, options, self._config)
        if text:
            self.line(text)

    def line(self, text: str = "") -> None:
        """Print a line, harmless on a terminal; it is seen at once also through a pipe."""
        self._stream.write(f"{self.options.clean_painted(text)}\n")
        self._stream.flush()


def _open_stream(path: str | None, append: bool) -> TextIO:
    if not path:
        return sys.stdout
    return open(path, "a" if append else "w", encoding="utf-8")
