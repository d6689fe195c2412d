"""The context in which a pillar is compiled: it stands for the minion; its files are pillar's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from saltlite.config.minion import MinionConfig
from saltlite.context import MinionContext, NoEvents
from saltlite.core import dataclasses
from saltlite.core.plain import PlainMap
from saltlite.core.services import EventSink
from saltlite.host import Host
from saltlite.pillar.request import NO_OVERRIDE

if TYPE_CHECKING:
    from saltlite.config.master import MasterConfig
    from saltlite.fileserver.mounts import Mount
    from saltlite.pillar.compiler import Compiler, Layer, Mistakes, Problem
    from saltlite.pillar.origins import Explained

MISTAKES = "pillar.mistakes"
"""What a context has found wrong so far; pillars of git repositories are compiled in one's own."""


def compile_for_minion(
    config: MasterConfig,
    minion_id: str,
    grains: PlainMap,
    *,
    pillarenv: str | None = None,
    override: PlainMap = NO_OVERRIDE,
    on_demand: Mapping[str, object] | None = None,
    extra_minion_data: PlainMap = NO_OVERRIDE,
) -> dict[str, Any]:
    """The pillar of a minion, on its master. Plain data that belongs to nobody else.

    ``on_demand`` names a further source, which counts if ``on_demand_ext_pillar`` has it.
    ``extra_minion_data`` goes to those sources of the master that have such an argument.
    """
    from saltlite.config.asminion import as_minion

    standing = as_minion(config, minion_id)
    return _compile_pillar(
        standing,
        config.pillar,
        grains,
        pillarenv=pillarenv or config.pillar.pillarenv,
        override=override,
        nodegroups=config.targets.nodegroups,
        events=NoEvents(),
        on_demand=_allow_on_demand(on_demand, config.pillar.on_demand_ext_pillar),
        owner=config,
        extra_minion_data=extra_minion_data,
    )


def check_for_minion(
    config: MasterConfig,
    minion_id: str,
    grains: PlainMap,
    *,
    pillarenv: str | None = None,
    layers: list[Layer] | None = None,
) -> tuple[dict[str, Any], list[Problem]]:
    """As :func:`compile_for_minion`, and what is wrong, which goes to no log.

    ``layers`` gets what each file and source gave.
    """
    from saltlite.config.asminion import as_minion

    standing = as_minion(config, minion_id)
    compiler = _make_compiler(
        standing,
        config.pillar,
        grains,
        pillarenv=pillarenv or config.pillar.pillarenv,
        nodegroups=config.targets.nodegroups,
        events=NoEvents(),
        owner=config,
    )
    compiler.mistakes.is_logged = False
    compiler.layers = layers
    return _finish_pillar(compiler, config.pillar, standing), compiler.mistakes.problems


def time_for_minion(
    config: MasterConfig,
    minion_id: str,
    grains: PlainMap,
    on_rendered: Callable[[str, float], None],
) -> list[Problem]:
    """Compile a minion's pillar of its files alone, and tell how long each took to render.

    Outer sources are not asked: some fetch, and keep what they have. What is wrong is returned.
    """
    from saltlite.config.asminion import as_minion

    compiler = _make_compiler(
        as_minion(config, minion_id),
        dataclasses.replace(config.pillar, ext_pillar=[]),
        grains,
        pillarenv=config.pillar.pillarenv,
        nodegroups=config.targets.nodegroups,
        events=NoEvents(),
        owner=config,
    )
    compiler.mistakes.is_logged = False
    compiler.on_rendered = on_rendered
    compiler.compile()
    return compiler.mistakes.problems


def compiler_of_nobody(config: MasterConfig) -> Compiler:
    """What compiles pillars on a master, for a minion without a name and without grains."""
    from saltlite.config.asminion import as_minion

    return _make_compiler(
        as_minion(config, ""),
        config.pillar,
        {},
        pillarenv=None,
        nodegroups=config.targets.nodegroups,
        events=NoEvents(),
        owner=config,
    )


def compile_masterless(
    ctx: MinionContext,
    *,
    pillarenv: str | None = None,
    override: PlainMap = NO_OVERRIDE,
    on_demand: Mapping[str, object] | None = None,
) -> dict[str, Any]:
    """The pillar of a minion without a master, of its own ``pillar_roots``."""
    config = ctx.config
    saltenv = config.files.saltenv if config.pillar.pillarenv_from_saltenv else None
    from saltlite.pillar.compiler import Mistakes

    return _compile_pillar(
        config,
        config.pillar,
        ctx.grains,
        pillarenv=pillarenv or config.pillar.pillarenv or saltenv,
        override=override,
        nodegroups=config.extra.get("nodegroups") or {},
        events=ctx.events,
        before=ctx.pillar,
        on_demand=_allow_on_demand(on_demand, config.extra.get("on_demand_ext_pillar")),
        mistakes=ctx.state.setdefault(MISTAKES, Mistakes(config.identity.id)),
    )


def _allow_on_demand(
    on_demand: Mapping[str, object] | None, names: object
) -> list[Mapping[str, Any]]:
    """The source that is asked for, if the option names it and it is none of the built-in ones.

    Those run commands, read files and fetch addresses: what they get is for the master's own
    configuration to say. Source: CVE-2025-22237.
    """
    if not isinstance(on_demand, Mapping) or len(on_demand) != 1:
        return []
    from saltlite.loader.catalogue import PILLAR

    name = next(iter(on_demand))
    wanted = isinstance(names, (list, tuple)) and name in names and name not in PILLAR
    return [on_demand] if wanted else []


def top_for_minion(
    config: MasterConfig, minion_id: str, grains: PlainMap, *, pillarenv: str | None = None
) -> tuple[dict[str, dict[str, list[Any]]], list[str]]:
    """The top files as they render for a minion, with all targets; and what is wrong with them."""
    return _make_masters_compiler(config, minion_id, grains, pillarenv).top()


def sources_for_minion(
    config: MasterConfig, minion_id: str, grains: PlainMap
) -> tuple[dict[str, dict[str, str]], list[str]]:
    """Which files and sources are for a minion, and what says so; and what is wrong with it."""
    compiler = _make_masters_compiler(config, minion_id, grains, None)
    return compiler.sources(), [problem.text for problem in compiler.mistakes.problems]


def explain_for_minion(
    config: MasterConfig,
    minion_id: str,
    grains: PlainMap,
    key: str,
    *,
    pillarenv: str | None = None,
) -> Explained:
    """Which file or source set a key of a minion's pillar, and what that overrode.

    Raises:
        SaltliteError: the pillar has no such key.
    """
    from saltlite.pillar.origins import explain

    wanted = pillarenv or config.pillar.pillarenv
    compiler = _make_masters_compiler(config, minion_id, grains, wanted)
    compiler.mistakes.is_logged = False
    return explain(compiler, key)


def explain_masterless(ctx: MinionContext, key: str, *, pillarenv: str | None = None) -> Explained:
    """The same of a minion without a master."""
    from saltlite.pillar.origins import explain

    config = ctx.config
    compiler = _make_compiler(
        config,
        config.pillar,
        ctx.grains,
        pillarenv=pillarenv or config.pillar.pillarenv,
        nodegroups=config.extra.get("nodegroups") or {},
        events=ctx.events,
    )
    compiler.mistakes.is_logged = False
    return explain(compiler, key)


def _make_masters_compiler(
    config: MasterConfig, minion_id: str, grains: PlainMap, pillarenv: str | None
) -> Compiler:
    """What compiles the pillar of a minion on its master, for who only looks."""
    from saltlite.config.asminion import as_minion

    return _make_compiler(
        as_minion(config, minion_id),
        config.pillar,
        grains,
        pillarenv=pillarenv,
        nodegroups=config.targets.nodegroups,
        events=NoEvents(),
        owner=config,
    )


def compile_directories(
    ctx: MinionContext, saltenv: str, mounts: Sequence[Mount]
) -> dict[str, Any]:
    """The pillar that directories from elsewhere hold for the minion of ``ctx``.

    They are all of ``saltenv``. No outer source is asked, and no link leads out of the directories.
    """
    options = dataclasses.replace(
        ctx.config.pillar,
        pillar_roots={saltenv: [directory for directory, _below in mounts]},
        ext_pillar=[],
    )
    files = dataclasses.replace(ctx.config.files, fileserver_followsymlinks=False)
    compiler = _make_compiler(
        dataclasses.replace(ctx.config, files=files),
        options,
        ctx.grains,
        pillarenv=options.pillarenv,
        nodegroups=ctx.config.extra.get("nodegroups") or {},
        events=ctx.events,
        before=ctx.pillar,
        mounts=mounts,
        mistakes=ctx.state.get(MISTAKES),
    )
    return compiler.compile()


def _compile_pillar(
    config: MinionConfig,
    options: object,
    grains: PlainMap,
    *,
    pillarenv: str | None,
    override: PlainMap,
    nodegroups: Mapping[str, object],
    events: EventSink,
    before: PlainMap = NO_OVERRIDE,
    on_demand: Sequence[Mapping[str, object]] = (),
    mistakes: Mistakes | None = None,
    owner: MasterConfig | None = None,
    extra_minion_data: PlainMap = NO_OVERRIDE,
) -> dict[str, Any]:
    compiler = _make_compiler(
        config,
        options,
        grains,
        pillarenv=pillarenv,
        nodegroups=nodegroups,
        events=events,
        before=before,
        mistakes=mistakes,
        owner=owner,
    )
    compiler.on_demand = on_demand
    compiler.extra_minion_data = extra_minion_data
    return _finish_pillar(compiler, options, config, override)


def _finish_pillar(
    compiler: Compiler, options: Any, config: MinionConfig, override: PlainMap = NO_OVERRIDE
) -> dict[str, Any]:
    pillar = compiler.compile(override)
    if options.pillar_opts:
        from saltlite.config.opts import flat_opts

        pillar["master"] = flat_opts(config)
    return pillar


def _make_compiler(
    config: MinionConfig,
    options: Any,
    grains: PlainMap,
    *,
    pillarenv: str | None,
    nodegroups: Mapping[str, object],
    events: EventSink,
    before: PlainMap = NO_OVERRIDE,
    mounts: Sequence[Mount] = (),
    mistakes: Mistakes | None = None,
    owner: MasterConfig | None = None,
) -> Compiler:
    """``owner`` is the master that compiles, ``None`` for the minion itself."""
    from saltlite.fileserver.client import use_templates_of
    from saltlite.loader.registry import with_functions
    from saltlite.pillar import external
    from saltlite.pillar.compiler import Compiler, Mistakes
    from saltlite.pillar.tree import PillarTree, server_of
    from saltlite.templates.names import MORE_OPTS
    from saltlite.templates.pipe import look_once

    files = dataclasses.replace(config.files, file_client="local")
    ctx = with_functions(
        MinionContext(
            config=dataclasses.replace(
                config,
                files=files,
                pillar=dataclasses.replace(config.pillar, pillarenv=pillarenv),
            ),
            host=Host(),
            grains=grains,
            pillar=before,
            events=events,
        )
    )
    own_files = dataclasses.replace(
        files, file_roots=options.pillar_roots, fileserver_backend=["roots"]
    )
    server = server_of(own_files, mounts)
    use_templates_of(ctx, server)
    look_once(ctx)
    minion_id = {"minion_id": config.identity.id}
    ctx.state[MORE_OPTS] = minion_id
    ctx.state[external.OPTIONS] = partial(_options_of_sources, owner or ctx.config, minion_id)
    ctx.state[MISTAKES] = mistakes or Mistakes(config.identity.id)
    return Compiler(
        ctx=ctx,
        options=options,
        tree=PillarTree(server, list(options.pillar_roots)),
        nodegroups=nodegroups,
        external=partial(external.ask, ctx),
        mistakes=ctx.state[MISTAKES],
        top_name=files.state_top,
        pillarenv=pillarenv,
    )


def _options_of_sources(
    owner: MasterConfig | MinionConfig, more: Mapping[str, object]
) -> dict[str, Any]:
    """All options of who compiles, with its own id."""
    from saltlite.config.opts import flat_opts

    return {**flat_opts(owner), "file_client": "local", **more}
