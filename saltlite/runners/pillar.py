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


def why(
    ctx: RunnerContext,
    key: str,
    minion: str = "*",
    pillarenv: str | None = None,
    show_values: bool = False,
) -> dict[str, Any]:
    """Tell which file and line set a key of a minion's pillar, and what that overrode.

    ``set_by`` is the file or source that won, ``overrode`` those before it, the nearest first. A
    map or list that several have parts of has them in ``joined_from`` instead, in the order in
    which they joined. The pillar is compiled as for ``pillar.show_pillar``; values are shown only
    with ``show_values``.

    key
        The key, ``a:b:c`` for nested ones.

    minion
        The minion whose pillar it is; without one the master itself.

    CLI Example:

        salt-run pillar.why users:ann:shell minion=web1
        salt-run pillar.why nginx:workers web1 show_values=True
    """
    from saltlite.pillar.context import explain_for_minion
    from saltlite.pillar.origins import tell

    minion_id, grains = _find_minion(ctx, minion)
    found = explain_for_minion(ctx.config, minion_id, grains, str(key), pillarenv=pillarenv)
    return {"minion": minion_id, **tell(found, show_values=show_values)}


def show_top(
    ctx: RunnerContext, minion: str | None = None, saltenv: str = "base", sources: bool = False
) -> dict[str, Any] | list[str]:
    """Return the pillar's top files as one, or what is wrong with them.

    They are rendered with the grains of a minion, and told with all targets, also those that do not
    mean it: ``pillar.show_pillar`` tells what it would get. Without a minion it is the first one of
    which grains are cached. With ``sources`` it is told instead which SLS are for the minion and
    which line says so, and in which turn sources of ``ext_pillar`` come.

    CLI Example:

        salt-run pillar.show_top
        salt-run pillar.show_top web1
        salt-run pillar.show_top web1 sources=True
    """
    from saltlite.pillar.context import sources_for_minion, top_for_minion

    del saltenv
    if minion is None:
        cached = ctx.cache.list("grains")
        minion = cached[0] if cached else "*"
    minion_id, grains = _find_minion(ctx, minion)
    if sources:
        told, problems = sources_for_minion(ctx.config, minion_id, grains)
        return problems or told
    top, errors = top_for_minion(ctx.config, minion_id, grains)
    return errors or top


def _find_minion(ctx: RunnerContext, minion: str) -> tuple[str, dict[str, Any]]:
    """The minion's id, and its grains as far as they are cached; ``*`` is the master itself."""
    if minion == "*":
        return ctx.config.process.id, {}
    grains = ctx.cache.fetch("grains", str(minion))
    return str(minion), dict(grains) if isinstance(grains, dict) else {}
