"""A broker of RabbitMQ: its users, virtual hosts, policies, plugins and upstreams."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from saltlite.context import MinionContext
from saltlite.modules import rabbitmq
from saltlite.modules._resource.listed import (
    Ask,
    Found,
    LeftOut,
    ListedType,
    StateDeclaration,
    declare_each,
    pick_names,
)

_RIGHTS = ("configure", "write", "read")

Arguments = Mapping[str, Mapping[str, Any]]


def _build_type(
    fun: str,
    look: Callable[[MinionContext], Iterable[str]],
    describe: Callable[[MinionContext], Arguments],
) -> ListedType:
    """``describe`` gives the arguments of all that is there."""

    def declare(ctx: MinionContext, ask: Ask) -> Iterator[Found]:
        yield from declare_each(fun, ask, describe(ctx))

    return ListedType(lambda ctx, pattern: pick_names(ctx.follow(look), pattern), declare)


def _describe_vhosts(ctx: MinionContext) -> Arguments:
    return {name: {} for name in ctx.follow(rabbitmq.list_vhosts)}


def _describe_users(ctx: MinionContext) -> Arguments:
    """Without passwords, of which the broker shows nothing; the state leaves them as they are."""
    # Not by user: each run of rabbitmqctl takes a second.
    by_vhost = {
        vhost: ctx.follow(rabbitmq.list_permissions, vhost)
        for vhost in ctx.follow(rabbitmq.list_vhosts)
    }
    found = {}
    for name, tags in ctx.follow(rabbitmq.list_users).items():
        perms = [
            {vhost: [rights[name][one] for one in _RIGHTS]}
            for vhost, rights in by_vhost.items()
            if name in rights
        ]
        # Without tags there is an empty one.
        said = {"tags": [tag for tag in tags if tag], "perms": perms}
        found[name] = {key: value for key, value in said.items() if value}
    return found


# --- plugins --------------------------------------------------------------------------------------


def _list_plugins(ctx: MinionContext, pattern: str) -> list[str]:
    return pick_names(ctx.follow(rabbitmq.list_available_plugins), pattern)


def _declare_plugins(ctx: MinionContext, ask: Ask) -> Iterator[Found]:
    there = ctx.follow(rabbitmq.list_available_plugins)
    enabled = ctx.follow(rabbitmq.list_enabled_plugins)
    for name in ask.names:
        if name in there:
            word = "enabled" if name in enabled else "disabled"
            yield StateDeclaration(of=name, fun=f"rabbitmq_plugin.{word}", name=name)


# --- policies -------------------------------------------------------------------------------------


def _find_policies(ctx: MinionContext) -> dict[str, tuple[str, str, Mapping[str, str]]]:
    """Virtual host, name and policy, by ``NAME@VHOST``."""
    return {
        f"{name}@{vhost}": (vhost, name, policy)
        for vhost in ctx.follow(rabbitmq.list_vhosts)
        for name, policy in ctx.follow(rabbitmq.list_policies, vhost).get(vhost, {}).items()
    }


def _list_policies(ctx: MinionContext, pattern: str) -> list[str]:
    return pick_names(_find_policies(ctx), pattern)


def _declare_policies(ctx: MinionContext, ask: Ask) -> Iterator[Found]:
    there = _find_policies(ctx)
    for of in ask.names:
        if of in there:
            vhost, name, policy = there[of]
            yield StateDeclaration(
                of=of,
                fun="rabbitmq_policy.present",
                name=name,
                arguments={
                    "vhost": vhost,
                    "pattern": policy["pattern"],
                    "definition": json.loads(policy["definition"]),
                    "priority": int(policy["priority"]),
                    "apply_to": policy["apply_to"],
                },
                ident=f"rabbitmq_policy {of}",
            )


# --- upstreams ------------------------------------------------------------------------------------


def _list_upstreams(ctx: MinionContext, pattern: str) -> list[str]:
    return pick_names(ctx.follow(rabbitmq.list_upstreams), pattern)


def _declare_upstreams(ctx: MinionContext, ask: Ask) -> Iterator[Found]:
    there = ctx.follow(rabbitmq.list_upstreams)
    for name in ask.names:
        if name not in there:
            continue
        said = {key.replace("-", "_"): value for key, value in json.loads(there[name]).items()}
        if "@" in str(said.get("uri")) and not ask.secrets:
            yield LeftOut(name, "its address with a password is shown only with secrets=True")
            continue
        yield StateDeclaration(of=name, fun="rabbitmq_upstream.present", name=name, arguments=said)


TYPES = {
    "rabbitmq_plugin": ListedType(_list_plugins, _declare_plugins),
    "rabbitmq_policy": ListedType(_list_policies, _declare_policies),
    "rabbitmq_upstream": ListedType(_list_upstreams, _declare_upstreams),
    "rabbitmq_user": _build_type("rabbitmq_user.present", rabbitmq.list_users, _describe_users),
    "rabbitmq_vhost": _build_type("rabbitmq_vhost.present", rabbitmq.list_vhosts, _describe_vhosts),
}
