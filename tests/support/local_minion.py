"""A minion without a master, in a directory of the test."""

from __future__ import annotations

from saltlite.config.minion import FileOptions, IdentityOptions, MinionConfig, PathOptions
from saltlite.context import MinionContext
from saltlite.host import Host
from saltlite.loader.registry import Registry


def make(tmp_path, extra=None):
    config = MinionConfig(
        identity=IdentityOptions(id="web1"),
        paths=PathOptions(
            conf_file=str(tmp_path / "minion"),
            cachedir=str(tmp_path / "cache"),
            pki_dir=str(tmp_path / "pki"),
            extension_modules=str(tmp_path / "ext"),
        ),
        files=FileOptions(file_client="local", file_roots={"base": [str(tmp_path / "states")]}),
        extra=extra or {},
    )
    ctx = MinionContext(config=config, host=Host(), grains={"os": "Debian"}, pillar={})
    ctx.functions = Registry(ctx)
    return ctx
