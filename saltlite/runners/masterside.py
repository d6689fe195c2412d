"""Execution functions where there is no minion: a context made from the master's options."""

from __future__ import annotations

from typing import cast

from saltlite.context import Functions, MinionContext
from saltlite.runners.context import RunnerContext


def execution_context(ctx: RunnerContext) -> MinionContext:
    """What execution functions get on the master: its files, its grains, no pillar, no minion."""
    from saltlite.config.minion import (
        FileOptions,
        IdentityOptions,
        MinionConfig,
        PathOptions,
        ReturnOptions,
    )
    from saltlite.grains import load_grains
    from saltlite.host import Host
    from saltlite.loader.registry import Registry

    paths, files = ctx.config.paths, ctx.config.files
    config = MinionConfig(
        identity=IdentityOptions(id=ctx.config.process.id),
        paths=PathOptions(
            root_dir=paths.root_dir,
            conf_file=paths.conf_file,
            cachedir=paths.cachedir,
            pki_dir=paths.pki_dir,
            sock_dir=paths.sock_dir,
            extension_modules=paths.extension_modules,
            module_dirs=paths.module_dirs,
        ),
        files=FileOptions(file_client="local", file_roots=files.file_roots),
        returns=ReturnOptions(pub_ret=False),
        extra=ctx.config.extra,
    )
    host = Host()
    found = MinionContext(
        config=config,
        host=host,
        grains=load_grains(config, host),
        pillar={},
        functions=cast(Functions, None),
        events=ctx.events,
    )
    found.functions = Registry(found)
    return found
