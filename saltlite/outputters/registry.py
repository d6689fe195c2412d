"""Outputters by name. Only the one that is asked for is imported."""

from __future__ import annotations

import logging
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

from saltlite.core.plain import Plain
from saltlite.loader import catalogue
from saltlite.outputters.options import OutputOptions

if TYPE_CHECKING:
    from saltlite.config.master import MasterConfig
    from saltlite.config.minion import MinionConfig

log = logging.getLogger(__name__)

Outputter = Callable[[Plain, OutputOptions], str]

OUTPUTTERS = {
    "nested": "nested:output",
    "json": "plain:output_json",
    "yaml": "plain:output_yaml",
    "txt": "plain:output_txt",
    "raw": "plain:output_raw",
    "pprint": "plain:output_pprint",
    "quiet": "plain:output_quiet",
    "newline_values_only": "plain:output_newline_values_only",
    "no_return": "no_return:output",
    "key": "key:output",
    "highstate": "highstate:output",
    "table": "table:output",
    "profile": "profile:output",
}
"""Name -> ``module:function`` below this package. A table, so that no name reaches an import."""


def outputter(name: str | None) -> Outputter:
    """The outputter ``name``; nested, with a line in the log, if there is none such."""
    if name and name not in OUTPUTTERS:
        log.error("Invalid outputter %s specified, fall back to nested", name)
    place = OUTPUTTERS.get(name or "nested", OUTPUTTERS["nested"])
    module, function = place.split(":")
    chosen: Outputter = vars(import_module(f"saltlite.outputters.{module}"))[function]
    return chosen


def render(
    data: Plain,
    name: str | None,
    options: OutputOptions,
    config: MasterConfig | MinionConfig | None = None,
) -> str:
    """``data`` as text, no blanks or newlines at its end; ``""`` if nothing is to be printed.

    With a configuration users' own outputters are asked first.
    """
    if config is not None and name and catalogue.has_custom_code(config, "output"):
        from saltlite.outputters.custom import custom_text

        text = custom_text(config, name, data, options)
        if text is not None:
            return text.rstrip()
    return outputter(name)(data, options).rstrip()
