"""``master_type: func``: a function of the minion, often a user's own, says which masters it has.

``master`` is the function's name then. It is asked once for each start, without a master, with the
minion's grains; what it gives is a name, or a list of names that the minion is connected to at the
same time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from saltlite.core.dataclasses import replace
from saltlite.errors import ConfigError, FunctionUnavailable

if TYPE_CHECKING:
    from saltlite.config.minion import MinionConfig
    from saltlite.context import MinionContext


def ask_function(ctx: MinionContext) -> str | list[str]:
    """The masters that the function of ``ctx.config`` names.

    Raises:
        ConfigError: ``master`` names no function, or it fails, or gives something else.
    """
    name = ctx.config.network.master
    if not isinstance(name, str) or not all(name.partition(".")):
        raise ConfigError(
            f"is {name!r}; with master_type: func it is a function, module.function",
            option="master",
        )
    try:
        found = ctx.functions.call(name)
    except FunctionUnavailable as error:
        raise ConfigError(str(error), option="master") from error
    except Exception as error:  # code of users
        problem = f"{name} failed: {type(error).__name__}: {error}"
        raise ConfigError(problem, option="master") from error
    return check_masters(name, found)


def check_masters(name: str, found: object) -> str | list[str]:
    """What a function named, if it is a name or a list of names.

    Raises:
        ConfigError: it is neither.
    """
    if isinstance(found, str) and found:
        return found
    if isinstance(found, list | tuple) and found and all(isinstance(one, str) for one in found):
        return list(found)
    raise ConfigError(f"{name} gave {found!r}, not a name or a list of names", option="master")


def set_masters(config: MinionConfig, masters: str | Sequence[str]) -> MinionConfig:
    """The configuration with the masters in place of the function's name."""
    return replace(config, network=replace(config.network, master=masters, master_type="str"))
