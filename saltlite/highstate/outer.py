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

from saltlite.config.yaml import load
from saltlite.context import MinionContext
from saltlite.errors import SaltliteError

if TYPE_CHECKING:
    from saltlite.config.master import MasterConfig

log = logging.getLogger(__name__)

EXT_NODES = "ext_nodes"
BASE = "base"
COMMAND_S = 60.0

Names: TypeAlias = dict[str, list[Any]]


class OuterFailed(SaltliteError):
    """A source gives nothing; its text says why."""


def outer_tops_for(config: MasterConfig, minion_id: str, opts: Mapping[str, Any]) -> Names:
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
    grains = {**(grains if isinstance(grains, Mapping) else {}), "id": minion_id}
    standing = as_minion(config, minion_id)
    ctx = MinionContext(config=standing, host=Host(), grains=grains, pillar={})
    return outer_tops(with_functions(ctx), option, {**opts, "id": minion_id, "grains": grains})


def outer_tops(ctx: MinionContext, option: Mapping[str, Any], opts: Mapping[str, Any]) -> Names:
    """The same for the minion of ``ctx``. What fails is logged, and costs the others nothing."""
    found: Names = {}
    for name, ask in _sources(ctx, option, opts):
        _add(found, _asked(name, ask, ctx.config.identity.id))
    return found


def _asked(name: str, ask: Callable[[], Any], minion_id: str) -> Mapping[str, Any]:
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


def _sources(
    ctx: MinionContext, option: Mapping[str, Any], opts: Mapping[str, Any]
) -> Iterator[tuple[str, Callable[[], Any]]]:
    from saltlite.loader.user import UserModules

    users = UserModules(ctx, "tops")
    named = sorted(str(name) for name in option)
    for name in named:
        source = users.source(name)
        top = source.functions.get("top") if source is not None else None
        if top is not None:
            yield name, partial(top, opts=dict(opts), grains=dict(ctx.grains))
        elif name != EXT_NODES:
            log.error("master_tops: there is no %s", name)
    if EXT_NODES in named and users.source(EXT_NODES) is None:
        yield EXT_NODES, partial(_ext_nodes, ctx, option[EXT_NODES])


def _ext_nodes(ctx: MinionContext, command: Any) -> Mapping[str, Any]:
    words = str(command or "").split()
    if not words:
        raise OuterFailed("there is no command")
    done = ctx.host.run([*words, ctx.config.identity.id], timeout_s=COMMAND_S)
    if done.timed_out:
        raise OuterFailed(f"{words[0]} does not end within {COMMAND_S:.0f} s")
    if done.exit_code != 0:
        raise OuterFailed(f"{words[0]} exits with {done.exit_code}")
    said = load(done.stdout, words[0])
    classes = said.get("classes") if isinstance(said, Mapping) else None
    if not isinstance(classes, (list, Mapping)):
        raise OuterFailed(f"{words[0]} prints no YAML with a list or map of classes")
    return {str(said.get("environment") or BASE): list(classes)}


def _add(found: Names, said: Mapping[str, Any]) -> None:
    for env, names in said.items():
        own = found.setdefault(str(env), [])
        listed = names if isinstance(names, (list, tuple)) else ()
        own += [name for name in listed if name not in own]
