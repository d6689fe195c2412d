"""Outputters from users' ``_output`` files: ``output(data, **kwargs)`` gives the text."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from saltlite.context import NoFunctions
from saltlite.core import dataclasses
from saltlite.core.dataclasses import dataclass, field
from saltlite.core.output_options import OutputOptions
from saltlite.core.plain import Plain

if TYPE_CHECKING:
    from saltlite.config.master import MasterConfig
    from saltlite.config.minion import MinionConfig

log = logging.getLogger(__name__)


@dataclass
class OutputContext:
    """What outputters are loaded for."""

    config: MasterConfig | MinionConfig
    functions: NoFunctions = field(default_factory=NoFunctions)


def custom_text(
    config: MasterConfig | MinionConfig, name: str, data: Plain, options: OutputOptions
) -> str | None:
    """``data`` as the user's outputter ``name`` shows it; ``None`` if there is none that can."""
    from saltlite.loader.surroundings import Surroundings

    around = Surroundings(OutputContext(config))
    output = around.modules("output").get(f"{name}.output")
    if output is None:
        return None
    kwargs: dict[str, Any] = {"_retcode": options.retcode}
    with around.with_opts(**dataclasses.asdict(options)):
        try:
            return str(output(data, **kwargs))
        except Exception as error:  # noqa: BLE001 - a user's function
            log.error("outputter %s: %s: %s", name, type(error).__name__, error)
            return None
