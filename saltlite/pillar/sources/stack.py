"""``stack``: YAML files that a rendered list names, laid one upon the other.

A list (``stack.cfg``) has a glob on each line, relative to its directory. Each file sees what the
earlier ones came to as ``stack``. ``__`` in a map or at the head of a list says how it joins what
is there: ``merge-last`` (so it is without it), ``merge-first``, ``overwrite``, ``remove``. Source:
Salt's documentation of the driver; observed on Salt 3006.30.
"""

from __future__ import annotations

import glob
import logging
import os
import posixpath
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.data import copy_data, traverse
from saltlite.pillar.external import ExternalFailed, options_of
from saltlite.templates.pipe import TemplateSource, render
from saltlite.templates.template import render_template

log = logging.getLogger(__name__)

HOW = "__"
STRATEGIES = ("merge-last", "merge-first", "overwrite", "remove")


def ext_pillar(
    ctx: MinionContext, pillar: Mapping[str, object], *args: Any, **kwargs: Any
) -> Mapping[str, Any]:
    """The pillar of a stack of configuration files."""
    configs = [str(each) for each in args]
    for name, choices in kwargs.items():
        configs += _choose_lists(ctx, pillar, name, choices)
    stack: dict[str, Any] = {}
    for config in configs:
        stack = _apply_stack(ctx, pillar, config, stack)
    return stack


def _choose_lists(
    ctx: MinionContext, pillar: Mapping[str, object], name: str, choices: object
) -> list[str]:
    """``grains:os: {Debian: stack.cfg}``: the lists for the value that is there."""
    kind, _, key = name.partition(":")
    places: Mapping[str, Callable[[], Any]] = {
        "pillar": lambda: pillar,
        "__pillar__": lambda: pillar,
        "grains": lambda: ctx.grains,
        "__grains__": lambda: ctx.grains,
        "opts": lambda: options_of(ctx),
        "__opts__": lambda: options_of(ctx),
    }
    if kind not in places or not isinstance(choices, Mapping):
        raise ExternalFailed(f"{name} is none of pillar:..., grains:..., opts:...")
    found = choices.get(traverse(places[kind](), key), [])
    return [found] if isinstance(found, str) else [str(each) for each in found]


def _apply_stack(
    ctx: MinionContext, pillar: Mapping[str, object], config: str, stack: dict[str, Any]
) -> dict[str, Any]:
    for path in _list_files(ctx, pillar, config, stack):
        text = _render_file(ctx, pillar, path, stack)
        data = render(TemplateSource(text=text, path=path), ctx, renderer="yaml")
        if not data:
            continue
        if not isinstance(data, Mapping):
            log.error("stack: %s is no dictionary and is left out", path)
            continue
        stack = merge(stack, data)
    return stack


def _list_files(
    ctx: MinionContext, pillar: Mapping[str, object], config: str, stack: Mapping[str, object]
) -> Iterator[str]:
    if not os.path.isfile(config):
        log.warning("stack: there is no %s", config)
        return
    below = posixpath.dirname(config)
    for line in _render_file(ctx, pillar, config, stack).splitlines():
        if line.strip():
            yield from sorted(glob.glob(posixpath.join(below, line.strip())))


def _render_file(
    ctx: MinionContext, pillar: Mapping[str, object], path: str, stack: Mapping[str, object]
) -> str:
    text = (ctx.host.read_bytes(path) or b"").decode("utf-8", "replace")
    names = {
        "stack": stack,
        "minion_id": ctx.config.identity.id,
        "pillar": pillar,
        "__pillar__": pillar,
        "__grains__": ctx.grains,
        "__opts__": options_of(ctx),
    }
    return render_template(text, "jinja", ctx, context=names, path=path)


def merge(under: Mapping[str, object], over: Mapping[str, object]) -> dict[str, Any]:
    """One map on another, as ``__`` in ``over`` says.

    Raises:
        ExternalFailed: it says something else.
    """
    over = dict(over)
    how = _check_strategy(over.pop(HOW, "merge-last"))
    if how == "overwrite":
        overwritten: dict[str, Any] = _drop_strategies(over)
        return overwritten
    if how == "remove":
        return {key: copy_data(value) for key, value in under.items() if key not in over}
    joined = dict(copy_data(under))
    for key, value in over.items():
        joined[key] = (
            _join_values(joined[key], value, how) if key in joined else _drop_strategies(value)
        )
    return joined


def _join_values(under: Any, over: Any, how: str) -> Any:
    if type(under) is not type(over):
        return under if how == "merge-first" else _drop_strategies(over)
    if isinstance(over, dict):
        return merge(under, {HOW: how, **over})
    if isinstance(over, list):
        return _join_lists(under, over, how)
    return under if how == "merge-first" else over


def _join_lists(under: list[Any], over: list[Any], how: str) -> list[Any]:
    if over and isinstance(over[0], Mapping) and HOW in over[0]:
        how = _check_strategy(over[0][HOW])
        over = over[1:]
    if how == "overwrite":
        return list(copy_data(over))
    if how == "remove":
        return [each for each in under if each not in over]
    return [*over, *under] if how == "merge-first" else [*under, *over]


def _check_strategy(word: object) -> str:
    if word not in STRATEGIES:
        raise ExternalFailed(f"{HOW}: {word} is none of {', '.join(STRATEGIES)}")
    return str(word)


def _drop_strategies(value: object) -> Any:
    """A value without words about joining."""
    if isinstance(value, Mapping):
        return {key: _drop_strategies(item) for key, item in value.items() if key != HOW}
    if isinstance(value, list):
        first_says = bool(value) and isinstance(value[0], Mapping) and set(value[0]) == {HOW}
        return [_drop_strategies(item) for item in (value[1:] if first_says else value)]
    return value
