"""Look at pillar."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from saltlite.context import MinionContext
from saltlite.core import data as nested
from saltlite.core.data import DELIMITER, choose, traverse
from saltlite.core.factories import alias_function
from saltlite.errors import FunctionError, SaltliteError, UsageError
from saltlite.pillar.request import pillar_load

log = logging.getLogger(__name__)

OUTPUTTERS = {"items": "nested", "item": "nested", "raw": "nested"}

_NOT_GIVEN = "<Constant.NOT_SET>"
"""Salt's own way to tell that no default was given."""

_NOTHING = object()


def get(
    ctx: MinionContext,
    key: str,
    default: object = _NOT_GIVEN,
    merge: bool = False,
    merge_nested_lists: bool | None = None,
    delimiter: str = DELIMITER,
    pillarenv: str | None = None,
    saltenv: str | None = None,
) -> Any:
    """One value, also from within others: ``pkg:apache``; empty if there is none.

    With ``merge`` the value is laid on ``default``, which then is a map or a list. Lists within
    maps take each other's place, unless ``merge_nested_lists`` is true, or it is not given and the
    option ``pillar_merge_lists`` is. With the option ``pillar_raise_on_missing`` a value that is
    not there, and has no default, is an error.

    CLI Example:

        salt '*' pillar.get pkg:apache
    """
    is_given = not (isinstance(default, str) and default == _NOT_GIVEN)
    found = traverse(_of_env(ctx, pillarenv, saltenv), key, _NOTHING, delimiter)
    if found is _NOTHING:
        if not is_given and ctx.config.extra.get("pillar_raise_on_missing"):
            raise KeyError(f"Pillar key not found: {key}")
        return default if is_given else ""
    if not merge:
        return found
    if merge_nested_lists is None:
        merge_nested_lists = ctx.config.pillar.pillar_merge_lists
    return _merge_default(default if is_given else "", found, merge_lists=merge_nested_lists)


def _merge_default(default: object, found: object, *, merge_lists: bool) -> Any:
    if isinstance(default, Mapping) and isinstance(found, Mapping):
        return nested.merge(default, found, merge_lists=merge_lists)
    if isinstance(default, list) and isinstance(found, list):
        return [*default, *(entry for entry in found if entry not in default)]
    if isinstance(default, (Mapping, list)):
        log.error(
            "pillar.get: the default is a %s, but the value is a %s. They are not merged.",
            type(default).__name__,
            type(found).__name__,
        )
    return found


fetch = get


def items(ctx: MinionContext, *args: str, **kwargs: Any) -> dict[str, Any]:
    """The whole pillar, compiled now, with ``pillar`` on top of it; or these keys of it.

    Keys are looked up in what the minion has in memory, which a compilation leaves as it is.

    CLI Example:

        salt '*' pillar.items
        salt '*' pillar.items nginx:workers roles
    """
    if args:
        return {str(key): traverse(ctx.pillar, key, default="") for key in args}
    over = kwargs.get("pillar")
    if over is not None and not isinstance(over, Mapping):
        raise FunctionError("Pillar data must be formatted as a dictionary")
    return _compile_pillar(ctx, kwargs.get("pillarenv"), kwargs.get("saltenv"), over or {})


def ext(
    ctx: MinionContext, external: Mapping[str, object], pillar: Mapping[str, object] | None = None
) -> dict[str, Any]:
    """The pillar with what one more outer source says, if the master has it for being asked so.

    The master's option ``on_demand_ext_pillar`` names these sources. Without one it is the pillar.

    CLI Example:

        salt '*' pillar.ext '{my_source: my_argument}'
    """
    if not isinstance(external, Mapping) or len(external) > 1:
        raise UsageError("pillar.ext takes a dictionary with one source in it")
    if pillar is not None and not isinstance(pillar, Mapping):
        raise FunctionError("Pillar data must be formatted as a dictionary")
    return _compile_pillar(ctx, None, None, pillar or {}, external)


def _of_env(ctx: MinionContext, pillarenv: str | None, saltenv: str | None) -> Mapping[str, Any]:
    """The pillar in memory; that of an environment, if one is named, is compiled."""
    if pillarenv is None and saltenv is None:
        return ctx.pillar
    return _compile_pillar(ctx, pillarenv, saltenv, {})


def _compile_pillar(
    ctx: MinionContext,
    pillarenv: str | None,
    saltenv: str | None,
    override: Mapping[str, Any],
    external: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    if pillarenv is None and ctx.config.pillar.pillarenv_from_saltenv:
        pillarenv = saltenv
    if ctx.master is None:
        from saltlite.pillar.context import compile_masterless

        return compile_masterless(
            ctx, pillarenv=pillarenv, override=dict(override), on_demand=external
        )
    load = pillar_load(
        ctx.config, ctx.grains, saltenv=saltenv, pillarenv=pillarenv, override=dict(override)
    )
    if external:
        load["ext"] = dict(external)
    found = ctx.master.request(load)
    return dict(found) if isinstance(found, Mapping) else {}


data = alias_function(items, "data", "pillar.items")


def why(
    ctx: MinionContext, key: str, pillarenv: str | None = None, show_values: bool = False
) -> dict[str, Any]:
    """Tell which file and line set a key of the pillar of a minion without a master.

    ``set_by`` won over what ``overrode`` lists, the nearest first; of a map or list that is joined
    of several ``joined_from`` has all. With a master only that one knows: ``salt-run pillar.why``.

    CLI Example:

        salt-call --local pillar.why users:ann:shell
    """
    if ctx.config.files.file_client != "local":
        raise FunctionError(
            f"only the master knows: salt-run pillar.why {key} minion={ctx.config.identity.id}"
        )
    from saltlite.pillar.context import explain_masterless
    from saltlite.pillar.origins import tell

    return tell(explain_masterless(ctx, str(key), pillarenv=pillarenv), show_values=show_values)


def ls(ctx: MinionContext, *args: str, **kwargs: Any) -> list[str]:
    """The names of all entries at the top, or those that were asked for.

    CLI Example:

        salt '*' pillar.ls
    """
    return list(items(ctx, *args, **kwargs))


def item(ctx: MinionContext, *args: str, **kwargs: Any) -> dict[str, Any]:
    """Some values; an unknown one is ``default``.

    CLI Example:

        salt '*' pillar.item foo bar:baz
    """
    default, delimiter = kwargs.get("default", ""), kwargs.get("delimiter") or DELIMITER
    pillar = _of_env(ctx, kwargs.get("pillarenv"), kwargs.get("saltenv"))
    return {str(name): traverse(pillar, name, default, delimiter) for name in args}


def raw(ctx: MinionContext, key: str | None = None) -> Any:
    """The pillar as the minion has it in memory, or one entry of it.

    CLI Example:

        salt '*' pillar.raw
    """
    return ctx.pillar.get(key, {}) if key else dict(ctx.pillar)


def keys(ctx: MinionContext, key: str, delimiter: str = DELIMITER) -> list[Any]:
    """The names of the entries of a map.

    CLI Example:

        salt '*' pillar.keys web:sites
    """
    found = traverse(ctx.pillar, key, KeyError, delimiter)
    if found is KeyError:
        raise KeyError(f"Pillar key not found: {key}")
    if not isinstance(found, Mapping):
        raise ValueError(f"Pillar value in key {key} is not a dict")
    return list(found)


def obfuscate(ctx: MinionContext, *args: str, **kwargs: Any) -> Any:
    """The pillar, or some entries, with the types of the values in place of the values.

    CLI Example:

        salt '*' pillar.obfuscate
    """
    return _type_names(item(ctx, *args, **kwargs) if args else items(ctx, **kwargs))


def _type_names(value: object) -> Any:
    if isinstance(value, Mapping):
        return {key: _type_names(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_type_names(item) for item in value]
    return f"<{type(value).__name__}>"


def filter_by(
    ctx: MinionContext,
    lookup_dict: Mapping[Any, Any],
    pillar: str,
    merge: Mapping[str, object] | None = None,
    default: str = "default",
    base: str | None = None,
) -> Any:
    """The entry of a map that fits a value of the pillar, ``default`` otherwise.

    CLI Example:

        salt '*' pillar.filter_by '{web: Serve it up, db: I query}' role
    """
    if merge and not isinstance(merge, Mapping):
        raise SaltliteError("filter_by merge argument must be a dictionary.")
    values = traverse(ctx.pillar, pillar, [])
    return choose(lookup_dict, values, merged=merge, default=default, base=base)


def file_exists(ctx: MinionContext, path: str, saltenv: str | None = None) -> bool:
    """Whether there is such a file in ``pillar_roots``: in any environment, or in one.

    Only for minions without a master, which have their pillar themselves.

    CLI Example:

        salt-call --local pillar.file_exists passwords/top.sls
    """
    from saltlite.core import dataclasses
    from saltlite.fileserver.server import FileServer

    roots = ctx.config.pillar.pillar_roots
    files = dataclasses.replace(
        ctx.config.files, file_roots=roots, fileserver_backend=["roots"], file_client="local"
    )
    server = FileServer(files)
    envs = [saltenv] if saltenv else list(roots)
    return any(server.find(path, env) is not None for env in envs)
