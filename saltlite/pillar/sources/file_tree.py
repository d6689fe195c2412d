"""``file_tree``: the content of files below ``root_dir``, by their paths.

``hosts/<minion id>/`` is the minion's own, ``nodegroups/<group>/`` is for the members of a group
and lies below. Source: Salt's documentation of the driver; observed on Salt 3006.30.
"""

from __future__ import annotations

import fnmatch
import logging
import os
from collections.abc import Mapping, Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.data import merge
from saltlite.core.ids import valid_minion_id
from saltlite.pillar.sources.nodegroups import groups_of
from saltlite.templates.pipe import TemplateSource, render

log = logging.getLogger(__name__)


def ext_pillar(
    ctx: MinionContext,
    pillar: Mapping[str, object],
    root_dir: str | None = None,
    follow_dir_links: bool = False,
    debug: bool = False,
    keep_newline: bool | Sequence[str] = False,
    render_default: str | None = None,
    renderer_blacklist: Sequence[str] | None = None,
    renderer_whitelist: Sequence[str] | None = None,
    template: bool | Sequence[str] = False,
) -> Mapping[str, Any]:
    """The files below a directory, as pillar."""
    if not root_dir or not os.path.isdir(root_dir):
        log.error("file_tree: root_dir %s is no directory", root_dir)
        return {}
    minion_id = ctx.config.identity.id
    reader = _Reader(ctx, follow_dir_links, keep_newline, template, render_default)
    found: dict[str, Any] = {}
    for group in groups_of(ctx, pillar):
        found = merge(found, reader.read(os.path.join(root_dir, "nodegroups", group)))
    if not valid_minion_id(minion_id):
        return found
    own: dict[str, Any] = merge(found, reader.read(os.path.join(root_dir, "hosts", minion_id)))
    return own


class _Reader:
    """Reads directories with the driver's options."""

    def __init__(
        self,
        ctx: MinionContext,
        follow: bool,
        keep_newline: bool | Sequence[str],
        template: bool | Sequence[str],
        renderer: str | None,
    ) -> None:
        self._ctx = ctx
        self._follow = follow
        self._keep_newline = keep_newline
        self._template = template
        self._renderer = renderer

    def read(self, directory: str) -> dict[str, Any]:
        """Files and directories below, as maps in maps; empty if there is no such directory."""
        found: dict[str, Any] = {}
        for entry in _sort_entries(directory):
            if entry.is_dir(follow_symlinks=self._follow):
                found[entry.name] = self.read(entry.path)
            elif entry.is_file():
                found[entry.name] = self._read_content(entry)
        return found

    def _read_content(self, entry: os.DirEntry[str]) -> str | bytes:
        content = self._ctx.host.read_bytes(entry.path) or b""
        if content.endswith(b"\n") and not _matches_option(self._keep_newline, entry.name):
            content = content[:-1]
        try:
            text = content.decode()
        except UnicodeDecodeError:
            return content
        if not _matches_option(self._template, entry.name):
            return text
        source = TemplateSource(text=text, path=entry.path)
        return str(render(source, self._ctx, renderer=self._renderer or "jinja"))


def _sort_entries(directory: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except FileNotFoundError:
        return []


def _matches_option(option: bool | Sequence[str], name: str) -> bool:
    if isinstance(option, bool):
        return option
    return any(fnmatch.fnmatch(name, pattern) for pattern in option)
