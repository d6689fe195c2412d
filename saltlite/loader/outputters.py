"""Outputters by name. Only the one that is asked for is imported."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from saltlite.core.output_options import OutputOptions
from saltlite.core.plain import Plain
from saltlite.loader import catalogue
from saltlite.loader.catalogue import OUTPUTTERS

if TYPE_CHECKING:
    from saltlite.config.master import MasterConfig
    from saltlite.config.minion import MinionConfig

log = logging.getLogger(__name__)

DEFAULT: Final = "nested"

Outputter = Callable[[Plain, OutputOptions], str]


def outputter(name: str | None) -> Outputter:
    """The outputter ``name``; nested, with a line in the log, if there is none such."""
    if name and name not in OUTPUTTERS:
        log.error("Invalid outputter %s specified, fall back to nested", name)
    loaded = OUTPUTTERS.load(name or DEFAULT) or OUTPUTTERS.load(DEFAULT)
    chosen: Outputter = vars(loaded)["output"]
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
        from saltlite.loader.custom_outputters import custom_text

        text = custom_text(config, name, data, options)
        if text is not None:
            return text.rstrip()
    return outputter(name)(data, options).rstrip()
