"""Names and addresses: lines of a hosts file, and what a name resolves to.

``hosts_append`` and ``hosts_remove`` leave all other lines as they are. Answers observed on Salt
3006.30.
"""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

from saltlite.context import MinionContext
from saltlite.errors import FunctionError, UsageError
from saltlite.modules import dig
from saltlite.providers import textfile

HOSTS = "/etc/hosts"


def parse_hosts(
    ctx: MinionContext, hostsfile: str = HOSTS, hosts: str | None = None
) -> dict[str, list[str]] | str:
    """The names of each address in a hosts file, or in the text ``hosts``.

    CLI Example:

        salt '*' dnsutil.parse_hosts
    """
    text = hosts or ctx.host.read_text(hostsfile)
    return _parse_names(text) if text else "Error: hosts data was not found"


def _parse_names(text: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        words = line.partition("#")[0].split()
        if len(words) > 1:
            known = found.setdefault(words[0], [])
            known += [word for word in words[1:] if word not in known]
    return found


def hosts_append(
    ctx: MinionContext, hostsfile: str = HOSTS, ip_addr: str | None = None, entries: object = None
) -> str:
    """Add a line for an address with those of the names that it does not have yet.

    CLI Example:

        salt '*' dnsutil.hosts_append /etc/hosts 127.0.0.1 ad1.yuk.co,ad2.yuk.co
    """
    if not ip_addr or not dig.check_ip(ip_addr) or "/" in str(ip_addr):
        raise UsageError(f"{ip_addr!r} is no address")
    with textfile.hold(ctx, hostsfile):
        text = ctx.host.read_text(hostsfile) or ""
        known = _parse_names(text).get(str(ip_addr), [])
        new = [name for name in _split_entries(entries) if name not in known]
        if not new:
            return f"No additional hosts were added to {hostsfile}"
        line = f"{ip_addr} {' '.join(new)}"
        end = "" if not text or text.endswith("\n") else "\n"
        _write_hosts(hostsfile, f"{text}{end}{line}\n")
    return f"The following line was added to {hostsfile}:\n{line}"


def hosts_remove(ctx: MinionContext, hostsfile: str = HOSTS, entries: object = None) -> None:
    """Take names out of a hosts file, and lines that have no other.

    CLI Example:

        salt '*' dnsutil.hosts_remove /etc/hosts ad1.yuk.co
    """
    gone = set(_split_entries(entries))
    with textfile.hold(ctx, hostsfile):
        text = ctx.host.read_text(hostsfile)
        if text is None:
            raise FunctionError(f"{hostsfile} is not there")
        lines = [_drop_names(line, gone) for line in text.splitlines(keepends=True)]
        _write_hosts(hostsfile, "".join(lines))


def _drop_names(line: str, gone: set[str]) -> str:
    content, mark, comment = line.partition("#")
    words = content.split()
    if not gone & set(words[1:]):
        return line
    rest = [word for word in words[1:] if word not in gone]
    if not rest:
        return ""
    return f"{words[0]} {' '.join(rest)}{f' {mark}{comment}' if mark else chr(10)}"


def _split_entries(entries: Any) -> list[str]:
    given = entries.split(",") if isinstance(entries, str) else entries or ()
    names = [str(name).strip() for name in given]
    wrong = next((name for name in names if not name or any(c in name for c in " \t\n#")), None)
    if wrong is not None or not names:
        raise UsageError(f"{wrong or entries!r} is no name of a host")
    return names


def _write_hosts(path: str, text: str) -> None:
    from saltlite.disk import rewrite

    rewrite(Path(path), text.encode())


def check_ip(ip_addr: object) -> bool:
    """Whether a text is an address.

    CLI Example:

        salt '*' dnsutil.check_ip 127.0.0.1
    """
    return dig.check_ip(ip_addr)


def A(ctx: MinionContext, host: str, nameserver: str | None = None) -> list[str] | str:
    """The IPv4 addresses of a host, as this machine resolves it or as ``nameserver`` says.

    CLI Example:

        salt '*' dnsutil.A www.google.com
    """
    if nameserver:
        return dig.A(ctx, host, nameserver)
    return _resolve_host(host, socket.AF_INET)


def AAAA(ctx: MinionContext, host: str, nameserver: str | None = None) -> list[str] | str:
    """The IPv6 addresses of a host, as this machine resolves it or as ``nameserver`` says.

    CLI Example:

        salt '*' dnsutil.AAAA www.google.com
    """
    if nameserver:
        return dig.AAAA(ctx, host, nameserver)
    return _resolve_host(host, socket.AF_INET6)


def _resolve_host(host: str, family: socket.AddressFamily) -> list[str] | str:
    try:
        found = socket.getaddrinfo(str(host), None, family, socket.SOCK_RAW)
    except OSError:
        return f"Unable to resolve {host}"
    return [str(each[4][0]) for each in found]


def NS(
    ctx: MinionContext, domain: str, resolve: bool = True, nameserver: str | None = None
) -> list[str]:
    """The name servers of a domain; with ``resolve`` their addresses.

    CLI Example:

        salt '*' dnsutil.NS google.com
    """
    names = _query_records(ctx, domain, "NS", nameserver)
    if not resolve:
        return names
    return [address for name in names for address in dig.A(ctx, name, nameserver)]


def MX(
    ctx: MinionContext, domain: str, resolve: bool = False, nameserver: str | None = None
) -> list[list[str]]:
    """The mail servers of a domain, ``[preference, name]``; with ``resolve`` the first's address.

    CLI Example:

        salt '*' dnsutil.MX saltstack.org
    """
    found = [line.split(maxsplit=1) for line in _query_records(ctx, domain, "MX", nameserver)]
    if not resolve:
        return found
    return [[words[0], *dig.A(ctx, words[1], nameserver)[:1]] for words in found]


def SPF(
    ctx: MinionContext, domain: str, record: str = "SPF", nameserver: str | None = None
) -> list[str]:
    """Who may send mail for a domain, as it says in SPF or TXT records.

    CLI Example:

        salt '*' dnsutil.SPF google.com
    """
    found = _query_records(ctx, domain, str(record), nameserver)
    if not found and record == "SPF":
        found = _query_records(ctx, domain, "TXT", nameserver)
    texts = [line.replace('" "', "").strip('"') for line in found]
    rule = next((text for text in texts if text.startswith("v=spf1")), "")
    prefixes = ("ip4:", "ip6:")
    return [word.partition(":")[2] for word in rule.split() if word.startswith(prefixes)]


def _query_records(ctx: MinionContext, domain: str, kind: str, nameserver: str | None) -> list[str]:
    said = dig.ask(ctx, ["-q", domain, "-t", kind], nameserver)
    return [line for line in (said or "").split("\n") if line and not line.startswith(";")]
