"""The keys that apt trusts: in its own key ring, or as files that sources name."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from saltlite import disk
from saltlite.core.dataclasses import dataclass
from saltlite.core.numbers import is_digits
from saltlite.errors import CommandError, FunctionError
from saltlite.providers.pkg.apt_sources import parse_line
from saltlite.providers.pkg.options import SourceOptions
from saltlite.providers.pkg.tools import ask

if TYPE_CHECKING:
    from saltlite.context import MinionContext

KEYRINGS = "/etc/apt/keyrings"
APT_KEY = (
    "apt-key",
    "adv",
    "--batch",
    "--list-public-keys",
    "--with-fingerprint",
    "--with-fingerprint",
    "--with-colons",
    "--fixed-list-mode",
)
SHOW_KEYS = (
    "gpg",
    "--no-options",
    "--no-default-keyring",
    "--no-auto-check-trustdb",
    "--trust-model",
    "always",
    "--batch",
    "--with-colons",
    "--show-keys",
)
"""With fewer options it would make a ``~/.gnupg``, or fall over its absence."""


@dataclass(frozen=True, slots=True)
class KeySource:
    """Where a key comes from: a file, a text, or an id at a key server. ``url`` is for its name."""

    file: str | None = None
    text: str | None = None
    keyserver: str | None = None
    keyid: str | None = None
    url: str | None = None


def list_keys(ctx: MinionContext, aptkey: bool, keydir: str | None) -> dict[str, Any]:
    """The keys, by their ids."""
    if aptkey:
        return parse_keys(_run_text(ctx, APT_KEY))
    directory = keydir or KEYRINGS
    found: dict[str, Any] = {}
    for name in ctx.host.names(directory):
        path = os.path.join(directory, name)
        found |= parse_keys(_run_text(ctx, [*SHOW_KEYS, path]))
    return found


def _run_text(ctx: MinionContext, argv: Sequence[str]) -> str:
    try:
        return ask(ctx, argv).stdout
    except CommandError:
        return ""


def add(
    ctx: MinionContext, source: KeySource, aptkey: bool, keydir: str | None, keyfile: str | None
) -> bool:
    """Trust a key; whether that succeeded."""
    if not aptkey:
        return _add_file(ctx, source, keydir or KEYRINGS, keyfile)
    if source.file:
        return ask(ctx, ["apt-key", "add", source.file]).exit_code == 0
    if source.text:
        return ask(ctx, ["apt-key", "add", "-"], stdin=source.text).exit_code == 0
    if source.keyserver and source.keyid:
        argv = ["apt-key", "adv", "--batch", "--keyserver", source.keyserver]
        return ask(ctx, [*argv, "--recv", source.keyid]).exit_code == 0
    raise TypeError("add_repo_key() takes at least 1 argument (0 given)")


def ring_of(ctx: MinionContext, line: str, options: SourceOptions) -> str | None:
    """The file for the keys of a source, ``None`` for apt's own key ring.

    Raises:
        FunctionError: the source names no file, and apt-key is missing or not to be used.
    """
    if options.aptkey and ctx.host.which("apt-key") is not None:
        return None
    entry = parse_line(line)
    ring = str(options.signedby or (entry.key_file if entry else ""))
    if not ring.startswith("/"):
        raise FunctionError("missing 'signedby' option when apt-key is missing")
    return ring


def is_known(ctx: MinionContext, keyid: str) -> bool:
    """Whether apt's own key ring has a key."""
    return bool(_run_text(ctx, ["apt-key", "export", keyid]).strip())


def receive(ctx: MinionContext, server: str, keyids: Sequence[str], path: str) -> None:
    """Get keys from a key server, and make them one file that sources can name.

    Raises:
        FunctionError: a key is not to be had.
    """
    with tempfile.TemporaryDirectory(prefix="saltlite-keys-") as home:
        gpg = ["gpg", "--homedir", home, "--batch", "--no-tty"]
        done = ask(ctx, [*gpg, "--keyserver", server, "--recv-keys", *keyids])
        ring = os.path.join(home, "exported")
        if done.exit_code == 0:
            armor = ["--armor"] if path.endswith(".asc") else []
            done = ask(ctx, [*gpg, *armor, "--output", ring, "--export", *keyids])
        data = ctx.host.read_bytes(ring) if done.exit_code == 0 else None
    if not data:
        told = (done.stderr.strip().splitlines() or ["no answer"])[-1]
        raise FunctionError(f"Error: Could not add key: {', '.join(keyids)} ({server}: {told})")
    disk.make_dir(Path(os.path.dirname(path)), 0o755)
    disk.write_file(Path(path), data, mode=0o644)


def _add_file(ctx: MinionContext, source: KeySource, keydir: str, keyfile: str | None) -> bool:
    data = source.text.encode() if source.text else None
    if source.file:
        data = ctx.host.read_bytes(source.file)
    name = keyfile or os.path.basename(source.url or "")
    if data is None or not name or os.path.basename(name) != name:
        return False
    disk.make_dir(Path(keydir), 0o755)
    disk.write_file(disk.child(Path(keydir), name), data, mode=0o644)
    return True


def delete(ctx: MinionContext, keyid: str, aptkey: bool, keydir: str | None) -> bool:
    """Stop trusting a key: out of the key ring, or every file in ``keydir`` that has it."""
    if aptkey:
        return ask(ctx, ["apt-key", "del", keyid]).exit_code == 0
    directory = keydir or KEYRINGS
    removed = False
    for name in ctx.host.names(directory):
        path = os.path.join(directory, name)
        keys = parse_keys(_run_text(ctx, [*SHOW_KEYS, path]))
        if any(known.endswith(keyid.upper()) for known in keys):
            removed = disk.remove(Path(path)) or removed
    return removed


def parse_keys(text: str) -> dict[str, Any]:
    """Gpg's ``--with-colons`` listing: each public key with its user and last sub key."""
    keys: dict[str, Any] = {}
    primary: dict[str, Any] = {}
    current: dict[str, Any] = {}
    for line in text.splitlines():
        fields = [*line.split(":"), *([""] * 12)]
        if fields[0] == "pub":
            primary = current = _key_record(fields)
            keys[current["keyid"]] = current
        elif fields[0] == "sub" and primary:
            current = primary["subkey"] = _key_record(fields)
        elif fields[0] == "fpr" and current:
            current["fingerprint"] = fields[9]
        elif fields[0] == "uid" and primary:
            primary |= {"uid": fields[9].replace("\\x3a", ":"), "uid_hash": fields[7]}
    return keys


def _key_record(fields: Sequence[str]) -> dict[str, Any]:
    return {
        "algorithm": _parse_number(fields[3]),
        "bits": _parse_number(fields[2]),
        "capability": fields[11],
        "date_creation": _parse_number(fields[5]),
        "date_expiration": _parse_number(fields[6]),
        "keyid": fields[4],
        "validity": fields[1],
    }


def _parse_number(text: str) -> int | None:
    return int(text) if is_digits(text) else None
