"""Renders the files of an entry with ``tag`` and ``data``, by their shebang or ``jinja|yaml``.

What comes of it is plain data. ``data`` is what others say: with ``reactor_strict`` everything that
a template prints is quoted as JSON unless it is marked ``|safe``.
"""

from __future__ import annotations

import glob
import os
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from saltlite.config.master import MasterConfig
from saltlite.config.minion import MinionConfig
from saltlite.context import MinionContext
from saltlite.core import dataclasses
from saltlite.core.dataclasses import dataclass, field
from saltlite.core.plain import PlainMap
from saltlite.errors import RenderError, SaltliteError
from saltlite.templates.names import QUOTE_ALL
from saltlite.templates.own import forget_changes
from saltlite.templates.pipe import TemplateSource, pipe, place_names, render, source_of_file

RENDERER: Final = "jinja|yaml"
SCHEME: Final = "salt://"

TEMPLATE_LIMIT_S: Final = 9.0
"""Of the processor's time: a template that never ends is told with its place, before the process
that renders it is ended over it."""

C = TypeVar("C", MasterConfig, MinionConfig)

UNQUOTED: Final = frozenset({"mako"})
"""Renderers that print what a template says, and do not know of ``reactor_strict``."""


class FileMissing(SaltliteError):
    """There is no such file; the text is Salt's."""

    def __init__(self, named: str, tag: str) -> None:
        super().__init__(f"Can not render SLS {named} for tag {tag}. File missing or not found.")


def with_template_limit(config: C) -> C:
    """The same configuration, in which a template may take no longer than ``TEMPLATE_LIMIT_S``."""
    limit = config.files.jinja_time_limit
    own = min(limit, TEMPLATE_LIMIT_S) if limit else TEMPLATE_LIMIT_S
    files = dataclasses.replace(config.files, jinja_time_limit=own)
    return dataclasses.replace(config, files=files)


@dataclass(slots=True)
class ReactionRenderer:
    """Renders files in one context; its grains and options are kept, its pillar is not."""

    ctx: MinionContext
    strict: bool = False
    fresh_pillar: Callable[[], PlainMap] | None = None
    pillar_life_s: float = 60.0
    _pillar_s: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        """Tell the renderers whether they are to quote."""
        if self.strict:
            self.ctx.state[QUOTE_ALL] = True

    def locate(self, named: str, tag: str) -> list[str]:
        """The files that an entry names: addresses, or paths, those of a glob sorted.

        Raises:
            FileMissing: there is none.
            SaltliteError: the file server has something against it.
        """
        if named.startswith(SCHEME):
            from saltlite.fileserver.client import file_client

            if file_client(self.ctx).hash_file(named, "base") is None:
                raise FileMissing(named, tag)
            return [named]
        found = sorted(glob.glob(named)) if os.path.isabs(named) else []
        files = [path for path in found if os.path.isfile(path)]
        if not files:
            raise FileMissing(named, tag)
        return files

    def render(self, path: str, tag: str, data: Mapping[str, object]) -> Any:
        """What a file says about an event; nothing for an empty file.

        Raises:
            RenderError: it does not render.
        """
        self._renew()
        text = self._read(path, tag)
        if self.strict:
            _refuse_unquoted(text, path)
        names = place_names(path, os.path.basename(path))
        variables = {**names, "tag": tag, "data": dict(data), "sls": None}
        source = TemplateSource(text=text, path=path, variables=variables)
        return render(source, self.ctx, renderer=RENDERER)

    def _read(self, path: str, tag: str) -> str:
        try:
            source = source_of_file(path, self.ctx)
        except OSError as error:
            raise RenderError(f"cannot be read: {error.strerror}", path=path) from error
        if source is None:  # gone meanwhile
            raise FileMissing(path, tag)
        return source.text

    def _renew(self) -> None:
        """Have no file see what another one changed, nor a pillar that is old."""
        forget_changes(self.ctx)
        now_s = time.monotonic()
        if self.fresh_pillar is not None and now_s - self._pillar_s >= self.pillar_life_s:
            self.ctx.pillar, self._pillar_s = self.fresh_pillar(), now_s


def _refuse_unquoted(text: str, path: str) -> None:
    for stage in pipe(text, RENDERER):
        if stage.name in UNQUOTED:
            problem = f"the renderer {stage.name} cannot quote (reactor_strict)"
            raise RenderError(problem, path=path, line=1)
