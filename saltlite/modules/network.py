"""The machine's network: interfaces, routes, sockets, and whether others can be reached."""

from __future__ import annotations

import ipaddress
import logging
import socket
from collections.abc import Iterable
from typing import Any

from saltlite.config.identity import full_name
from saltlite.context import MinionContext
from saltlite.core.factories import alias_function
from saltlite.core.numbers import is_digits
from saltlite.errors import FunctionError, ProgramMissing
from saltlite.host import Host
from saltlite.providers import command, textfile
from saltlite.providers.command import CommandOptions
from saltlite.providers.network import interfaces as ifaces
from saltlite.providers.network import routes as routing
from saltlite.providers.network import sockets, tools

log = logging.getLogger(__name__)

CONNECT_TIMEOUT_S = 5.0
HOSTNAME_FILE = "/etc/hostname"
HOSTS_FILE = "/etc/hosts"
RING_USAGE = "Requires rx=<val> tx==<val> rx-mini=<val> and/or rx-jumbo=<val>"


def interfaces(ctx: MinionContext) -> dict[str, dict[str, Any]]:
    """The interfaces: whether they are up, their hardware address, their addresses.

    CLI Example:

        salt '*' network.interfaces
    """
    try:
        return ifaces.show_interfaces(ctx.host.links())
    except OSError as error:
        raise FunctionError(f"Unable to list interfaces: {error}") from error


def interface(ctx: MinionContext, iface: str) -> list[dict[str, Any]] | str:
    """The IPv4 addresses of an interface; a text if there is no such interface.

    CLI Example:

        salt '*' network.interface eth0
    """
    found = interfaces(ctx)
    return found[iface].get("inet", []) if iface in found else _no_interface(iface, found)


def interface_ip(ctx: MinionContext, iface: str) -> str:
    """The first IPv4 address of an interface, empty without one.

    CLI Example:

        salt '*' network.interface_ip eth0
    """
    found = interfaces(ctx)
    if iface not in found:
        return _no_interface(iface, found)
    return next((str(entry["address"]) for entry in found[iface].get("inet", ())), "")


def hw_addr(ctx: MinionContext, iface: str) -> str:
    """The hardware address of an interface.

    CLI Example:

        salt '*' network.hw_addr eth0
    """
    found = interfaces(ctx)
    if iface not in found:
        return _no_interface(iface, found)
    return str(found[iface].get("hwaddr", ""))


hwaddr = alias_function(hw_addr, "hwaddr", "network.hw_addr")


def _no_interface(name: str, found: Iterable[str]) -> str:
    names = ", ".join(f'"{each}"' for each in found)
    return f'Interface "{name}" not in available interfaces: {names}'


def ifacestartswith(ctx: MinionContext, cidr: str) -> list[str]:
    """The interfaces with an address that begins so.

    CLI Example:

        salt '*' network.ifacestartswith 10.0
    """
    return [
        name
        for name, each in interfaces(ctx).items()
        if any(entry["address"].startswith(str(cidr)) for entry in each.get("inet", ()))
    ]


def ip_addrs(
    ctx: MinionContext,
    interface: str | None = None,
    include_loopback: bool = False,
    cidr: str | None = None,
    type: str | None = None,
) -> list[str]:
    """The IPv4 addresses, without those of the loopback interface.

    ``cidr`` keeps those in a network; ``type`` keeps ``public`` or ``private`` ones.

    CLI Example:

        salt '*' network.ip_addrs
    """
    found = _list_addresses(ctx, interface, cidr, 4, include_loopback)
    if type == "public" and not cidr:
        found = [address for address in found if not is_private(str(address))]
    elif type == "private" and not cidr:
        found = [address for address in found if is_private(str(address))]
    return list(map(str, found))


def ip_addrs6(
    ctx: MinionContext,
    interface: str | None = None,
    include_loopback: bool = False,
    cidr: str | None = None,
) -> list[str]:
    """The IPv6 addresses, without those of the loopback interface.

    CLI Example:

        salt '*' network.ip_addrs6
    """
    return list(map(str, _list_addresses(ctx, interface, cidr, 6, include_loopback)))


ipaddrs = alias_function(ip_addrs, "ipaddrs", "network.ip_addrs")
ipaddrs6 = alias_function(ip_addrs6, "ipaddrs6", "network.ip_addrs6")


def _list_addresses(
    ctx: MinionContext, interface: object, cidr: str | None, version: int, include_loopback: bool
) -> list[ifaces.Address]:
    found = ifaces.addresses(
        interfaces(ctx), _list_names(interface), version=version, include_loopback=include_loopback
    )
    if not cidr:
        return found
    try:
        network = ipaddress.ip_network(cidr)
    except ValueError as error:
        log.error("Invalid CIDR '%s': %s", cidr, error)
        return []
    return [address for address in found if address in network]


def _list_names(interface: Any) -> list[str] | None:
    if interface is None:
        return None
    return list(interface) if isinstance(interface, (list, tuple)) else [interface]


def ip_networks(
    ctx: MinionContext,
    interface: str | None = None,
    include_loopback: bool = False,
    verbose: bool = False,
) -> list[str] | dict[str, dict[str, Any]]:
    """The IPv4 networks this machine is in; ``verbose`` tells of each its mask and size.

    CLI Example:

        salt '*' network.ip_networks
    """
    return _list_networks(ctx, interface, 4, include_loopback, verbose)


def ip_networks6(
    ctx: MinionContext,
    interface: str | None = None,
    include_loopback: bool = False,
    verbose: bool = False,
) -> list[str] | dict[str, dict[str, Any]]:
    """The IPv6 networks this machine is in.

    CLI Example:

        salt '*' network.ip_networks6
    """
    return _list_networks(ctx, interface, 6, include_loopback, verbose)


def subnets(ctx: MinionContext, interfaces: object = None) -> list[str] | dict[str, dict[str, Any]]:
    """The IPv4 networks this machine is in.

    CLI Example:

        salt '*' network.subnets
    """
    return _list_networks(ctx, interfaces, 4, False, False)


def subnets6(ctx: MinionContext) -> list[str] | dict[str, dict[str, Any]]:
    """The IPv6 networks this machine is in.

    CLI Example:

        salt '*' network.subnets6
    """
    return _list_networks(ctx, None, 6, False, False)


def _list_networks(
    ctx: MinionContext, interface: object, version: int, include_loopback: bool, verbose: bool
) -> list[str] | dict[str, dict[str, Any]]:
    found = ifaces.networks(
        interfaces(ctx), _list_names(interface), version=version, include_loopback=include_loopback
    )
    if not verbose:
        return list(map(str, found))
    return {
        str(network): {
            "address": str(network.network_address),
            "netmask": str(network.netmask),
            "num_addresses": network.num_addresses,
            "prefixlen": network.prefixlen,
        }
        for network in found
    }


def in_subnet(ctx: MinionContext, cidr: str) -> bool:
    """Whether this machine has an address in a network.

    CLI Example:

        salt '*' network.in_subnet 10.0.0.0/16
    """
    try:
        return bool(_list_addresses(ctx, None, cidr, ipaddress.ip_network(cidr).version, False))
    except ValueError as error:
        log.error("Invalid CIDR '%s': %s", cidr, error)
        return False


def ip_in_subnet(ip_addr: str, cidr: str) -> bool:
    """Whether an address is in a network.

    CLI Example:

        salt '*' network.ip_in_subnet 172.17.0.4 172.16.0.0/12
    """
    try:
        return ipaddress.ip_address(ip_addr) in ipaddress.ip_network(cidr)
    except ValueError as error:
        log.error("Invalid CIDR '%s': %s", cidr, error)
        return False


def calc_net(ip_addr: str, netmask: str | None = None) -> str:
    """The network that an address is in.

    CLI Example:

        salt '*' network.calc_net 172.17.0.5 255.255.240.0
        salt '*' network.calc_net 2a02:f6e:a000:80:84d8:8332:7866:4e07/64
    """
    text = f"{ip_addr}/{netmask}" if netmask is not None else ip_addr
    return str(ipaddress.ip_network(text, strict=False))


def convert_cidr(cidr: str) -> dict[str, str]:
    """Network, mask and last address of a network.

    CLI Example:

        salt '*' network.convert_cidr 172.31.0.0/16
    """
    network = ipaddress.ip_network(cidr, strict=False)
    return {
        "network": str(network.network_address),
        "netmask": str(network.netmask),
        "broadcast": str(network.broadcast_address),
    }


def is_loopback(ip_addr: str) -> bool:
    """Whether an address is the machine's own to itself.

    CLI Example:

        salt '*' network.is_loopback 127.0.0.1
    """
    return ipaddress.ip_address(ip_addr).is_loopback


def is_private(ip_addr: str) -> bool:
    """Whether an address is not for the world.

    CLI Example:

        salt '*' network.is_private 10.0.0.3
    """
    return ipaddress.ip_address(ip_addr).is_private


def reverse_ip(ip_addr: str) -> str:
    """The name under which the name of an address is looked up.

    CLI Example:

        salt '*' network.reverse_ip 172.17.0.4
    """
    return ipaddress.ip_address(ip_addr).reverse_pointer


def iphexval(ip: str) -> str:
    """An address in hexadecimal digits.

    CLI Example:

        salt '*' network.iphexval 10.0.0.1
    """
    return "".join(f"{int(part):02X}" for part in ip.split("."))


def get_hostname() -> str:
    """The machine's name.

    CLI Example:

        salt '*' network.get_hostname
    """
    return socket.gethostname()


def get_fqdn() -> str:
    """The machine's name with its domain.

    CLI Example:

        salt '*' network.get_fqdn
    """
    return full_name()


def mod_hostname(ctx: MinionContext, hostname: str | None) -> bool:
    """Give the machine another name, now and for good.

    CLI Example:

        salt '*' network.mod_hostname master.saltstack.com
    """
    if not hostname:
        return False
    old, name = get_hostname(), str(hostname)
    if ctx.host.is_dir("/run/systemd/system") and ctx.host.which("hostnamectl"):
        argv = ["hostnamectl", "set-hostname", name]
    else:
        argv = ["hostname", name]
    if command.run(ctx, argv, CommandOptions(python_shell=False)).retcode != 0:
        return False
    with textfile.hold(ctx, HOSTS_FILE):
        hosts = textfile.load(ctx.host, HOSTS_FILE)
        if hosts is not None:
            textfile.save(HOSTS_FILE, tools.with_hostname(hosts, old, name))
    if argv[0] == "hostname":
        textfile.save(HOSTNAME_FILE, f"{name}\n")
    return True


def fqdns(ctx: MinionContext) -> dict[str, list[str]]:
    """The names of all addresses of this machine, by reverse look-up.

    CLI Example:

        salt '*' network.fqdns
    """
    from concurrent.futures import ThreadPoolExecutor

    found = interfaces(ctx)
    asked = [
        str(address)
        for version in (4, 6)
        for address in ifaces.addresses(found, version=version)
        if not address.is_link_local
    ]
    if not asked:
        return {"fqdns": []}
    with ThreadPoolExecutor(max_workers=min(8, len(asked))) as pool:
        names = {name for found_names in pool.map(_names_of, asked) for name in found_names}
    return {"fqdns": sorted(names)}


def _names_of(address: str) -> list[str]:
    try:
        name, aliases, _ = socket.gethostbyaddr(address)
    except (OSError, UnicodeError):
        return []
    return [each for each in (name, *aliases) if "." in each and not is_digits(each[0])]


def arp(ctx: MinionContext) -> dict[str, str]:
    """The neighbours' addresses by their hardware addresses.

    CLI Example:

        salt '*' network.arp
    """
    return tools.parse_arp(ctx.host.read_text("/proc/net/arp") or "")


def ip_neighs(ctx: MinionContext) -> dict[str, str]:
    """The neighbours' IPv4 addresses by their hardware addresses. In Salt since 3007.

    CLI Example:

        salt '*' network.ip_neighs
    """
    return tools.parse_neighbours(_read_output(ctx, ["ip", "-4", "neigh", "show"]))


def ip_neighs6(ctx: MinionContext) -> dict[str, str]:
    """The neighbours' IPv6 addresses by their hardware addresses. In Salt since 3007.

    CLI Example:

        salt '*' network.ip_neighs6
    """
    return tools.parse_neighbours(_read_output(ctx, ["ip", "-6", "neigh", "show"]))


ipneighs = alias_function(ip_neighs, "ipneighs", "network.ip_neighs")
ipneighs6 = alias_function(ip_neighs6, "ipneighs6", "network.ip_neighs6")


def _read_output(ctx: MinionContext, argv: list[str]) -> str:
    return command.run(ctx, argv, CommandOptions(python_shell=False, ignore_retcode=True)).stdout


def routes(ctx: MinionContext, family: str | None = None) -> list[dict[str, str]]:
    """The routes, of both families or of ``inet`` or ``inet6``.

    CLI Example:

        salt '*' network.routes
    """
    if family not in (None, "inet", "inet6"):
        raise FunctionError(f"Invalid address family {family}")
    found = []
    if family != "inet6":
        found += routing.parse_ipv4(ctx.host.read_text("/proc/net/route") or "")
    if family != "inet":
        found += routing.parse_ipv6(ctx.host.read_text("/proc/net/ipv6_route") or "")
    return found


def default_route(ctx: MinionContext, family: str | None = None) -> list[dict[str, str]]:
    """Where everything goes that no other route is for.

    CLI Example:

        salt '*' network.default_route
    """
    return [route for route in routes(ctx, family) if routing.is_default(route)]


def get_route(ctx: MinionContext, ip: str) -> dict[str, str | None]:
    """The way that packets to an address take.

    CLI Example:

        salt '*' network.get_route 10.10.10.10
    """
    options = CommandOptions(python_shell=False, redirect_stderr=True)
    said = command.run(ctx, ["ip", "route", "get", ip], options).stdout
    found = routing.parse_get(said)
    if found is None:
        raise FunctionError(f"No route to {ip}: {said}")
    return dict(found)


def netstat(ctx: MinionContext) -> list[dict[str, str]]:
    """Open sockets of TCP and UDP and who holds them.

    CLI Example:

        salt '*' network.netstat
    """
    programs = sockets.programs(ctx.host)
    return [
        sockets.show_socket(each, programs)
        for proto in sockets.TABLES
        for each in sockets.parse(ctx.host.read_text(f"/proc/net/{proto}") or "", proto)
    ]


def active_tcp(ctx: MinionContext) -> dict[int, dict[str, Any]]:
    """Connections that both ends hold open, numbered.

    CLI Example:

        salt '*' network.active_tcp
    """
    found = [
        each
        for proto in ("tcp", "tcp6")
        for each in sockets.parse(ctx.host.read_text(f"/proc/net/{proto}") or "", proto)
        if sockets.is_established(each)
    ]
    return {
        number: {
            "local_addr": each.local,
            "local_port": each.local_port,
            "remote_addr": each.remote,
            "remote_port": each.remote_port,
        }
        for number, each in enumerate(found)
    }


def ping(
    ctx: MinionContext, host: str, timeout: object = False, return_boolean: bool = False
) -> str | bool:
    """Ping a host four times; ``timeout`` in seconds for each answer.

    CLI Example:

        salt '*' network.ping archlinux.org
        salt '*' network.ping archlinux.org return_boolean=True
    """
    wait = ["-W", str(timeout)] if timeout else []
    argv = ["ping", *wait, "-c", "4", _clean_host(host)]
    done = command.run(
        ctx, argv, CommandOptions(python_shell=False, redirect_stderr=not return_boolean)
    )
    return done.retcode == 0 if return_boolean else done.stdout


def dig(ctx: MinionContext, host: str) -> str:
    """Look a name up with ``dig``.

    CLI Example:

        salt '*' network.dig archlinux.org
    """
    _need_program(ctx.host, "dig")
    return command.run(ctx, ["dig", _clean_host(host)], CommandOptions(python_shell=False)).stdout


def traceroute(ctx: MinionContext, host: str) -> list[dict[str, Any]]:
    """The hops on the way to a host, times in ms.

    CLI Example:

        salt '*' network.traceroute archlinux.org
    """
    _need_program(ctx.host, "traceroute")
    done = command.run(ctx, ["traceroute", _clean_host(host)], CommandOptions(python_shell=False))
    return tools.parse_traceroute(done.stdout)


def _need_program(host: Host, program: str) -> None:
    if host.which(program) is None:
        raise ProgramMissing(program)


def _clean_host(host: str) -> str:
    """A host that no program takes for an option."""
    return str(host).lstrip("-")


def connect(ctx: MinionContext, host: str, port: object = None, **kwargs: Any) -> dict[str, Any]:
    """Whether a port of another machine can be reached, by ``tcp`` or ``udp``.

    ``proto`` is one of the two, ``timeout`` in seconds (5), ``family`` is ``ipv4`` or ``ipv6``.

    CLI Example:

        salt '*' network.connect archlinux.org 80 timeout=3
        salt '*' network.connect google-public-dns-a.google.com port=53 proto=udp timeout=3
    """
    if not host:
        return {"result": False, "comment": "Required argument, host, is missing."}
    if not port:
        return {"result": False, "comment": "Required argument, port, is missing."}
    datagram = str(kwargs.get("proto", "tcp")).lower() == "udp"
    proto = "udp" if datagram else "tcp"
    place = f"{proto} port {port}"
    found = _resolve_address(str(host), port, kwargs.get("family"), datagram=datagram)
    if found is None:
        return {"result": False, "comment": f"Unable to resolve host {host} on {place}"}
    where = f"{host} ({found[1][0]}) on {place}"
    if _can_reach(found, _parse_seconds(kwargs.get("timeout")), datagram=datagram):
        return {"result": True, "comment": f"Successfully connected to {where}"}
    return {"result": False, "comment": f"Unable to connect to {where}"}


def _resolve_address(
    host: str, port: Any, family: object, *, datagram: bool
) -> tuple[int, Any] | None:
    families = {"ipv4": socket.AF_INET, "ipv6": socket.AF_INET6}
    try:
        service = int(port) if is_digits(str(port)) else str(port)
        kind = socket.SOCK_DGRAM if datagram else socket.SOCK_STREAM
        found = socket.getaddrinfo(host, service, families.get(str(family), 0), kind)
    except (OSError, ValueError):
        return None
    return (int(found[0][0]), found[0][4]) if found else None


def _parse_seconds(timeout: Any) -> float:
    try:
        return float(timeout)
    except (TypeError, ValueError):
        return CONNECT_TIMEOUT_S


def _can_reach(place: tuple[int, Any], timeout_s: float, *, datagram: bool) -> bool:
    family, address = place
    kind = socket.SOCK_DGRAM if datagram else socket.SOCK_STREAM
    try:
        with socket.socket(family, kind) as probe:
            probe.settimeout(timeout_s)
            probe.connect(address)
            if datagram:
                probe.send(b"foo")
                probe.recv(1)
    except (OSError, OverflowError):
        return False
    return True


def wol(mac: str, bcast: str = "255.255.255.255", destport: int = 9) -> bool:
    """Wake a machine over the network.

    CLI Example:

        salt '*' network.wol 08:00:27:13:69:77
    """
    packet = tools.magic_packet(str(mac))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        sender.sendto(packet, (bcast, int(destport)))
    return True


def get_bufsize(ctx: MinionContext, iface: str) -> dict[str, Any]:
    """The sizes of an interface's ring buffers; empty where they cannot be told.

    CLI Example:

        salt '*' network.get_bufsize eth0
    """
    if ctx.host.which("ethtool") is None:
        return {}
    argv = ["ethtool", "-g", iface]
    done = command.run(ctx, argv, CommandOptions(python_shell=False, ignore_retcode=True))
    return tools.parse_ring(done.stdout) if done.retcode == 0 else {}


def mod_bufsize(ctx: MinionContext, iface: str, *args: Any, **kwargs: Any) -> Any:
    """Change the sizes of an interface's ring buffers: ``rx``, ``tx``, ``rx-mini``, ``rx-jumbo``.

    CLI Example:

        salt '*' network.mod_bufsize eth0 tx=256 rx=256
    """
    if ctx.host.which("ethtool") is None:
        return False
    names = ("rx", "tx", "rx-mini", "rx-jumbo")
    wanted = [word for name in names if name in kwargs for word in (name, str(kwargs[name]))]
    if not wanted:
        return {"result": False, "comment": RING_USAGE}
    options = CommandOptions(python_shell=False, redirect_stderr=True)
    done = command.run(ctx, ["ethtool", "-G", iface, *wanted], options)
    return {"result": done.retcode == 0, "comment": done.stdout or " ".join(wanted)}
