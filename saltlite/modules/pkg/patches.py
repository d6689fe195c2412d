"""Advisories of dnf and yum, patches of zypper."""

from __future__ import annotations

from typing import Any

from saltlite.context import MinionContext
from saltlite.modules.pkg._backend import refuse_root
from saltlite.providers.pkg import patches, provider
from saltlite.providers.pkg.names import truth
from saltlite.providers.pkg.protocol import NO_OPTIONS


def list_patches(
    ctx: MinionContext, refresh: bool = False, root: str | None = None, **kwargs: Any
) -> dict[str, Any]:
    """The patches there are: ``{id: {"installed", "summary"}}``.

    With dnf the summary is a list of packages.

    CLI Example:

        salt '*' pkg.list_patches
    """
    refuse_root(root)
    known = patches.patches(ctx, "list_patches")
    if truth(refresh):
        provider(ctx).refresh(NO_OPTIONS)
    return known.list_patches()


def list_installed_patches(
    ctx: MinionContext, root: str | None = None, **kwargs: Any
) -> dict[str, Any]:
    """The patches that are installed.

    CLI Example:

        salt '*' pkg.list_installed_patches
    """
    refuse_root(root)
    known = patches.patches(ctx, "list_installed_patches").list_patches()
    return {each: patch for each, patch in known.items() if patch["installed"]}
