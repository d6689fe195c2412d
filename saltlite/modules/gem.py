"""Packages of Ruby: install, remove and list them with RubyGems.

``gem_bin`` is another program than the ``gem`` in the search path; ``ruby`` is a Ruby of rvm or
rbenv, where one of them is there. Source: observed on Salt 3006.30.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.arguments import takes_options
from saltlite.core.dataclasses import dataclass
from saltlite.errors import FunctionError
from saltlite.host import Host
from saltlite.providers import command
from saltlite.providers import gem as _gem
from saltlite.providers.command import CommandOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class GemCaller:
    """Which gem runs, and as whom."""

    ruby: str | None = None
    runas: str | None = None
    gem_bin: str | None = None


def _run_gem(ctx: MinionContext, caller: GemCaller, words: Sequence[str]) -> str:
    """What gem said; raises FunctionError with what it complains about."""
    argv = [*_gem_command(ctx.host, caller), *words]
    done = command.run(ctx, argv, CommandOptions(runas=caller.runas, python_shell=False))
    if done.retcode != 0:
        raise FunctionError(done.stderr or done.stdout)
    return done.stdout


def _gem_command(host: Host, caller: GemCaller) -> list[str]:
    if caller.gem_bin:
        return [caller.gem_bin]
    if caller.ruby and host.which("rvm"):
        return ["rvm", str(caller.ruby), "do", "gem"]
    if caller.ruby and host.which("rbenv"):
        return ["env", f"RBENV_VERSION={caller.ruby}", "rbenv", "exec", "gem"]
    return ["gem"]


def _split_names(gems: Any) -> list[str]:
    return gems.split() if isinstance(gems, str) else [str(each) for each in gems]


@takes_options(GemCaller, "ruby gem_bin runas version rdoc ri pre_releases proxy source")
def install(
    ctx: MinionContext,
    caller: GemCaller,
    /,
    gems: object,
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
    known = _run_gem(ctx, caller, ["--version"])
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
    return _run_gem(ctx, caller, words)


@takes_options(GemCaller)
def uninstall(ctx: MinionContext, caller: GemCaller, /, gems: object) -> str:
    """Remove all versions of gems, and their programs; what gem said.

    CLI Example:

        salt '*' gem.uninstall vagrant
    """
    return _run_gem(ctx, caller, ["uninstall", *_split_names(gems), "-a", "-x"])


@takes_options(GemCaller)
def update(ctx: MinionContext, caller: GemCaller, /, gems: object) -> str:
    """Bring gems to their newest version; what gem said.

    CLI Example:

        salt '*' gem.update vagrant
    """
    return _run_gem(ctx, caller, ["update", *_split_names(gems)])


@takes_options(GemCaller)
def update_system(ctx: MinionContext, caller: GemCaller, /, version: str = "") -> str:
    """Bring RubyGems itself to its newest version, or to ``version``; what gem said.

    CLI Example:

        salt '*' gem.update_system
    """
    words = ["update", "--system", *([str(version)] if version else [])]
    return _run_gem(ctx, caller, words)


@takes_options(GemCaller)
def version(ctx: MinionContext, caller: GemCaller, /) -> str:
    """The version of RubyGems.

    CLI Example:

        salt '*' gem.version
    """
    return _run_gem(ctx, caller, ["--version"]).strip()


@takes_options(GemCaller)
def list_(ctx: MinionContext, caller: GemCaller, /, prefix: str = "") -> dict[str, list[str]]:
    """The installed gems and their versions; those whose name begins with ``prefix``.

    CLI Example:

        salt '*' gem.list
    """
    words = ["list", *([prefix] if prefix else [])]
    return _gem.parse_listed(_run_gem(ctx, caller, words))


@takes_options(GemCaller)
def list_upgrades(ctx: MinionContext, caller: GemCaller, /) -> dict[str, str]:
    """The gems that are not the newest, and which version is.

    CLI Example:

        salt '*' gem.list_upgrades
    """
    return _gem.parse_outdated(_run_gem(ctx, caller, ["outdated"]))


@takes_options(GemCaller)
def sources_add(ctx: MinionContext, caller: GemCaller, /, source_uri: str) -> str:
    """Get gems from this address too; what gem said.

    CLI Example:

        salt '*' gem.sources_add http://rubygems.org/
    """
    return _run_gem(ctx, caller, ["sources", "--add", source_uri])


@takes_options(GemCaller)
def sources_remove(ctx: MinionContext, caller: GemCaller, /, source_uri: str) -> str:
    """Get no gems from this address any more; what gem said.

    CLI Example:

        salt '*' gem.sources_remove http://rubygems.org/
    """
    return _run_gem(ctx, caller, ["sources", "--remove", source_uri])


@takes_options(GemCaller)
def sources_list(ctx: MinionContext, caller: GemCaller, /) -> list[str]:
    """The addresses from which gems are got.

    CLI Example:

        salt '*' gem.sources_list
    """
    return _gem.parse_sources(_run_gem(ctx, caller, ["sources"]))
