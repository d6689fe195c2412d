"""The pipe: what comes out of one renderer goes into the next.

``#!jinja|yaml`` on the first line says which ones; without it, the option ``renderer``. The first
gets text, the last gives data. A renderer is a module in the table, imported on first use.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import ModuleType
from typing import TYPE_CHECKING, Any

from saltlite.core.dataclasses import dataclass, field
from saltlite.errors import RenderError
from saltlite.loader.catalogue import RENDERERS

if TYPE_CHECKING:
    from saltlite.context import MinionContext


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateSource:
    """What is to be rendered.

    ``path`` is the file on disk (or what errors shall call it), ``name`` its path below the root
    of its environment. ``variables`` lie on top of what templates see anyway. ``shared`` is what
    the files of one compilation tell one another.
    """

    text: str
    path: str = ""
    name: str = ""
    saltenv: str = "base"
    sls: str = ""
    variables: Mapping[str, Any] = field(default_factory=dict)
    shared: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Stage:
    """One renderer of a pipe."""

    name: str
    argument: str


Renderer = Callable[[Any, TemplateSource, "MinionContext", str], Any]
"""What came before, where it is from, the context, and the renderer's argument; gives data."""


def render(source: TemplateSource, ctx: MinionContext, *, renderer: str | None = None) -> Any:
    """The data (or text) that a file stands for; an empty map if it stands for nothing.

    ``renderer`` is the pipe for files that do not name one; without it, the configured one.

    Raises:
        RenderError: it does not render, or wants a renderer that is not there or not allowed.
    """
    files = ctx.config.files
    stages = pipe(source.text, renderer or files.renderer)
    data: Any = source.text
    for stage in stages:
        data = run_stage(stage, data, source, ctx)
    return {} if data is None else data


def run_stage(stage: Stage, data: object, source: TemplateSource, ctx: MinionContext) -> Any:
    """What one renderer of a pipe makes of what came before it.

    Raises:
        RenderError: as :func:`render`.
    """
    files = ctx.config.files
    if not is_allowed(stage.name, files.renderer_whitelist, files.renderer_blacklist):
        raise RenderError(f"renderer {stage.name!r} is not allowed here", path=source.path)
    return _find_renderer(stage.name, source, ctx)(data, source, ctx, stage.argument)


def stage_on_data(name: str, data: object, source: TemplateSource, ctx: MinionContext) -> Any:
    """What one renderer makes of data that are there already.

    Raises:
        RenderError: as :func:`render`.
    """
    if name not in RENDERERS and _of_user(name, ctx) is None:
        raise RenderError(f"Decryption renderer '{name}' is not available", path="")
    return _find_renderer(name, source, ctx)(data, source, ctx, "")


def pipe(text: str, default: str) -> list[Stage]:
    """The renderers that the first line names, else those of ``default``.

    A line that names a program (``#!/bin/sh``) names no renderer.
    """
    end = text.find("\n")
    first = (text if end < 0 else text[:end]).strip()
    named = first[2:] if first.startswith("#!") and not first.startswith("#!/") else default
    return list(_parse_stages(named))


@lru_cache(maxsize=64)
def _parse_stages(named: str) -> Sequence[Stage]:
    stages = []
    for part in named.split("|"):
        name, _, argument = part.strip().partition(" ")
        if name:
            stages.append(Stage(name, argument.strip()))
    return tuple(stages)


def is_allowed(name: str, whitelist: Any, blacklist: Any) -> bool:
    """Whether the two lists let a renderer run."""
    return name not in (blacklist or ()) and (not whitelist or name in whitelist)


def _find_renderer(name: str, source: TemplateSource, ctx: MinionContext) -> Renderer:
    own = _of_user(name, ctx)
    if own is not None:
        return own
    module = _load_builtin(name)
    if module is None:
        raise RenderError(f"renderer {name!r} is not available", path=source.path, line=1)
    found: Renderer = vars(module)["render"]
    return found


@lru_cache
def _load_builtin(name: str) -> ModuleType | None:
    return RENDERERS.load(name)


def _of_user(name: str, ctx: MinionContext) -> Renderer | None:
    """A renderer from ``_renderers`` or ``render_dirs``, which comes before a built-in one."""
    if not ctx.state.get(_OWN, True) or not _has_own(ctx):
        return None
    from saltlite.loader.surroundings import surroundings

    module = surroundings(ctx).modules("renderers").source(name)
    function = module.functions.get("render") if module is not None else None
    if function is None:
        return None
    called: Callable[..., Any] = function

    def run(data: object, source: TemplateSource, ctx: MinionContext, argument: str) -> Any:
        return called(data, source.saltenv, source.sls, argline=argument)

    return run


_OWN = "saltlite.templates.own"


def look_once(ctx: MinionContext) -> None:
    """See now, and not again for each file, whether users have renderers of their own."""
    ctx.state[_OWN] = _has_own(ctx)


def _has_own(ctx: MinionContext) -> bool:
    from saltlite.loader import catalogue

    return catalogue.has_custom_code(ctx.config, "renderers")


def source_of_file(path: str, ctx: MinionContext, saltenv: str = "base") -> TemplateSource | None:
    """A file by its path or ``salt://`` address; ``None`` if there is none.

    Raises:
        RenderError: it is no text.
    """
    if path.startswith("salt://"):
        from saltlite.fileserver.client import file_client

        data = file_client(ctx).read(path, saltenv)
    else:
        data = ctx.host.read_bytes(path) if os.path.isabs(path) else None
    if data is None:
        return None
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise RenderError(f"not UTF-8: {error.reason}", path=path) from error
    return TemplateSource(
        text=text, path=path, saltenv=saltenv, variables=place_names(path, posixpath.basename(path))
    )


def place_names(path: str, name: str) -> dict[str, str]:
    """What Salt tells a template about itself when it is rendered alone."""
    return {
        "tplpath": path,
        "tplfile": name,
        "tpldir": ".",
        "tpldot": "",
        "slspath": "",
        "slsdotpath": "",
        "slscolonpath": "",
        "sls_path": "",
    }
