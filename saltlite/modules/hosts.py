"""The table of host names. The option ``hosts.file`` names another file than ``/etc/hosts``."""

from __future__ import annotations

from typing import Any

from saltlite.context import MinionContext
from saltlite.providers import textfile
from saltlite.providers.hosts import table

HOSTS_FILE = "/etc/hosts"


def list_hosts(ctx: MinionContext) -> dict[str, Any]:
    """The whole table: addresses with their names and comments.

    CLI Example:

        salt '*' hosts.list_hosts
    """
    return table.parse(_read_hosts(ctx))


def get_ip(ctx: MinionContext, host: str) -> str:
    """The address of a name, empty if it has none.

    CLI Example:

        salt '*' hosts.get_ip <hostname>
    """
    entries = table.addresses(table.parse(_read_hosts(ctx)))
    return next((address for address, names in entries if host in names), "")


def get_alias(ctx: MinionContext, ip: str) -> list[str]:
    """The names of an address.

    CLI Example:

        salt '*' hosts.get_alias <ip addr>
    """
    return list(dict(table.addresses(table.parse(_read_hosts(ctx)))).get(ip, []))


def has_pair(ctx: MinionContext, ip: str, alias: str | list[str]) -> bool:
    """Whether an address has this name, or all these names.

    CLI Example:

        salt '*' hosts.has_pair <ip> <alias>
    """
    names = get_alias(ctx, ip)
    wanted = alias if isinstance(alias, list) else [alias]
    return bool(names) and all(name in names for name in wanted)


def set_host(ctx: MinionContext, ip: str, alias: str, comment: str | None = None) -> bool:
    """Make this the only name of an address; several with blanks between. None removes it.

    CLI Example:

        salt '*' hosts.set_host <ip> <alias>
    """
    names = "".join(("", alias))  # a list of names is not taken
    with textfile.hold(ctx, _hosts_path(ctx)):
        _write_hosts(ctx, table.with_names(_read_hosts(ctx), ip, names.strip(), comment))
        return True


def rm_host(ctx: MinionContext, ip: str, alias: str) -> bool:
    """Take a name from an address.

    CLI Example:

        salt '*' hosts.rm_host <ip> <alias>
    """
    with textfile.hold(ctx, _hosts_path(ctx)):
        if has_pair(ctx, ip, alias):
            _write_hosts(ctx, table.without_name(_read_hosts(ctx), ip, alias))
        return True


def add_host(ctx: MinionContext, ip: str, alias: str) -> bool:
    """Give an address one name more.

    CLI Example:

        salt '*' hosts.add_host <ip> <alias>
    """
    with textfile.hold(ctx, _hosts_path(ctx)):
        if not has_pair(ctx, ip, alias):
            _write_hosts(ctx, table.with_name(_read_hosts(ctx), ip, alias))
        return True


def set_comment(ctx: MinionContext, ip: str, comment: str) -> bool:
    """Put a comment beside an address; ``False`` if the address is not there.

    CLI Example:

        salt '*' hosts.set_comment <ip> <comment>
    """
    with textfile.hold(ctx, _hosts_path(ctx)):
        changed = table.with_comment(_read_hosts(ctx), ip, comment)
        if changed is None:
            return False
        _write_hosts(ctx, changed)
        return True


def _hosts_path(ctx: MinionContext) -> str:
    return str(ctx.config.extra.get("hosts.file") or HOSTS_FILE)


def _read_hosts(ctx: MinionContext) -> str:
    return textfile.load(ctx.host, _hosts_path(ctx)) or ""


def _write_hosts(ctx: MinionContext, text: str) -> None:
    if text != textfile.load(ctx.host, _hosts_path(ctx)):
        textfile.save(_hosts_path(ctx), text)
