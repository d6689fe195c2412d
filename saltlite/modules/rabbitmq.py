"""Users, virtual hosts, policies, plugins and upstreams of a RabbitMQ broker.

``runas`` is as whom ``rabbitmqctl`` runs. Answers observed on Salt 3006.30.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.arguments import takes_options
from saltlite.core.factories import name_function
from saltlite.errors import FunctionError
from saltlite.host import Host
from saltlite.providers import rabbitmq
from saltlite.providers.rabbitmq import PLUGINS, UPSTREAM, UpstreamOptions

INTERNAL = ("upstream_of",)
"""Functions for states; nobody calls them by name."""

_RIGHTS = ("configure", "write", "read")
_POLICY = ("vhost", "name", "pattern", "apply-to", "definition", "priority")


def list_users(ctx: MinionContext, runas: str | None = None) -> dict[str, list[str]]:
    """The users and their tags.

    CLI Example:

        salt '*' rabbitmq.list_users
    """
    text = rabbitmq.run(ctx.host, "list_users", "-q", runas=runas)
    rows = rabbitmq.table(text, ("user", "tags"))
    return {row["user"]: rabbitmq.tags_of(row["tags"]) for row in rows}


def list_vhosts(ctx: MinionContext, runas: str | None = None) -> list[str]:
    """The virtual hosts.

    CLI Example:

        salt '*' rabbitmq.list_vhosts
    """
    text = rabbitmq.run(ctx.host, "list_vhosts", "-q", runas=runas)
    return [row["name"] for row in rabbitmq.table(text, ("name",))]


def user_exists(ctx: MinionContext, name: str, runas: str | None = None) -> bool:
    """Whether there is such a user.

    CLI Example:

        salt '*' rabbitmq.user_exists rabbit_user
    """
    return str(name) in list_users(ctx, runas)


def vhost_exists(ctx: MinionContext, name: str, runas: str | None = None) -> bool:
    """Whether there is such a virtual host.

    CLI Example:

        salt '*' rabbitmq.vhost_exists rabbit_host
    """
    return str(name) in list_vhosts(ctx, runas)


def add_user(
    ctx: MinionContext, name: str, password: str | None = None, runas: str | None = None
) -> dict[str, str]:
    """Add a user; without a password it cannot log in with one.

    CLI Example:

        salt '*' rabbitmq.add_user rabbit_user password
    """
    import secrets

    secret = secrets.token_urlsafe(24) if password is None else str(password)
    said = rabbitmq.run(ctx.host, "add_user", "--", str(name), runas=runas, secret=secret)
    if password is None:
        try:
            clear_password(ctx, name, runas)
        except FunctionError:
            delete_user(ctx, name, runas)
            raise
    return {"Added": said}


def delete_user(ctx: MinionContext, name: str, runas: str | None = None) -> dict[str, str]:
    """Delete a user.

    CLI Example:

        salt '*' rabbitmq.delete_user rabbit_user
    """
    said = rabbitmq.run(ctx.host, "delete_user", "--", str(name), runas=runas)
    return {"Deleted": said}


def change_password(
    ctx: MinionContext, name: str, password: str, runas: str | None = None
) -> dict[str, str]:
    """Set the password of a user.

    CLI Example:

        salt '*' rabbitmq.change_password rabbit_user password
    """
    return {
        "Password Changed": rabbitmq.run(
            ctx.host, "change_password", "--", str(name), runas=runas, secret=str(password)
        )
    }


def clear_password(ctx: MinionContext, name: str, runas: str | None = None) -> dict[str, str]:
    """Take the password of a user away.

    CLI Example:

        salt '*' rabbitmq.clear_password rabbit_user
    """
    return {
        "Password Cleared": rabbitmq.run(ctx.host, "clear_password", "--", str(name), runas=runas)
    }


def check_password(ctx: MinionContext, name: str, password: str, runas: str | None = None) -> bool:
    """Whether this is the password of a user.

    CLI Example:

        salt '*' rabbitmq.check_password rabbit_user password
    """
    if not user_exists(ctx, name, runas):
        return False
    words = ("authenticate_user", "--", str(name))
    try:
        rabbitmq.run(ctx.host, *words, runas=runas, secret=str(password))
    except FunctionError as error:
        if "authenticate" in str(error):
            return False
        raise
    return True


def set_user_tags(
    ctx: MinionContext, name: str, tags: Any, runas: str | None = None
) -> dict[str, str]:
    """Give a user these tags and no others.

    CLI Example:

        salt '*' rabbitmq.set_user_tags myadmin administrator
    """
    words = [tags] if isinstance(tags, str) else [str(tag) for tag in tags]
    said = rabbitmq.run(ctx.host, "set_user_tags", "--", str(name), *words, runas=runas)
    return {"Tag(s) set": said}


def add_vhost(ctx: MinionContext, vhost: str, runas: str | None = None) -> dict[str, str]:
    """Add a virtual host.

    CLI Example:

        salt '*' rabbitmq.add_vhost rabbit_host
    """
    said = rabbitmq.run(ctx.host, "add_vhost", "--", str(vhost), runas=runas)
    return {"Added": said}


def delete_vhost(ctx: MinionContext, vhost: str, runas: str | None = None) -> dict[str, str]:
    """Delete a virtual host.

    CLI Example:

        salt '*' rabbitmq.delete_vhost rabbit_host
    """
    said = rabbitmq.run(ctx.host, "delete_vhost", "--", str(vhost), runas=runas)
    return {"Deleted": said}


def set_permissions(
    ctx: MinionContext,
    vhost: str,
    user: str,
    conf: str = ".*",
    write: str = ".*",
    read: str = ".*",
    runas: str | None = None,
) -> dict[str, str]:
    """Say what a user may do in a virtual host: regular expressions for names.

    CLI Example:

        salt '*' rabbitmq.set_permissions myvhost myuser
    """
    words = ("set_permissions", "-p", str(vhost), "--", str(user), conf, write, read)
    said = rabbitmq.run(ctx.host, *words, runas=runas)
    return {"Permissions Set": said}


def list_permissions(
    ctx: MinionContext, vhost: str, runas: str | None = None
) -> dict[str, dict[str, str]]:
    """What users may do in a virtual host.

    CLI Example:

        salt '*' rabbitmq.list_permissions /myvhost
    """
    text = rabbitmq.run(ctx.host, "list_permissions", "-q", "-p", str(vhost), runas=runas)
    return _parse_rights(text, "user")


def list_user_permissions(
    ctx: MinionContext, name: str, runas: str | None = None
) -> dict[str, dict[str, str]]:
    """What a user may do, by virtual host.

    CLI Example:

        salt '*' rabbitmq.list_user_permissions user
    """
    text = rabbitmq.run(ctx.host, "list_user_permissions", "-q", "--", str(name), runas=runas)
    return _parse_rights(text, "vhost")


def _parse_rights(text: str, key: str) -> dict[str, dict[str, str]]:
    rows = rabbitmq.table(text, (key, *_RIGHTS))
    return {row[key]: {name: row.get(name, "") for name in _RIGHTS} for row in rows}


def list_policies(
    ctx: MinionContext, vhost: str = "/", runas: str | None = None
) -> dict[str, dict[str, dict[str, str]]]:
    """The policies of a virtual host.

    CLI Example:

        salt '*' rabbitmq.list_policies
    """
    text = rabbitmq.run(ctx.host, "list_policies", "-q", "-p", str(vhost), runas=runas)
    found: dict[str, dict[str, dict[str, str]]] = {}
    for row in rabbitmq.table(text, _POLICY):
        policy = {name: row[name] for name in ("pattern", "definition", "priority")}
        its = found.setdefault(row["vhost"], {})
        its[row["name"]] = {"apply_to": row["apply-to"], **policy}
    return found


def set_policy(
    ctx: MinionContext,
    vhost: str,
    name: str,
    pattern: str,
    definition: object,
    priority: object = None,
    runas: str | None = None,
    apply_to: str | None = None,
) -> dict[str, str]:
    """Set a policy; ``definition`` is JSON or a map.

    CLI Example:

        salt '*' rabbitmq.set_policy / HA '.*' '{"ha-mode":"all"}'
    """
    words = ["set_policy", "-p", str(vhost)]
    words += ["--priority", str(priority)] if priority else []
    words += ["--apply-to", str(apply_to)] if apply_to else []
    text = json.dumps(definition) if isinstance(definition, Mapping) else str(definition)
    said = rabbitmq.run(ctx.host, *words, "--", str(name), str(pattern), text, runas=runas)
    return {"Set": said}


def policy_exists(ctx: MinionContext, vhost: str, name: str, runas: str | None = None) -> bool:
    """Whether there is such a policy.

    CLI Example:

        salt '*' rabbitmq.policy_exists / HA
    """
    return str(name) in list_policies(ctx, vhost, runas).get(str(vhost), {})


def delete_policy(
    ctx: MinionContext, vhost: str, name: str, runas: str | None = None
) -> dict[str, str]:
    """Delete a policy.

    CLI Example:

        salt '*' rabbitmq.delete_policy / HA
    """
    return {
        "Deleted": rabbitmq.run(
            ctx.host, "clear_policy", "-p", str(vhost), "--", str(name), runas=runas
        )
    }


def list_available_plugins(ctx: MinionContext, runas: str | None = None) -> list[str]:
    """The plugins that there are.

    CLI Example:

        salt '*' rabbitmq.list_available_plugins
    """
    text = rabbitmq.run(ctx.host, "list", "-m", program=PLUGINS, runas=runas)
    return text.split()


def list_enabled_plugins(ctx: MinionContext, runas: str | None = None) -> list[str]:
    """The plugins that are enabled.

    CLI Example:

        salt '*' rabbitmq.list_enabled_plugins
    """
    text = rabbitmq.run(ctx.host, "list", "-m", "-e", program=PLUGINS, runas=runas)
    return text.split()


def plugin_is_enabled(ctx: MinionContext, name: str, runas: str | None = None) -> bool:
    """Whether a plugin is enabled.

    CLI Example:

        salt '*' rabbitmq.plugin_is_enabled rabbitmq_plugin_name
    """
    return str(name) in list_enabled_plugins(ctx, runas)


def enable_plugin(ctx: MinionContext, name: str, runas: str | None = None) -> dict[str, str]:
    """Enable a plugin.

    CLI Example:

        salt '*' rabbitmq.enable_plugin foo
    """
    said = rabbitmq.run(ctx.host, "enable", str(name), runas=runas, program=PLUGINS)
    return {"Enabled": said}


def disable_plugin(ctx: MinionContext, name: str, runas: str | None = None) -> dict[str, str]:
    """Disable a plugin.

    CLI Example:

        salt '*' rabbitmq.disable_plugin foo
    """
    said = rabbitmq.run(ctx.host, "disable", str(name), runas=runas, program=PLUGINS)
    return {"Disabled": said}


def list_upstreams(ctx: MinionContext, runas: str | None = None) -> dict[str, str]:
    """The upstreams of the federation, each as JSON.

    CLI Example:

        salt '*' rabbitmq.list_upstreams
    """
    text = rabbitmq.run(ctx.host, "list_parameters", "-q", runas=runas)
    rows = rabbitmq.table(text, ("component", "name", "value"))
    return {row["name"]: row["value"] for row in rows if row["component"] == UPSTREAM}


def upstream_exists(ctx: MinionContext, name: str, runas: str | None = None) -> bool:
    """Whether there is such an upstream.

    CLI Example:

        salt '*' rabbitmq.upstream_exists upstream_name
    """
    return str(name) in list_upstreams(ctx, runas)


@takes_options(UpstreamOptions, "* runas")
def set_upstream(
    ctx: MinionContext, options: UpstreamOptions, /, name: str, uri: str, runas: str | None = None
) -> bool:
    """Set an upstream of the federation.

    CLI Example:

        salt '*' rabbitmq.set_upstream upstream_name uri=amqp://user:pw@host/%2F ack_mode=no-ack
    """
    value = json.dumps(upstream_of(options.with_address(uri)))
    rabbitmq.run(ctx.host, "set_parameter", UPSTREAM, str(name), value, runas=runas)
    return True


def upstream_of(given: Mapping[str, object]) -> dict[str, Any]:
    """An upstream as the broker keeps it: what is given, by its names."""
    return {name.replace("_", "-"): value for name, value in given.items() if value is not None}


def delete_upstream(ctx: MinionContext, name: str, runas: str | None = None) -> bool:
    """Delete an upstream.

    CLI Example:

        salt '*' rabbitmq.delete_upstream upstream_name
    """
    rabbitmq.run(ctx.host, "clear_parameter", UPSTREAM, str(name), runas=runas)
    return True


def _make_command(name: str, what: str) -> Callable[..., str]:
    """Make the function that runs the command of the same name, without arguments."""

    def run_command(ctx: MinionContext, runas: str | None = None) -> str:
        return rabbitmq.run(ctx.host, name, runas=runas)

    text = f"""{what}.

    CLI Example:

        salt '*' rabbitmq.{name}
    """
    return name_function(run_command, name, text)


cluster_status = _make_command(
    "cluster_status", "The nodes of the cluster, as the broker tells them"
)
stop_app = _make_command("stop_app", "Stop the broker's application")
start_app = _make_command("start_app", "Start the broker's application")
reset = _make_command("reset", "Make the node a new one, out of its cluster")
force_reset = _make_command("force_reset", "The same, whatever state it is in")
status = _make_command("status", "What the broker tells of itself")


def join_cluster(
    ctx: MinionContext,
    host: str,
    user: str = "rabbit",
    ram_node: bool | None = None,
    runas: str | None = None,
) -> dict[str, str]:
    """Join the cluster of the node ``user@host``; the broker's application is stopped for it.

    CLI Example:

        salt '*' rabbitmq.join_cluster rabbit.example.com rabbit
    """
    words = ["join_cluster", *(["--ram"] if ram_node else []), f"{user}@{host}"]
    stop_app(ctx, runas)
    try:
        said = rabbitmq.run(ctx.host, *words, runas=runas)
    finally:
        start_app(ctx, runas)
    return {"Join": said}


def list_queues(ctx: MinionContext, runas: str | None = None, *args: str) -> dict[str, list[str]]:
    """The queues of the first virtual host; ``args`` are the columns.

    CLI Example:

        salt '*' rabbitmq.list_queues runas=root messages consumers
    """
    return _read_queues(ctx.host, runas, args)


def list_queues_vhost(
    ctx: MinionContext, vhost: str, runas: str | None = None, *args: str
) -> dict[str, list[str]]:
    """The queues of a virtual host; ``args`` are the columns.

    CLI Example:

        salt '*' rabbitmq.list_queues_vhost myvhost root messages consumers
    """
    return _read_queues(ctx.host, runas, args, "-p", str(vhost))


def _read_queues(
    host: Host, runas: str | None, columns: tuple[str, ...], *words: str
) -> dict[str, list[str]]:
    names = ("name", *(column for column in columns or ("messages",) if column != "name"))
    text = rabbitmq.run(host, "list_queues", "-q", *words, *names, runas=runas)
    rows = rabbitmq.table(text, names)
    return {row["name"]: [row.get(name, "") for name in names[1:]] for row in rows}
