"""``pillar.*``: what pillar a minion would get."""

from __future__ import annotations

from typing import Any

from saltlite.core.keywords import own_keywords
from saltlite.runner_context import RunnerContext


def show_pillar(ctx: RunnerContext, minion: str = "*", **kwargs: Any) -> dict[str, Any]:
    """Compile the pillar of a minion, as it would get it with the grains that are cached of it.

    Keywords go before these grains; ``saltenv`` and ``pillarenv`` choose the environment.

    CLI Example:

        salt-run pillar.show_pillar web1
        salt-run pillar.show_pillar web1 os=Debian pillarenv=dev
    """
    from saltlite.pillar.context import compile_for_minion

    over = own_keywords(kwargs)
    over.pop("saltenv", None)
    pillarenv = over.pop("pillarenv", None)
    minion_id, grains = _find_minion(ctx, minion)
    return compile_for_minion(ctx.config, minion_id, {**grains, **over}, pillarenv=pillarenv)


def show_top(
    ctx: RunnerContext, minion: str | None = None, saltenv: str = "base"
) -> dict[str, dict[str, list[Any]]] | list[str]:
    """Return the pillar's top files as one, or what is wrong with them.

    They are rendered with the grains of a minion, and told with all targets, also those that do not
    mean it: ``pillar.show_pillar`` tells what it would get. Without a minion it is the first one of
    which grains are cached.

    CLI Example:

        salt-run pillar.show_top
        salt-run pillar.show_top web1
    """
    from saltlite.pillar.context import top_for_minion

    del saltenv
    if minion is None:
        cached = ctx.cache.list("grains")
        minion = cached[0] if cached else "*"
    minion_id, grains = _find_minion(ctx, minion)
    top, errors = top_for_minion(ctx.config, minion_id, grains)
    return errors or top


def _find_minion(ctx: RunnerContext, minion: str) -> tuple[str, dict[str, Any]]:
    """The minion's id, and its grains as far as they are cached; ``*`` is the master itself."""
    if minion == "*":
        return ctx.config.process.id, {}
    grains = ctx.cache.fetch("grains", str(minion))
    return str(minion), dict(grains) if isinstance(grains, dict) else {}
