"""``decrypt_pillar``: values of pillar that are decrypted once all sources are joined.

Each entry is a key (``a:b``), or ``{key: renderer}``. What is not there, and what is no encrypted
text, is left as it is. Source: Salt's documentation of the options; observed on Salt 3006.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.data import DELIMITER
from saltlite.errors import SaltliteError
from saltlite.templates.pipe import TemplateSource, stage_on_data


def decrypt(ctx: MinionContext, pillar: MutableMapping[str, Any]) -> list[str]:
    """Decrypt in place; what went wrong, in Salt's words."""
    options: Mapping[str, Any] = ctx.config.extra
    renderers = options.get("decrypt_pillar_renderers") or ["gpg"]
    delimiter = str(options.get("decrypt_pillar_delimiter") or DELIMITER)
    default = str(options.get("decrypt_pillar_default") or "gpg")
    wanted = _list_wanted(options.get("decrypt_pillar"), default)
    problems = [
        (key, _decrypt_value(ctx, pillar, key.split(delimiter), renderer, renderers))
        for key, renderer in wanted
    ]
    return [
        f"Failed to decrypt pillar key '{key}': {problem}" for key, problem in problems if problem
    ]


def _decrypt_value(
    ctx: MinionContext,
    pillar: MutableMapping[str, Any],
    parts: list[str],
    renderer: str,
    renderers: Any,
) -> str:
    """Decrypt one value; what went wrong, ``""`` for nothing."""
    if renderer not in renderers:
        valid = ", ".join(map(str, renderers))
        return f"'{renderer}' is not a valid decryption renderer. Valid choices are: {valid}"
    try:
        _decrypt_at(ctx, pillar, parts, renderer)
    except SaltliteError as error:
        return str(error)
    return ""


def _list_wanted(entries: object, default: str) -> Iterator[tuple[str, str]]:
    if isinstance(entries, Mapping):
        entries = [{key: renderer} for key, renderer in entries.items()]
    for entry in entries if isinstance(entries, (list, tuple)) else ():
        if isinstance(entry, Mapping):
            for key, renderer in entry.items():
                yield str(key), str(renderer or default)
        else:
            yield str(entry), default


def _decrypt_at(
    ctx: MinionContext, pillar: MutableMapping[str, Any], parts: list[str], renderer: str
) -> None:
    """Replace one value; the maps on the way to it are copied, since others may share them."""
    place: Any = pillar
    for part in parts[:-1]:
        below = place.get(part)
        if not isinstance(below, Mapping):
            return
        place[part] = dict(below)
        place = place[part]
    last = parts[-1]
    if last in place:
        place[last] = stage_on_data(
            renderer, place[last], TemplateSource(text="", path=parts[0]), ctx
        )
