"""``localconfig``: a file whose options lie over the minion's, for one call of ``state.*``.

Whoever may call the function may name the file, as in Salt; but one that another user could have
written is refused, for its options choose the states that run. Source: observed on Salt 3006.30.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saltlite.config.minion import MinionConfig
from saltlite.context import MinionContext
from saltlite.core import dataclasses
from saltlite.errors import FunctionError, UsageError

NAME = "localconfig"

OVER_THE_CALL = ("saltenv", "pillarenv")
"""What counts if the file says it, whatever the call says."""

OF_THE_RUN = ("orchestration_jid",)
"""What a context knows of its run, not of its options."""


def read_for(
    ctx: MinionContext, given: Mapping[str, object]
) -> tuple[MinionConfig, dict[str, Any]]:
    """The configuration under which a call runs, and its keyword arguments as the file leaves them.

    A file's ``test`` does not count for functions that have an argument of that name.

    Raises:
        UsageError: ``localconfig`` is not the path of a file.
        ConfigError: the file cannot be used, or something in it is wrong.
        FunctionError: it asks for what a call cannot have: another id, or a master.
    """
    path, given = given.get(NAME), dict(given)
    if not path:
        return ctx.config, given
    if not isinstance(path, str):
        raise UsageError(f"{NAME}: found {path!r}, allowed: the path of a file")
    from saltlite.config.load import load_over

    config = load_over(ctx.config, path, without=("test",) if "test" in given else ())
    _check_change(ctx, config)
    said = {name for name in OVER_THE_CALL if _is_said(config, ctx.config, name)}
    options = {"saltenv": config.files.saltenv, "pillarenv": config.pillar.pillarenv}
    return config, {**given, **{name: options[name] for name in said}}


def context_for(ctx: MinionContext, config: MinionConfig) -> MinionContext:
    """The same job under another configuration: nothing that was made for the old one is kept.

    Grains that the file sets lie over the others. With ``file_client: local`` the master is not
    asked for anything.
    """
    from saltlite.loader.registry import with_functions

    grains = ctx.grains
    if _is_said(config, ctx.config, "grains"):
        grains = {**grains, **config.grains.grains}
    return with_functions(
        dataclasses.replace(
            ctx,
            config=config,
            grains=grains,
            master=None if _is_masterless(config) else ctx.master,
            state={name: ctx.state[name] for name in OF_THE_RUN if name in ctx.state},
            pillar_is_fresh=False,
        )
    )


def _check_change(ctx: MinionContext, config: MinionConfig) -> None:
    old, new = ctx.config.identity.id, config.identity.id
    # The connection is that of the old id: the master would take the requests for its.
    if ctx.master is not None and not _is_masterless(config) and new != old:
        raise FunctionError(f"{NAME}: id: {new} has no key here; the master knows {old}")
    if ctx.master is None and not _is_masterless(config) and _is_masterless(ctx.config):
        raise FunctionError(f"{NAME}: file_client: this call has no master")


def _is_masterless(config: MinionConfig) -> bool:
    return config.files.file_client == "local" and not config.files.use_master_when_local


def _is_said(config: MinionConfig, before: MinionConfig, name: str) -> bool:
    """Whether the file itself sets an option."""
    return config.source.get(name) is not before.source.get(name)
