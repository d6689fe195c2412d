"""``master_tops``: what says from outside the top files which SLS are for a minion.

``ext_nodes`` is a command that is given the minion's id and prints YAML: ``classes``, a list or a
map of SLS names, and ``environment`` (``base`` without). Files of users in
``extension_modules/tops`` come first, and have a function ``top(opts, grains)`` that gives
environment → names. Source: observed on Salt 3006.30.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from saltlite.context import MinionContext
from saltlite.errors import SaltliteError
from saltlite.loader.catalogue import TOPS

if TYPE_CHECKING:
    from saltlite.config.master import MasterConfig

log = logging.getLogger(__name__)

Names: TypeAlias = dict[str, list[Any]]


def outer_tops_for(config: MasterConfig, minion_id: str, opts: Mapping[str, object]) -> Names:
    """What the master's option has for a minion: environment → SLS names.

    ``opts`` are the options that the minion has sent; nothing in them counts as its id.
    """
    option = config.extra.get("master_tops")
    if not isinstance(option, Mapping) or not option:
        return {}
    from saltlite.config.asminion import as_minion
    from saltlite.host import Host
    from saltlite.loader.registry import with_functions

    grains = opts.get("grains")
    # What a minion says of itself is not to make it another one.
    grains = {**(grains if isinstance(grains, Mapping) else {}), "id": minion_id}
    standing = as_minion(config, minion_id)
    ctx = MinionContext(config=standing, host=Host(), grains=grains, pillar={})
    return outer_tops(with_functions(ctx), option, {**opts, "id": minion_id, "grains": grains})


def outer_tops(
    ctx: MinionContext, option: Mapping[str, object], opts: Mapping[str, object]
) -> Names:
    """The same for the minion of ``ctx``. What fails is logged, and costs the others nothing."""
    found: Names = {}
    for name, ask in _list_sources(ctx, option, opts):
        _add_names(found, _ask_source(name, ask, ctx.config.identity.id))
    return found


def _ask_source(name: str, ask: Callable[[], Any], minion_id: str) -> Mapping[str, Any]:
    try:
        said = ask()
        if isinstance(said, Mapping):
            return said
        log.error("master_tops: %s gives a %s, not a dictionary", name, type(said).__name__)
    except SaltliteError as error:
        log.error("master_tops: %s fails for minion %s: %s", name, minion_id, error)
    except Exception:  # a callback of users: one source must not cost all the others
        log.exception("master_tops: %s fails for minion %s", name, minion_id)
    return {}


def _list_sources(
    ctx: MinionContext, option: Mapping[str, object], opts: Mapping[str, object]
) -> Iterator[tuple[str, Callable[[], Any]]]:
    from saltlite.loader.surroundings import surroundings
    from saltlite.loader.user import UserModules

    # What users wrote comes first, also where it has the name of one of ours.
    users = UserModules(ctx, "tops", surroundings(ctx))
    named = sorted(str(name) for name in option)
    for name in named:
        source = users.source(name)
        top = source.functions.get("top") if source is not None else None
        if top is not None:
            yield name, partial(top, opts=dict(opts), grains=dict(ctx.grains))
        elif name not in TOPS:
            log.error("master_tops: there is no %s", name)
    for name in named:
        module = TOPS.load(name) if users.source(name) is None else None
        if module is not None:
            yield name, partial(vars(module)["top"], ctx, option[name])


def _add_names(found: Names, said: Mapping[str, object]) -> None:
    for env, names in said.items():
        own = found.setdefault(str(env), [])
        listed = names if isinstance(names, (list, tuple)) else ()
        own += [name for name in listed if name not in own]
