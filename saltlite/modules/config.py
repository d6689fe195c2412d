"""Look at the minion's options, and at what grains and pillar say under the same name."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

from saltlite.context import MinionContext
from saltlite.core import data as nested
from saltlite.core.data import DELIMITER, traverse

log = logging.getLogger(__name__)

_PROTOCOLS = ("salt", "http", "https", "ftp", "s3", "swift", "file")
_MERGES = ("recurse", "overwrite")
_MISSING = object()


def get(
    ctx: MinionContext,
    key: str,
    default: object = "",
    delimiter: str = DELIMITER,
    merge: str | None = None,
    omit_opts: bool = False,
    omit_pillar: bool = False,
    omit_master: bool = False,
    omit_grains: bool = False,
) -> Any:
    """The first of: option, grain, pillar, master's option in pillar; also from within others.

    ``merge`` joins maps of that name: ``recurse`` in depth, ``overwrite`` at the top.

    CLI Example:

        salt '*' config.get pkg:apache
    """
    if merge is not None and merge not in _MERGES:
        log.error("Unsupported merge strategy '%s'. Falling back to 'None'.", merge)
        merge = "recurse"  # what Salt then does in fact
    found = [
        value
        for place in _list_sources(ctx, omit_opts, omit_grains, omit_pillar, omit_master)
        if (value := traverse(place, key, _MISSING, delimiter)) is not _MISSING
    ]
    if not found:
        return default
    if merge is None or not isinstance(found[0], Mapping):
        return found[0]
    joined: dict[Any, Any] = {}
    for value in reversed([value for value in found if isinstance(value, Mapping)]):
        joined = nested.merge(joined, value) if merge == "recurse" else {**joined, **value}
    return joined


def _list_sources(
    ctx: MinionContext, omit_opts: bool, omit_grains: bool, omit_pillar: bool, omit_master: bool
) -> Iterator[Mapping[str, Any]]:
    """Where to look, in order; grains and pillar are not loaded before it is their turn."""
    if not omit_opts:
        yield _flat_options(ctx)
    if not omit_grains:
        yield ctx.grains
    if not omit_pillar:
        yield ctx.pillar
    if not omit_master:
        master = ctx.pillar.get("master")
        yield master if isinstance(master, Mapping) else {}


def _flat_options(ctx: MinionContext) -> dict[str, Any]:
    from saltlite.config.opts import flat_opts

    return flat_opts(ctx.config)


def option(
    ctx: MinionContext,
    value: str,
    default: object = None,
    omit_opts: bool = False,
    omit_grains: bool = False,
    omit_pillar: bool = False,
    omit_master: bool = False,
    omit_all: bool = False,
    wildcard: bool = False,
) -> Any:
    """The first of: option, grain, pillar, master's option in pillar; at the top only.

    With ``wildcard`` the name is a glob and the answer a map.

    CLI Example:

        salt '*' config.option redis.host
    """
    if omit_all:
        omit_opts = omit_grains = omit_pillar = omit_master = True
    places = _list_sources(ctx, omit_opts, omit_grains, omit_pillar, omit_master)
    if wildcard:
        return _find_matching(places, value)
    for place in places:
        if value in place:
            return place[value]
    return "" if default is None else default


def _find_matching(places: Iterator[Mapping[str, object]], glob: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for place in places:
        for name in place:
            if fnmatchcase(str(name), glob):
                found.setdefault(name, place[name])
    return found


def items(ctx: MinionContext) -> dict[str, Any]:
    """All options.

    CLI Example:

        salt '*' config.items
    """
    return _flat_options(ctx)


def merge(
    ctx: MinionContext,
    value: str,
    default: object = "",
    omit_opts: bool = False,
    omit_master: bool = False,
    omit_pillar: bool = False,
) -> Any:
    """A map or list joined from options, the master's options in pillar, and pillar.

    In this order the first one's entry wins, and lists follow one another.

    CLI Example:

        salt '*' config.merge schedule
    """
    places = [
        *_list_sources(ctx, omit_opts, True, True, omit_master),
        *_list_sources(ctx, True, True, omit_pillar, True),
    ]
    found = [place[value] for place in places if value in place]
    if not found:
        return default
    first = found[0]
    if isinstance(first, Mapping):
        maps = [each for each in found if isinstance(each, Mapping)]
        return {key: item for each in reversed(maps) for key, item in each.items()}
    if isinstance(first, list):
        return [item for each in found if isinstance(each, list) for item in each]
    return first


def dot_vals(ctx: MinionContext, value: str) -> dict[str, Any]:
    """The options and pillar entries whose names begin with this and a dot.

    CLI Example:

        salt '*' config.dot_vals host
    """
    return {
        name: item
        for place in (ctx.pillar, _flat_options(ctx))
        for name, item in place.items()
        if str(name).startswith(f"{value}.")
    }


def manage_mode(mode: object) -> str | None:
    """A file mode as four digits.

    CLI Example:

        salt '*' config.manage_mode 644
    """
    if mode is None:
        return None
    digits = str(mode).strip("\"'").lstrip("0Oo")
    return digits.zfill(4)


def backup_mode(ctx: MinionContext, backup: str = "") -> str:
    """Where old files are kept, unless this call says it.

    CLI Example:

        salt '*' config.backup_mode
    """
    return backup or ctx.config.files.backup_mode


def valid_fileproto(uri: str) -> bool:
    """Whether files can be fetched from such an address.

    CLI Example:

        salt '*' config.valid_fileproto salt://path/to/file
    """
    return str(uri).partition("://")[0] in _PROTOCOLS and "://" in str(uri)
