"""Interfaces and addresses in the kernel's own words: rtnetlink, which ``ip`` speaks too.

Pure: requests are made here and answers taken apart; the socket is the caller's
(:meth:`saltlite.host.Host.links`). Source: rtnetlink(7), netlink(7).
"""

from __future__ import annotations

import ipaddress
import struct
from collections.abc import Iterator
from typing import Final

from saltlite.core.dataclasses import dataclass, field

LINKS: Final = 18
"""``RTM_GETLINK``; an answer's messages have the number before."""

ADDRESSES: Final = 22
"""``RTM_GETADDR``."""

_DONE: Final = 3
_ERROR: Final = 2
_DUMP_WAS_INTERRUPTED: Final = 0x10
_REQUEST_DUMP: Final = 0x301
# As the kernel has them, without padding: length, type, flags, sequence number, port.
_HEADER: Final = struct.Struct("=IHHII")
_LINK: Final = struct.Struct("=BxHiII")
_ADDRESS: Final = struct.Struct("=BBBBI")
_ATTRIBUTE: Final = struct.Struct("=HH")
_NUMBER: Final = struct.Struct("=I")
# The two highest bits of a type are flags: nested, and in network order.
_TYPE_MASK: Final = 0x3FFF

_LINK_HARDWARE, _LINK_NAME, _LINK_PARENT, _LINK_PARENT_ELSEWHERE = 1, 3, 5, 37
_IS_UP: Final = 1
_ADDRESS_PEER, _ADDRESS_LOCAL, _ADDRESS_LABEL, _ADDRESS_BROADCAST = 1, 2, 3, 4
_IS_SECONDARY: Final = 1
_SCOPES: Final = {0: "global", 200: "site", 253: "link", 254: "host", 255: "nowhere"}
_TUNNELS: Final = {(768, 4), (776, 4), (778, 4), (769, 16), (823, 16)}
"""Kind of hardware and length: what is an IP address in the place of a hardware address."""

IPV4: Final = 4
IPV6: Final = 6
_VERSIONS: Final = {2: IPV4, 10: IPV6}


class Interrupted(Exception):
    """Something changed while the kernel answered: ask again."""


@dataclass(frozen=True, slots=True)
class LinkAddress:
    """An address of an interface. ``prefix`` counts bits; with a peer it is the peer's."""

    version: int
    address: str
    prefix: int
    scope: str
    broadcast: str | None = None
    label: str = ""
    secondary: bool = False


@dataclass(slots=True)
class Link:
    """An interface. ``parent`` is what follows ``@`` in its name, ``hardware`` ``aa:bb:…``."""

    name: str
    up: bool = False
    parent: str | None = None
    hardware: str | None = None
    addresses: list[LinkAddress] = field(default_factory=list)


def request(kind: int) -> bytes:
    """A request for all links or all addresses."""
    # Behind the header a family and its padding; 0 is all families.
    return _HEADER.pack(_HEADER.size + 4, kind, _REQUEST_DUMP, kind, 0) + bytes(4)


def is_last(datagram: bytes) -> bool:
    """Whether an answer ends with this datagram."""
    return any(kind in (_DONE, _ERROR) for kind, _body in _read_messages(datagram))


def links(link_answer: list[bytes], address_answer: list[bytes]) -> list[Link]:
    """All interfaces in the kernel's order, each with its addresses in that order.

    Raises:
        Interrupted: the answer is of no one moment.
        OSError: the kernel refused.
    """
    found: dict[int, Link] = {}
    parents: dict[int, tuple[int, bool]] = {}
    for body in _split_bodies(link_answer):
        _family, hardware_kind, index, flags, _change = _LINK.unpack_from(body)
        parts = _read_attributes(body, _LINK.size)
        link = Link(_read_text(parts.get(_LINK_NAME, b"")), up=bool(flags & _IS_UP))
        hardware = parts.get(_LINK_HARDWARE, b"")
        if len(hardware) > 1 and (hardware_kind, len(hardware)) not in _TUNNELS:
            link.hardware = hardware.hex(":")
        if _LINK_PARENT in parts:
            number = _NUMBER.unpack(parts[_LINK_PARENT])[0]
            parents[index] = (number, _LINK_PARENT_ELSEWHERE in parts)
        found[index] = link
    # When all are read: a link may come before the one that it is on.
    for index, (number, elsewhere) in parents.items():
        here = None if elsewhere else found.get(number)
        found[index].parent = "NONE" if number == 0 else here.name if here else f"if{number}"
    for body in _split_bodies(address_answer):
        family, prefix, flags, scope, index = _ADDRESS.unpack_from(body)
        if family in _VERSIONS and index in found:
            parts = _read_attributes(body, _ADDRESS.size)
            found[index].addresses.append(
                _read_address(_VERSIONS[family], prefix, flags, scope, parts)
            )
    return list(found.values())


def _read_address(
    version: int, prefix: int, flags: int, scope: int, parts: dict[int, bytes]
) -> LinkAddress:
    broadcast = parts.get(_ADDRESS_BROADCAST)
    return LinkAddress(
        version=version,
        # IPv6 has a local address only beside a peer's; else the first field is its own.
        address=_format_ip(parts.get(_ADDRESS_LOCAL) or parts[_ADDRESS_PEER]),
        prefix=prefix,
        scope=_SCOPES.get(scope, str(scope)),
        broadcast=_format_ip(broadcast) if broadcast else None,
        label=_read_text(parts.get(_ADDRESS_LABEL, b"")),
        secondary=version == IPV4 and bool(flags & _IS_SECONDARY),
    )


def _format_ip(packed: bytes) -> str:
    return str(ipaddress.ip_address(packed))


def _read_text(value: bytes) -> str:
    return value.rstrip(b"\0").decode("utf-8", "replace")


def _split_bodies(answer: list[bytes]) -> Iterator[bytes]:
    for datagram in answer:
        for kind, body in _read_messages(datagram):
            if kind == _ERROR:
                number = struct.unpack_from("=i", body)[0]
                raise OSError(-number, "the kernel does not tell its interfaces")
            if kind != _DONE:
                yield body


def _read_messages(datagram: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + _HEADER.size <= len(datagram):
        length, kind, flags, _number, _port = _HEADER.unpack_from(datagram, at)
        if flags & _DUMP_WAS_INTERRUPTED:
            raise Interrupted
        yield kind, datagram[at + _HEADER.size : at + length]
        # By a header at least: a length of 0 would never come to an end.
        at += max(_align(length), _HEADER.size)


def _read_attributes(body: bytes, at: int) -> dict[int, bytes]:
    found: dict[int, bytes] = {}
    while at + _ATTRIBUTE.size <= len(body):
        length, kind = _ATTRIBUTE.unpack_from(body, at)
        found[kind & _TYPE_MASK] = body[at + _ATTRIBUTE.size : at + length]
        at += max(_align(length), _ATTRIBUTE.size)
    return found


def _align(length: int) -> int:
    return (length + 3) & ~3
