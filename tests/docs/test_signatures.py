"""The functions that saltlite shares with Salt take the same arguments, with the same defaults.

tests/cases/data/signatures has what ``sys.argspec`` and its kin answer on Salt 3006.30: by name the
arguments that have to be given, those with defaults, and ``*`` and ``**`` for what else is taken.
"""

from __future__ import annotations

import importlib
import inspect
import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from repository import DATA

from saltlite.loader.builtin import functions_of
from saltlite.loader.catalogue import MODULES, RUNNERS, STATES, WHEELS

RECORDED = DATA / "signatures"
KINDS = {kind.name: kind.modules() for kind in (MODULES, STATES, RUNNERS, WHEELS)}

OUR_OWN = {
    "modules": {
        *("pillar.why", "saltutil.received"),
        *("state.audit", "state.check", "state.diff", "state.graph", "state.verify"),
        *("saltutil.sync_tops", "saltutil.sync_wrapper"),
        *("network.ip_neighs", "network.ip_neighs6", "network.ipneighs", "network.ipneighs6"),
        # of other package managers than that of the machine where Salt's were recorded
        *("pkg.download", "pkg.group_diff", "pkg.group_info", "pkg.group_install"),
        *("pkg.group_list", "pkg.groupinstall", "pkg.list_holds", "pkg.list_installed_patches"),
        *("pkg.list_locks", "pkg.list_patches", "pkg.verify", "pkg.which"),
    },
    "states": {"file.mod_watch"},
    "runners": {
        "pillar.why",
        "state.diff",
        "jobs.changes",
        "jobs.follow",
        "jobs.trace",
        "jobs.why",
        "manage.overview",
        "cache.contains",
        "cache.updated",
    },
    "wheel": {"key.glob_match", "key.key_str"},
}
"""Functions that Salt does not have, or not there."""

ALSO_TAKEN: dict[str, set[str]] = {
    "module mount.umount": {"lazy"},
    "runner pillar.show_top": {"sources"},
    "module jinja.import_json": {"saltenv"},
    "module jinja.import_yaml": {"saltenv"},
    "state archive.extracted": {"saltenv"},
    "state blockdev.formatted": {"inode_size", "lazy_itable_init", "fat"},
    "state cmd.run": {"umask"},
    "state cmd.script": {"umask", "saltenv"},
    "state file.append": {"saltenv"},
    "state file.blockreplace": {"saltenv"},
    "state file.directory": {"mode"},
    "state file.managed": {"saltenv"},
    "state file.prepend": {"saltenv"},
    "state file.recurse": {"saltenv"},
    "state file.symlink": {"follow_symlinks"},
    "state iptables.flush": {"chain"},
    "state iptables.set_policy": {"chain", "policy", "save"},
    "module x509.create_private_key": {"bits"},
    "state debconf.set_file": {"saltenv"},
    "state module.mod_watch": {"name"},
    "state x509.certificate_managed": {"copypath", "prepend_cn"},
    "state x509.private_key_managed": {"bits"},
    "state module.run": {"name"},
    "state selinux.module": {"install", "source", "remove"},
    "state service.running": {"no_block", "unmask", "unmask_runtime"},
    "state service.mod_watch": {"no_block"},
    "state test.configurable_test_state": {"allow_test_mode_failure"},
    "module match.ifelse": {"merge", "merge_lists", "minion_id", "tgt_type"},
    "module state.test": {"mods"},
    "runner fileserver.file_list": {"prefix"},
    "runner fileserver.symlink_list": {"prefix"},
    "runner jobs.list_jobs": {"search_user"},
}
"""Arguments that Salt takes among its ``**kwargs``, or that are our own."""

ALSO_TAKEN |= {
    f"module service.{name}": {"no_block", "root", "unmask", "unmask_runtime"}
    for name in (
        *("disable", "disabled", "enable", "enabled", "force_reload", "get_all"),
        *("get_disabled", "get_enabled", "reload", "restart", "start", "stop"),
    )
}

OTHER_DEFAULTS = {
    "module supervisord.status_bool name": "none given: all",
    "state git.cloned target": "its absence is told in a sentence",
    "state git.detached target": "its absence is told in a sentence",
    "state git.latest target": "its absence is told in a sentence",
    "state pkg.uptodate refresh": "None: once a run, as Salt does for False",
    "runner cache.grains tgt": "none given: all",
}

WITHOUT_KEYWORDS = {"state blockdev.formatted": "its keywords are listed, others are refused"}


@cache
def recorded(kind: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RECORDED / f"{kind}.json").read_text())
    return found


@cache
def ours(kind: str) -> dict[str, inspect.Signature]:
    return {
        f"{module}.{name}": inspect.signature(function)
        for module, place in KINDS[kind].items()
        for name, function in functions_of(importlib.import_module(place)).items()
    }


def shared() -> Iterator[Any]:
    for kind in KINDS:
        for name in sorted(recorded(kind).keys() & ours(kind).keys()):
            yield pytest.param(kind, name, id=f"{kind[:-1]} {name}")


def _parameters(signature: inspect.Signature) -> dict[str, inspect.Parameter]:
    return {
        name: each
        for name, each in signature.parameters.items()
        if name not in ("ctx", "sfun") and not name.startswith("_")
    }


def _differences(kind: str, name: str) -> Iterator[str]:
    key = f"{kind[:-1]} {name}"
    required, optional, rest = recorded(kind)[name]
    parameters = _parameters(ours(kind)[name])
    kinds = {each.kind for each in ours(kind)[name].parameters.values()}
    takes_any = inspect.Parameter.VAR_KEYWORD in kinds
    if "**" in rest and not takes_any and key not in WITHOUT_KEYWORDS:
        yield "takes no other keywords"
    for word in (*required, *optional):
        if word == "sfun" or word.startswith("__"):
            continue
        if word not in parameters:
            yield from () if takes_any else (f"{word} is missing",)
            continue
        mine = parameters[word].default
        theirs = optional.get(word, inspect.Parameter.empty)
        if _plain(mine) != theirs and f"{key} {word}" not in OTHER_DEFAULTS:
            yield f"{word}: {theirs!r} in Salt, {mine!r} here"
    variable = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    named = {word for word, each in parameters.items() if each.kind not in variable}
    more = named - {*required, *optional} - ALSO_TAKEN.get(key, set())
    if more:
        yield f"not in Salt: {sorted(more)}"


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


@pytest.mark.parametrize(("kind", "name"), list(shared()))
def test_signature(kind: str, name: str) -> None:
    assert not list(_differences(kind, name))


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_no_other_function_can_be_called(kind: str) -> None:
    known = {name.partition(".")[0] for name in recorded(kind)}
    new = {name for name in ours(kind) if name.partition(".")[0] in known} - recorded(kind).keys()
    assert new == OUR_OWN[kind], "a function for states belongs into INTERNAL of its module"
