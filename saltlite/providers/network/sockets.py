"""Open sockets, from ``/proc/net/tcp`` and its kin. Pure, but for who holds them."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Iterator

from saltlite.core.dataclasses import dataclass
from saltlite.core.lazyregex import regex
from saltlite.core.numbers import is_digits
from saltlite.host import Host

TABLES = ("tcp", "tcp6", "udp", "udp6")
ESTABLISHED = "ESTABLISHED"

_STATES = {
    1: ESTABLISHED,
    2: "SYN_SENT",
    3: "SYN_RECV",
    4: "FIN_WAIT1",
    5: "FIN_WAIT2",
    6: "TIME_WAIT",
    7: "CLOSE",
    8: "CLOSE_WAIT",
    9: "LAST_ACK",
    10: "LISTEN",
    11: "CLOSING",
}
_SOCKET = regex(r"socket:\[(\d+)\]")
_PROGRAM_LIMIT = 19
"""So many characters netstat has for a process id and a program."""


@dataclass(frozen=True, slots=True)
class Socket:
    """A line of a table. Queues in bytes; port 0 stands for any."""

    proto: str
    local: str
    local_port: int
    remote: str
    remote_port: int
    state: int
    send: int
    receive: int
    user: str
    inode: str


def parse(text: str, proto: str) -> list[Socket]:
    """``/proc/net/<proto>``."""
    found = []
    for line in text.splitlines()[1:]:
        words = line.split()
        if len(words) < 10:
            continue
        local, local_port = _parse_endpoint(words[1])
        remote, remote_port = _parse_endpoint(words[2])
        send, _, receive = words[4].partition(":")
        found.append(
            Socket(
                proto,
                local,
                local_port,
                remote,
                remote_port,
                int(words[3], 16),
                int(send, 16),
                int(receive, 16),
                words[7],
                words[9],
            )
        )
    return found


def _parse_endpoint(text: str) -> tuple[str, int]:
    """Address and port; the kernel writes addresses as words in its own byte order."""
    digits, _, port = text.partition(":")
    raw = b"".join(
        bytes.fromhex(digits[start : start + 8])[::-1] for start in range(0, len(digits), 8)
    )
    return _format_address(raw), int(port, 16)


def _format_address(raw: bytes) -> str:
    if len(raw) == 4:
        return str(ipaddress.IPv4Address(raw))
    address = ipaddress.IPv6Address(raw)
    return str(address.ipv4_mapped or address)


def show_socket(socket: Socket, programs: dict[str, str]) -> dict[str, str]:
    """A socket as ``netstat`` shows it; one of UDP has a state only if it has a peer."""
    row = {
        "proto": socket.proto,
        "recv-q": str(socket.receive),
        "send-q": str(socket.send),
        "local-address": _show_place(socket.local, socket.local_port),
        "remote-address": _show_place(socket.remote, socket.remote_port),
    }
    if socket.proto.startswith("tcp") or socket.state == 1:
        row["state"] = _STATES.get(socket.state, "UNKNOWN")
    return {
        **row,
        "user": socket.user,
        "inode": socket.inode,
        "program": programs.get(socket.inode, "-"),
    }


def _show_place(address: str, port: int) -> str:
    return f"{address}:{port or '*'}"


def is_established(socket: Socket) -> bool:
    """Whether both ends of a connection are there."""
    return _STATES.get(socket.state) == ESTABLISHED


def programs(host: Host) -> dict[str, str]:
    """Who holds which socket: inode → ``pid/program``; others' are not told to a plain user."""
    found: dict[str, str] = {}
    for pid in host.names("/proc"):
        if is_digits(pid):
            inodes = list(_find_inodes(host, pid))
            label = f"{pid}/{_find_program(host, pid)}"[:_PROGRAM_LIMIT] if inodes else ""
            for inode in inodes:
                found.setdefault(inode, label)
    return found


def _find_inodes(host: Host, pid: str) -> Iterator[str]:
    directory = f"/proc/{pid}/fd"
    for number in host.names(directory):
        match = _SOCKET.fullmatch(host.read_link(os.path.join(directory, number)) or "")
        if match:
            yield match.group(1)


def _find_program(host: Host, pid: str) -> str:
    first = (host.read_text(f"/proc/{pid}/cmdline") or "").partition("\0")[0]
    name = first.rpartition("/")[2] if first.startswith("/") else first
    return (name.split() or ["-"])[0]
