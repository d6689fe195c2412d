"""Packages of Ruby: install, remove and list them with RubyGems.

``gem_bin`` is another program than the ``gem`` in the search path; ``ruby`` is a Ruby of rvm or
rbenv, where one of them is there. Source: observed on Salt 3006.30.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.errors import FunctionError
from saltlite.providers import command
from saltlite.providers import gem as _gem
from saltlite.providers.command import CommandOptions


def _run_gem(
    ctx: MinionContext,
    words: Sequence[str],
    ruby: str | None,
    runas: str | None,
    gem_bin: str | None,
) -> str:
    """What gem said; raises FunctionError with what it complains about."""
    argv = [*_gem_command(ctx, ruby, gem_bin), *words]
    done = command.run(ctx, argv, CommandOptions(runas=runas, python_shell=False))
    if done.retcode != 0:
        raise FunctionError(done.stderr or done.stdout)
    return done.stdout


def _gem_command(ctx: MinionContext, ruby: str | None, gem_bin: str | None) -> list[str]:
    if gem_bin:
        return [gem_bin]
    if ruby and ctx.host.which("rvm"):
        return ["rvm", str(ruby), "do", "gem"]
    if ruby and ctx.host.which("rbenv"):
        return ["env", f"RBENV_VERSION={ruby}", "rbenv", "exec", "gem"]
    return ["gem"]


def _split_names(gems: Any) -> list[str]:
    return gems.split() if isinstance(gems, str) else [str(each) for each in gems]


def install(
    ctx: MinionContext,
    gems: object,
    ruby: str | None = None,
    gem_bin: str | None = None,
    runas: str | None = None,
    version: object = None,
    rdoc: bool = False,
    ri: bool = False,
    pre_releases: bool = False,
    proxy: str | None = None,
    source: str | None = None,
) -> str:
    """Install gems, a list or a text with blanks between; what gem said.

    CLI Example:

        salt '*' gem.install vagrant
        salt '*' gem.install redphone gem_bin=/opt/sensu/embedded/bin/gem
    """
    known = _run_gem(ctx, ["--version"], ruby, runas, gem_bin)
    words = _gem.installing(
        _split_names(gems),
        known,
        version=None if version is None else str(version),
        rdoc=rdoc,
        ri=ri,
        pre_releases=pre_releases,
        proxy=proxy,
        source=source,
    )
    return _run_gem(ctx, words, ruby, runas, gem_bin)


def uninstall(
    ctx: MinionContext,
    gems: object,
    ruby: str | None = None,
    runas: str | None = None,
    gem_bin: str | None = None,
) -> str:
    """Remove all versions of gems, and their programs; what gem said.

    CLI Example:

        salt '*' gem.uninstall vagrant
    """
    return _run_gem(ctx, ["uninstall", *_split_names(gems), "-a", "-x"], ruby, runas, gem_bin)


def update(
    ctx: MinionContext,
    gems: object,
    ruby: str | None = None,
    runas: str | None = None,
    gem_bin: str | None = None,
) -> str:
    """Bring gems to their newest version; what gem said.

    CLI Example:

        salt '*' gem.update vagrant
    """
    return _run_gem(ctx, ["update", *_split_names(gems)], ruby, runas, gem_bin)


def update_system(
    ctx: MinionContext,
    version: str = "",
    ruby: str | None = None,
    runas: str | None = None,
    gem_bin: str | None = None,
) -> str:
    """Bring RubyGems itself to its newest version, or to ``version``; what gem said.

    CLI Example:

        salt '*' gem.update_system
    """
    words = ["update", "--system", *([str(version)] if version else [])]
    return _run_gem(ctx, words, ruby, runas, gem_bin)


def version(
    ctx: MinionContext,
    ruby: str | None = None,
    runas: str | None = None,
    gem_bin: str | None = None,
) -> str:
    """The version of RubyGems.

    CLI Example:

        salt '*' gem.version
    """
    return _run_gem(ctx, ["--version"], ruby, runas, gem_bin).strip()


def list_(
    ctx: MinionContext,
    prefix: str = "",
    ruby: str | None = None,
    runas: str | None = None,
    gem_bin: str | None = None,
) -> dict[str, list[str]]:
    """The installed gems and their versions; those whose name begins with ``prefix``.

    CLI Example:

        salt '*' gem.list
    """
    words = ["list", *([prefix] if prefix else [])]
    return _gem.parse_listed(_run_gem(ctx, words, ruby, runas, gem_bin))


def list_upgrades(
    ctx: MinionContext,
    ruby: str | None = None,
    runas: str | None = None,
    gem_bin: str | None = None,
) -> dict[str, str]:
    """The gems that are not the newest, and which version is.

    CLI Example:

        salt '*' gem.list_upgrades
    """
    return _gem.parse_outdated(_run_gem(ctx, ["outdated"], ruby, runas, gem_bin))


def sources_add(
    ctx: MinionContext,
    source_uri: str,
    ruby: str | None = None,
    runas: str | None = None,
    gem_bin: str | None = None,
) -> str:
    """Get gems from this address too; what gem said.

    CLI Example:

        salt '*' gem.sources_add http://rubygems.org/
    """
    return _run_gem(ctx, ["sources", "--add", source_uri], ruby, runas, gem_bin)


def sources_remove(
    ctx: MinionContext,
    source_uri: str,
    ruby: str | None = None,
    runas: str | None = None,
    gem_bin: str | None = None,
) -> str:
    """Get no gems from this address any more; what gem said.

    CLI Example:

        salt '*' gem.sources_remove http://rubygems.org/
    """
    return _run_gem(ctx, ["sources", "--remove", source_uri], ruby, runas, gem_bin)


def sources_list(
    ctx: MinionContext,
    ruby: str | None = None,
    runas: str | None = None,
    gem_bin: str | None = None,
) -> list[str]:
    """The addresses from which gems are got.

    CLI Example:

        salt '*' gem.sources_list
    """
    return _gem.parse_sources(_run_gem(ctx, ["sources"], ruby, runas, gem_bin))
