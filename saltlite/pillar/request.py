"""The request for a pillar. Source: docs/wire.md#_pillar."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saltlite.config.minion import MinionConfig
from saltlite.core.data import copy_data
from saltlite.core.datalimits import extra_data_problem, grains_problem
from saltlite.core.plain import PlainMap
from saltlite.errors import ConfigError, WireError

NO_OVERRIDE: PlainMap = {}


def options_for_ext_pillars(config: MinionConfig, grains: Mapping[str, object]) -> dict[str, Any]:
    """The options that ``pass_to_ext_pillars`` names, ``a:b`` being ``b`` below ``a``.

    Those that are not there are left out.

    Raises:
        ConfigError: it is no list of names.
        WireError: they are larger than a master takes.
    """
    paths = config.pillar.pass_to_ext_pillars
    if not isinstance(paths, (list, tuple)) or not all(isinstance(one, str) for one in paths):
        raise ConfigError(
            "'pass_to_ext_pillars' config is malformed. It takes a list of options: `name` or `a:b`"
        )
    if not paths:
        return {}
    from saltlite.config.opts import flat_opts

    opts = {**flat_opts(config), "grains": grains}
    passed: dict[str, Any] = {}
    for path in paths:
        _pass_value(opts, path.split(":"), passed)
    problem = extra_data_problem(passed)
    if problem is not None:
        raise WireError(problem)
    return passed


def _pass_value(data: object, names: list[str], passed: dict[str, Any]) -> None:
    """Copy the value at a path, if there is one."""
    above = names[:-1]
    for name in above:
        data = data.get(name) if isinstance(data, Mapping) else None
    if not isinstance(data, Mapping) or names[-1] not in data:
        return
    for name in above:
        passed = passed.setdefault(name, {})
    passed[names[-1]] = copy_data(data[names[-1]])


def pillar_load(
    config: MinionConfig,
    grains: Mapping[str, object],
    *,
    saltenv: str | None = None,
    pillarenv: str | None = None,
    override: PlainMap = NO_OVERRIDE,
    clean_cache: bool = False,
) -> dict[str, Any]:
    """The load of ``_pillar``; environments that are not given are those of the configuration.

    ``clean_cache``: what the master has compiled before does not count.

    Raises:
        WireError: grains or options are larger than a master takes; the text names the largest.
        ConfigError: ``pass_to_ext_pillars`` is no list of names.
    """
    problem = grains_problem(grains)
    if problem is not None:
        raise WireError(problem)
    saltenv = saltenv or config.files.saltenv
    if pillarenv is None:
        follows = config.pillar.pillarenv_from_saltenv
        pillarenv = saltenv if follows else config.pillar.pillarenv
    load: dict[str, Any] = {
        "cmd": "_pillar",
        "id": config.identity.id,
        "grains": dict(grains),
        "saltenv": saltenv,
        "pillarenv": pillarenv,
        "pillar_override": dict(override),
        "extra_minion_data": options_for_ext_pillars(config, grains),
        "ver": "2",
    }
    return {**load, "clean_cache": True} if clean_cache else load
