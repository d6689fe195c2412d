"""``authorized_keys`` and ``known_hosts`` as text in, text out. Pure.

Lines that are not touched stay as they are, also those that OpenSSH would not understand.
"""

from __future__ import annotations

import base64
import binascii
import fnmatch
import hashlib
import hmac
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from saltlite.core.dataclasses import dataclass
from saltlite.core.lazyregex import regex

KINDS = {
    "r": "ssh-rsa",
    "rsa": "ssh-rsa",
    "d": "ssh-dss",
    "dsa": "ssh-dss",
    "ed25519": "ssh-ed25519",
    "e": "ecdsa-sha2-nistp256",
    "ecdsa": "ecdsa-sha2-nistp256",
}
"""Short names of kinds of keys."""

_KIND = regex(
    r"(ssh-(rsa|dss|ed25519)|ecdsa-sha2-nistp(256|384|521)|sk-(ssh-ed25519|ecdsa-sha2-nistp256)"
    r"@openssh\.com|ssh-[\w-]+-cert-v01@openssh\.com)$"
)
_OPTION = regex(r'(?:[^\s",]|"(?:[^"\\]|\\.)*")+')


@dataclass(frozen=True, slots=True)
class Authorized:
    """A key that may log in."""

    key: str
    enc: str
    comment: str
    options: tuple[str, ...]

    def line(self) -> str:
        """The line of the file."""
        words = [",".join(self.options)] if self.options else []
        return " ".join([*words, self.enc, self.key, self.comment]).rstrip() + "\n"


def kind_of(enc: str) -> str | None:
    """The full name of a kind of key, ``None`` for none."""
    full = KINDS.get(enc, enc)
    return full if _KIND.match(full) else None


def is_hash(name: str) -> bool:
    """Whether fingerprints can be made with this hash."""
    return name in hashlib.algorithms_guaranteed and not name.startswith("shake_")


def fingerprint(key: str, hash_type: str) -> str | None:
    """The hash of a key in base64, digits in pairs; ``None`` if it is no base64.

    Raises:
        ValueError: there is no such hash.
    """
    try:
        data = base64.b64decode(key, validate=True)
    except (binascii.Error, ValueError):
        return None
    digest = hashlib.new(hash_type, data, usedforsecurity=False).hexdigest()
    return ":".join(digest[place : place + 2] for place in range(0, len(digest), 2))


def parse_authorized_line(line: str) -> Authorized | None:
    """A line of ``authorized_keys``; ``None`` for comments and what is no key."""
    rest = line.strip()
    if not rest or rest.startswith("#"):
        return None
    options: tuple[str, ...] = ()
    if not _KIND.match(rest.split()[0]):
        options, rest = _split_options(rest)
    words = rest.split(None, 2)
    if len(words) < 2 or not _KIND.match(words[0]):
        return None
    return Authorized(words[1], words[0], words[2] if len(words) > 2 else "", options)


def _split_options(text: str) -> tuple[tuple[str, ...], str]:
    """The options at the beginning, and what comes after them. Commas in quotes separate not."""
    found: list[str] = []
    place = 0
    while True:
        match = _OPTION.match(text, place)
        if not match:
            return (), ""
        found.append(match.group())
        place = match.end()
        if text[place : place + 1] != ",":
            return tuple(found), text[place:].strip()
        place += 1


def parse_authorized(text: str) -> list[Authorized]:
    """The keys of ``authorized_keys``."""
    found = map(parse_authorized_line, text.splitlines())
    return [each for each in found if each is not None]


def with_authorized(text: str, wanted: Authorized) -> str:
    """The file with a key; its line takes the place of the one that has it already."""
    lines = text.splitlines(keepends=True)
    for index, line in enumerate(lines):
        found = parse_authorized_line(line)
        if found is not None and found.key == wanted.key:
            lines[index] = wanted.line()
            return "".join(lines)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    return "".join([*lines, wanted.line()])


def without_authorized(text: str, key: str) -> str:
    """The file without a key."""
    return "".join(
        line
        for line in text.splitlines(keepends=True)
        if (found := parse_authorized_line(line)) is None or found.key != key
    )


def parse_known(text: str) -> Iterator[tuple[str, str, str]]:
    """Names, kind and key of the lines of ``known_hosts`` and of what ``ssh-keyscan`` prints."""
    for line in text.splitlines():
        words = line.split()
        if len(words) >= 3 and not words[0].startswith(("#", "@")):
            yield words[0], words[1], words[2]


def other_port(port: object) -> Any:
    """A port as the file keeps it: ``None`` for that of ssh, which goes without saying."""
    return None if not port or str(port) == "22" else port


def place_of(hostname: str, port: object) -> str:
    """A host as the file names it."""
    return hostname if other_port(port) is None else f"[{hostname}]:{port}"


def names_host(names: str, host: str) -> bool:
    """Whether the names on a line mean a host; they may be patterns, or hashed."""
    if names.startswith("|1|"):
        return _is_hashed(names, host)
    meant = False
    for name in names.split(","):
        denied = name.startswith("!")
        if fnmatch.fnmatchcase(host.lower(), _host_pattern(name.lstrip("!"))):
            if denied:
                return False
            meant = True
    return meant


def _host_pattern(name: str) -> str:
    """Brackets around a host are no pattern."""
    return name.lower().replace("[", "[[]")


def _is_hashed(text: str, host: str) -> bool:
    try:
        _, _, salt, wanted = text.split("|")
        made = hmac.new(base64.b64decode(salt), host.lower().encode(), "sha1").digest()
        return hmac.compare_digest(made, base64.b64decode(wanted))
    except ValueError:
        return False


def entries(found: Iterator[tuple[str, str, str]], hash_type: str) -> list[dict[str, Any]]:
    """Keys of hosts as ``ssh.get_known_host_entries`` shows them."""
    return [
        {"hostname": names, "key": key, "enc": enc, "fingerprint": fingerprint(key, hash_type)}
        for names, enc, key in found
    ]


def without_known(text: str, host: str, kinds: Collection[str]) -> str:
    """``known_hosts`` without a host's keys of these kinds."""
    return "".join(
        line
        for line in text.splitlines(keepends=True)
        if not any(enc in kinds and names_host(names, host) for names, enc, _ in parse_known(line))
    )


def with_known(text: str, lines: Sequence[str]) -> str:
    """``known_hosts`` with lines more."""
    end = "" if not text or text.endswith("\n") else "\n"
    return text + end + "".join(f"{line}\n" for line in lines)
