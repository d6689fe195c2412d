"""All types there are. Only the file of the one that is asked for is imported."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from importlib import import_module

from saltlite.errors import FunctionError
from saltlite.modules._resource.listed import ListedType

_NAMES = {
    "accounts": "group user",
    "boot": "kmod locale mount sysctl timezone",
    "brokers": "rabbitmq_plugin rabbitmq_policy rabbitmq_upstream rabbitmq_user rabbitmq_vhost",
    "databases": "mysql_database mysql_user postgres_database postgres_group postgres_user",
    "files": "file git virtualenv",
    "firewall": "firewalld iptables",
    "languages": "gem npm pip",
    "minion": "beacon environ grains schedule",
    "networking": "alias host ssh_auth ssh_known_hosts",
    "programs": "alternatives debconf pkg pkgrepo",
    "running": "cron service",
    "selinux": "selinux selinux_boolean selinux_fcontext selinux_module selinux_port",
    "servers": "apache_conf apache_module apache_site supervisord",
    "volumes": "lvm_lv lvm_pv lvm_vg",
}
HOMES: Mapping[str, str] = {name: part for part, names in _NAMES.items() for name in names.split()}
"""Which file of this package has which type, in its ``TYPES``."""


def find_type(name: str) -> ListedType:
    """The type of that name.

    Raises:
        FunctionError: there is none; which one may be meant.
    """
    part = HOMES.get(name)
    if part is None:
        near = get_close_matches(name, HOMES, n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise FunctionError(f"type: {name!r} is none; {hint}there are {', '.join(sorted(HOMES))}")
    found: ListedType = vars(import_module(f"{__package__}.{part}"))["TYPES"][name]
    return found
