"""The minion's id: set, remembered, or found out.

Source: docs/config.md#minion.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from saltlite.core.dataclasses import dataclass
from saltlite.disk import make_dir, write_file

OPTIONS = (
    "id",
    "minion_id_caching",
    "minion_id_lowercase",
    "minion_id_remove_domain",
    "append_domain",
)

UNUSABLE = ("localhost*", "ip6-*", "127.*", "::1*", "fe00::*", "fe02::*", "0.0.0.0")  # noqa: S104 - a name
"""Names (globs) that many machines share."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """The options that decide; named as in the file."""

    id: str = ""
    minion_id_caching: bool = True
    minion_id_lowercase: bool = False
    minion_id_remove_domain: bool | Sequence[str] = False
    append_domain: str = ""


def minion_id(wishes: Wishes, root: Path) -> tuple[str, bool]:
    """The id, and whether it had to be found out."""
    if wishes.id:
        return with_domain(wishes.id, wishes.append_domain), False
    cached = read_cache(root) if wishes.minion_id_caching else ""
    if cached:
        return _append_domain(cached, wishes), False
    return _append_domain(_shape_name(first_usable(candidates()), wishes), wishes), True


def _shape_name(name: str, wishes: Wishes) -> str:
    if wishes.minion_id_lowercase:
        name = name.lower()
    return without_domain(name, wishes.minion_id_remove_domain)


def _append_domain(name: str, wishes: Wishes) -> str:
    return name if _is_address(name) else with_domain(name, wishes.append_domain)


def cache_file(root: Path) -> Path:
    """Where an id that was found out is remembered."""
    return root / "etc/salt/minion_id"


def read_cache(root: Path) -> str:
    """The remembered id, ``""`` for none: the first line, without a BOM; never ``localhost``."""
    try:
        text = cache_file(root).read_text("utf-8-sig", errors="replace")
    except OSError:
        return ""
    name = text.split("\n", 1)[0].strip()
    return "" if name == "localhost" else name


def cache(root: Path, wishes: Wishes, name: str) -> None:
    """Remember an id that was found out.

    Raises:
        StoreError: it cannot be written.
    """
    if name == "localhost":
        return
    if wishes.append_domain and not _is_address(name):
        name = name.removesuffix("." + wishes.append_domain.lstrip("."))
    path = cache_file(root)
    make_dir(path.parent, 0o755)
    write_file(path, name.encode(), mode=0o644)


def with_domain(name: str, domain: str) -> str:
    """``name`` with ``domain``, unless it ends so or with a dot."""
    if not domain or name.endswith((domain, ".")):
        return name
    return f"{name}.{domain}"


def without_domain(name: str, remove: bool | Sequence[str]) -> str:
    """``name`` without its domain, or without the first of the listed ones that it has."""
    if remove is True:
        return name if _is_address(name) else name.split(".", 1)[0]
    for domain in remove or ():
        suffix = "." + domain.lstrip(".")
        if name.endswith(suffix):
            return name.removesuffix(suffix)
    return name


def first_usable(names: Iterable[str]) -> str:
    """The first name that is this machine's own; ``localhost`` if there is none."""
    for name in names:
        if name and not any(fnmatchcase(name, pattern) for pattern in UNUSABLE):
            return name
    return "localhost"


def candidates() -> Iterator[str]:
    """Names of this machine, the best first; each is looked up only when asked for."""
    import socket

    yield full_name()
    yield os.uname().nodename
    yield socket.gethostname()
    yield from _canonical_names()
    yield from names_in_files()
    yield from _own_addresses()


def full_name() -> str:
    """This machine's name with its domain; without it where it is too long to be looked up.

    The kernel takes 64 characters, the DNS 63 between two dots.
    """
    import socket  # most minions are told their id, or remember it

    try:
        return socket.getfqdn()
    except UnicodeError:
        return socket.gethostname()


def _canonical_names() -> Iterator[str]:
    import socket

    with contextlib.suppress(OSError, UnicodeError):
        for entry in socket.getaddrinfo(
            socket.gethostname(), None, type=socket.SOCK_DGRAM, flags=socket.AI_CANONNAME
        ):
            yield entry[3]


def names_in_files(root: Path = Path("/")) -> Iterator[str]:
    """The names in ``/etc/hostname`` and ``/etc/nodename``, and ``/etc/hosts``' for loopback."""
    for name in ("etc/hostname", "etc/nodename"):
        yield from _read_lines(root / name)
    for line in _read_lines(root / "etc/hosts"):
        address, *names = line.split("#", 1)[0].split() or [""]
        if address.startswith("127.") or address == "::1":
            yield from names


def _read_lines(path: Path) -> list[str]:
    try:
        return [line.strip() for line in path.read_text(errors="replace").splitlines()]
    except OSError:
        return []


def _own_addresses() -> Iterator[str]:
    import socket

    with contextlib.suppress(OSError, UnicodeError):
        for entry in socket.getaddrinfo(socket.gethostname(), None, type=socket.SOCK_DGRAM):
            yield str(entry[4][0])


def _is_address(name: str) -> bool:
    import ipaddress

    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
