"""Keys of users and hosts, as OpenSSH keeps them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from saltlite import disk
from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.core.fields import read_fields
from saltlite.core.lazyregex import regex
from saltlite.errors import (
    FunctionError,
    FunctionUnavailable,
    StoreError,
    UntrustedPath,
    UsageError,
)
from saltlite.host import Account, Host
from saltlite.openat import reach
from saltlite.providers import command, textfile
from saltlite.providers.command import CommandOptions
from saltlite.providers.ssh import keys
from saltlite.providers.ssh.keys import Authorized

AUTHORIZED = ".ssh/authorized_keys"
KNOWN = ".ssh/known_hosts"
GLOBAL_KNOWN = "/etc/ssh/ssh_known_hosts"
HOST_KEYS = "/etc/ssh"
PUBLIC = ("id_rsa.pub", "id_dsa.pub", "id_ecdsa.pub", "id_ed25519.pub", "identity.pub")

_HOST_KEY = regex(r"ssh_host_(?P<kind>\w+?)_key(?P<end>(-cert)?(\.pub)?)$")
_NO_HOSTNAME = {"status": "error", "error": "hostname argument required"}
PORT_AND_HASH = "argument port can not be used in conjunction with argument hash_known_hosts"


def auth_keys(
    ctx: MinionContext,
    user: object = None,
    config: str = AUTHORIZED,
    fingerprint_hash_type: str | None = None,
) -> dict[str, Any]:
    """The keys with which a user may log in; of several users, by user.

    CLI Example:

        salt '*' ssh.auth_keys root
        salt '*' ssh.auth_keys user='[user1, user2]'
    """
    if not user:
        user = _user_names(ctx.host)
    if isinstance(user, (list, tuple)):
        each = {name: _read_keys(ctx, str(name), config, fingerprint_hash_type) for name in user}
        return {name: found for name, found in each.items() if found}
    return _read_keys(ctx, str(user), config, fingerprint_hash_type)


def _user_names(host: Host) -> list[str]:
    from saltlite.providers.accounts import files

    return [entry.name for entry in files.users(host)]


def _read_keys(ctx: MinionContext, user: str, config: str, hash_type: str | None) -> dict[str, Any]:
    path = _user_path(ctx.host, user, config)
    text = textfile.load(ctx.host, path) if path else None
    return {
        found.key: {
            "enc": found.enc,
            "comment": found.comment,
            "options": list(found.options),
            "fingerprint": keys.fingerprint(found.key, _check_hash_type(ctx, hash_type)),
        }
        for found in keys.parse_authorized(text or "")
    }


def check_key(
    ctx: MinionContext,
    user: str,
    key: str,
    enc: str,
    comment: str,
    options: object,
    config: str = AUTHORIZED,
    cache_keys: object = None,
    fingerprint_hash_type: str | None = None,
) -> str:
    """What ``ssh.set_auth_key`` would do: ``add``, ``update``, or ``exists``.

    CLI Example:

        salt '*' ssh.check_key <user> <key> <enc> <comment> <options>
    """
    there = _read_keys(ctx, str(user), config, fingerprint_hash_type).get(key)
    if there is None:
        return "add"
    wanted = _build_key(key, enc, comment, options)
    now = Authorized(key, there["enc"], there["comment"], tuple(there["options"]))
    return "exists" if now == wanted else "update"


def check_key_file(
    ctx: MinionContext,
    user: str,
    source: str,
    config: str = AUTHORIZED,
    saltenv: str = "base",
    fingerprint_hash_type: str | None = None,
) -> dict[str, str]:
    """The same for each key in a file.

    CLI Example:

        salt '*' ssh.check_key_file root salt://ssh/keyfile
    """
    return {
        each.key: check_key(ctx, user, each.key, each.enc, each.comment, list(each.options), config)
        for each in keys.parse_authorized(_fetch_source(ctx, source, saltenv))
    }


def set_auth_key(
    ctx: MinionContext,
    user: str,
    key: str,
    enc: str = "ssh-rsa",
    comment: str = "",
    options: object = None,
    config: str = AUTHORIZED,
    cache_keys: object = None,
    fingerprint_hash_type: str | None = None,
) -> str:
    """Let a key log in: ``new``, ``replace``, ``no change``, or what is wrong with it.

    CLI Example:

        salt '*' ssh.set_auth_key <user> '<key>' enc='dsa'
    """
    if len(key.split()) > 1:
        return "invalid"
    wanted = _build_key(key, enc, comment, options)
    if keys.fingerprint(key, _check_hash_type(ctx, fingerprint_hash_type)) is None:
        return "Invalid public key"
    account = _find_account(ctx.host, user)
    if account is None:
        return "fail"
    path = _path_of(account, config)
    with textfile.hold(ctx, path):
        return _add_key(ctx.host, path, account, wanted)


def _add_key(host: Host, path: str, account: Account, wanted: Authorized) -> str:
    text = textfile.load(host, path)
    there = {each.key: each for each in keys.parse_authorized(text or "")}.get(wanted.key)
    if there == wanted:
        return "no change"
    _write_user_file(path, keys.with_authorized(text or "", wanted), account, was=text)
    return "new" if there is None else "replace"


def _build_key(key: str, enc: str, comment: str, options: Any) -> Authorized:
    kind = keys.kind_of(enc)
    if kind is None:
        raise FunctionError(f"Incorrect encryption key type '{enc}'.")
    listed = [options] if isinstance(options, str) else list(options or [])
    if "\n" in "".join((comment or "", *listed)):
        raise FunctionError("A line of authorized_keys cannot hold a line feed")
    return Authorized(key, kind, comment or "", tuple(listed))


def set_auth_key_from_file(
    ctx: MinionContext,
    user: str,
    source: str,
    config: str = AUTHORIZED,
    saltenv: str = "base",
    fingerprint_hash_type: str | None = None,
    **kwargs: Any,
) -> str:
    """Let the keys in a file log in: ``new``, ``replace``, ``no change``, ``fail``.

    CLI Example:

        salt '*' ssh.set_auth_key_from_file <user> salt://ssh_keys/<user>.id_rsa.pub
    """
    comment = kwargs.get("comment")
    answers = [
        set_auth_key(
            ctx,
            user,
            each.key,
            each.enc,
            each.comment if comment is None else str(comment),
            list(each.options) or kwargs.get("options"),
            config,
            None,
            fingerprint_hash_type,
        )
        for each in keys.parse_authorized(_fetch_source(ctx, source, saltenv))
    ]
    if not answers:
        raise FunctionError(f"No keys detected in {source}. Is file properly formatted?")
    order = ("fail", "replace", "new", "no change")
    return next((answer for answer in order if answer in answers), "fail")


def rm_auth_key(
    ctx: MinionContext,
    user: str,
    key: str,
    config: str = AUTHORIZED,
    fingerprint_hash_type: str | None = None,
) -> str:
    """Do not let a key log in any more: ``Key removed`` or ``Key not present``.

    CLI Example:

        salt '*' ssh.rm_auth_key <user> <key>
    """
    account = _find_account(ctx.host, user)
    if account is None:
        return "Key not present"
    path = _path_of(account, config)
    with textfile.hold(ctx, path):
        return _drop_key(ctx.host, path, account, key)


def _drop_key(host: Host, path: str, account: Account, key: str) -> str:
    text = textfile.load(host, path)
    if text is None:
        return "Key not present"
    changed = keys.without_authorized(text, key)
    if changed == text:
        return "Key not present"
    _write_user_file(path, changed, account, was=text)
    return "Key removed"


def rm_auth_key_from_file(
    ctx: MinionContext,
    user: str,
    source: str,
    config: str = AUTHORIZED,
    saltenv: str = "base",
    fingerprint_hash_type: str | None = None,
) -> str:
    """Do not let the keys in a file log in any more.

    CLI Example:

        salt '*' ssh.rm_auth_key_from_file <user> salt://ssh_keys/<user>.id_rsa.pub
    """
    found = keys.parse_authorized(_fetch_source(ctx, source, saltenv))
    if not found:
        raise FunctionError(f"No keys detected in {source}. Is file properly formatted?")
    answers = [rm_auth_key(ctx, user, each.key, config) for each in found]
    return "Key removed" if "Key removed" in answers else "Key not present"


def host_keys(
    ctx: MinionContext, keydir: str | None = None, private: bool = True, certs: bool = True
) -> dict[str, str]:
    """The keys of this machine, also the private ones.

    CLI Example:

        salt '*' ssh.host_keys private=False
    """
    directory = keydir or HOST_KEYS
    if not ctx.host.is_dir(directory):
        raise FunctionError(f"{directory}: No such file or directory")
    found = {}
    for name in ctx.host.names(directory):
        match = _HOST_KEY.match(name)
        if not match or (match["end"].startswith("-cert") and not certs):
            continue
        if not private and not match["end"].endswith(".pub"):
            continue
        text = ctx.host.read_text(os.path.join(directory, name))
        if text is not None:
            found[f"{match['kind']}{match['end']}"] = text.strip()
    return found


def user_keys(
    ctx: MinionContext, user: Any = None, pubfile: Any = None, prvfile: Any = None
) -> dict[str, dict[str, str]]:
    """The keys of users, also the private ones; ``False`` for a file leaves that kind out.

    CLI Example:

        salt '*' ssh.user_keys user=user1 pubfile=/home/user1/.ssh/id_rsa.pub prvfile=False
    """
    users = user or _user_names(ctx.host)
    found: dict[str, dict[str, str]] = {}
    for name in [users] if isinstance(users, str) else users:
        account = _find_account(ctx.host, str(name))
        if account is not None:
            found[str(name)] = _key_files(ctx.host, account, pubfile, prvfile)
    return {name: each for name, each in found.items() if each}


def _key_files(host: Host, account: Account, pub: Any, prv: Any) -> dict[str, str]:
    wanted = [pub] if pub else [] if pub is False else list(PUBLIC)
    secret = [name.removesuffix(".pub") for name in PUBLIC]
    wanted += [prv] if prv else [] if prv is False else secret
    found = {}
    for name in wanted:
        path = _path_of(account, name if "/" in str(name) else f".ssh/{name}")
        text = host.read_text(path)
        if text is not None:
            found[os.path.basename(path)] = text.strip()
    return found


def key_is_encrypted(ctx: MinionContext, key: str) -> bool:
    """Whether a private key file needs a password.

    CLI Example:

        salt '*' ssh.key_is_encrypted /root/id_rsa
    """
    text = ctx.host.read_text(key)
    if text is None:
        raise FunctionError(f"{key} does not exist")
    return any("ENCRYPTED" in line for line in text.splitlines()[:2])


def get_known_host_entries(
    ctx: MinionContext,
    user: str | None,
    hostname: str,
    config: str | None = None,
    port: object = None,
    fingerprint_hash_type: str | None = None,
) -> list[dict[str, Any]] | None:
    """The keys that are known of a host, ``None`` if none is.

    CLI Example:

        salt '*' ssh.get_known_host_entries <user> <hostname>
    """
    path = _known_hosts_path(ctx.host, user, config)
    if isinstance(path, dict):
        return None
    return _list_known(ctx, path, hostname, port, fingerprint_hash_type) or None


@dataclass(frozen=True, slots=True)
class HostKey:
    """A key of a host, as it is told; it has a fingerprint if the host or a file showed it."""

    key: str
    enc: Any = None
    hostname: str = ""
    fingerprint: str | None = None


def _read_host_keys(told: Iterable[Mapping[str, Any]]) -> list[HostKey]:
    return [read_fields(HostKey, each) for each in told]


def _list_known(
    ctx: MinionContext, path: str, hostname: str, port: object, hash_type: str | None
) -> list[dict[str, Any]]:
    host = keys.place_of(hostname, port)
    text = textfile.load(ctx.host, path) or ""
    found = (each for each in keys.parse_known(text) if keys.names_host(each[0], host))
    return keys.entries(found, _check_hash_type(ctx, hash_type))


def recv_known_host_entries(
    ctx: MinionContext,
    hostname: str,
    enc: str | None = None,
    port: object = None,
    hash_known_hosts: bool = True,
    timeout: object = 5,
    fingerprint_hash_type: str | None = None,
) -> list[dict[str, Any]] | None:
    """The keys that a host shows, ``None`` if it shows none within ``timeout`` seconds.

    CLI Example:

        salt '*' ssh.recv_known_host_entries <hostname> enc=<enc> port=<port>
    """
    argv = ["ssh-keyscan"]
    argv += ["-p", str(port)] if port else []
    argv += ["-t", str(enc)] if enc else []
    argv += ["-H"] if hash_known_hosts else []
    argv += ["-T", str(timeout), hostname.lstrip("-")]
    options = CommandOptions(python_shell=False, ignore_retcode=True)
    text = command.run(ctx, argv, options).stdout
    return (
        keys.entries(keys.parse_known(text), _check_hash_type(ctx, fingerprint_hash_type)) or None
    )


def check_known_host(
    ctx: MinionContext,
    user: str | None = None,
    hostname: str | None = None,
    key: str | None = None,
    fingerprint: str | None = None,
    config: str | None = None,
    port: object = None,
    fingerprint_hash_type: str | None = None,
) -> Any:
    """What ``ssh.set_known_host`` would do: ``add``, ``update``, or ``exists``.

    CLI Example:

        salt '*' ssh.check_known_host <user> <hostname> key='AAAA...FAaQ=='
    """
    if not hostname:
        return dict(_NO_HOSTNAME)
    path = _known_hosts_path(ctx.host, user, config)
    if isinstance(path, dict):
        return path
    known = _read_host_keys(_list_known(ctx, path, hostname, port, fingerprint_hash_type))
    if not known:
        return "add"
    if key:
        return "exists" if key in (each.key for each in known) else "update"
    if fingerprint:
        return "exists" if fingerprint in (each.fingerprint for each in known) else "update"
    return "exists"


def set_known_host(
    ctx: MinionContext,
    user: str | None = None,
    hostname: str | None = None,
    fingerprint: str | None = None,
    key: str | None = None,
    port: object = None,
    enc: str | None = None,
    config: str | None = None,
    hash_known_hosts: bool = True,
    timeout: object = 5,
    fingerprint_hash_type: str | None = None,
) -> dict[str, Any]:
    """Trust a host: with a ``key``, or with what it shows if that has the ``fingerprint``.

    ``{"status": "updated", "old", "new"}``, ``{"status": "exists", "keys"}`` or an ``error``.

    CLI Example:

        salt '*' ssh.set_known_host <user> fingerprint='xx:xx:..:xx' enc='ssh-rsa'
    """
    if not hostname:
        return dict(_NO_HOSTNAME)
    port = keys.other_port(port)
    if port and hash_known_hosts:
        return _error_answer(PORT_AND_HASH)
    path = _known_hosts_path(ctx.host, user, config)
    if isinstance(path, dict):
        return path
    hash_type = fingerprint_hash_type
    wanted: list[dict[str, Any]] | str
    if key:
        given: dict[str, Any] = {"hostname": hostname, "enc": enc or _kind_in(key), "key": key}
        wanted = [given | ({"port": port} if port else {})]
    else:
        shown = recv_known_host_entries(
            ctx, hostname, enc, port, hash_known_hosts, timeout, hash_type
        )
        wanted = _check_fingerprint(shown, fingerprint)
    if isinstance(wanted, str):
        return _error_answer(wanted)
    known = _list_known(ctx, path, hostname, port, hash_type)
    there = {each.key for each in _read_host_keys(known)}
    wanted_keys = _read_host_keys(wanted)
    if all(each.key in there for each in wanted_keys):
        return {"status": "exists", "keys": [each.key for each in wanted_keys]}
    _add_known_hosts(ctx, path, user, keys.place_of(hostname, port), wanted_keys)
    if hash_known_hosts:
        _run_keygen(ctx, path, user, "-H")
    return {"status": "updated", "old": known or None, "new": wanted}


def _check_fingerprint(
    shown: list[dict[str, Any]] | None, fingerprint: str | None
) -> list[dict[str, Any]] | str:
    """The keys that a host shows; a sentence if there is none, or none has the fingerprint."""
    if not shown:
        return "Unable to receive remote host keys"
    if fingerprint and fingerprint not in (each.fingerprint for each in _read_host_keys(shown)):
        return (
            "Remote host public keys found but none of their fingerprints match the one you "
            "have provided"
        )
    return shown


def _kind_in(key: str) -> str | None:
    """The kind that a key names itself."""
    import base64

    try:
        data = base64.b64decode(key, validate=True)
        length = int.from_bytes(data[:4], "big")
        return keys.kind_of(data[4 : 4 + length].decode("ascii"))
    except ValueError:
        return None


def _add_known_hosts(
    ctx: MinionContext, path: str, user: str | None, host: str, wanted: list[HostKey]
) -> None:
    with textfile.hold(ctx, path):
        was = textfile.load(ctx.host, path)
        text = keys.without_known(was or "", host, [each.enc for each in wanted])
        # One with a fingerprint was shown by the host, which may have hashed its name.
        lines = [
            f"{host if each.fingerprint is None else each.hostname} {each.enc} {each.key}"
            for each in wanted
        ]
        account = _find_account(ctx.host, user) if user else None
        _write_user_file(path, keys.with_known(text, lines), account, was=was)


def rm_known_host(
    ctx: MinionContext,
    user: str | None = None,
    hostname: str | None = None,
    config: str | None = None,
    port: object = None,
) -> dict[str, str]:
    """Do not trust a host any more.

    CLI Example:

        salt '*' ssh.rm_known_host <user> <hostname>
    """
    if not hostname:
        return dict(_NO_HOSTNAME)
    path = _known_hosts_path(ctx.host, user, config)
    if isinstance(path, dict):
        return path
    if not ctx.host.exists(path):
        return _error_answer(f"Known hosts file {path} does not exist")
    with textfile.hold(ctx, path):
        said = _run_keygen(ctx, path, user, "-R", keys.place_of(hostname, port))
    return {"status": "removed", "comment": said}


def hash_known_hosts(
    ctx: MinionContext, user: str | None = None, config: str | None = None
) -> dict[str, str]:
    """Hide the names of all hosts in the file behind hashes.

    CLI Example:

        salt '*' ssh.hash_known_hosts
    """
    path = _known_hosts_path(ctx.host, user, config)
    if isinstance(path, dict):
        return path
    if not ctx.host.exists(path):
        return _error_answer(f"Known hosts file {path} does not exist")
    with textfile.hold(ctx, path):
        said = _run_keygen(ctx, path, user, "-H")
    return {"status": "updated", "comment": said}


def _run_keygen(ctx: MinionContext, path: str, user: str | None, *words: str) -> str:
    """Let ``ssh-keygen`` change a file, and give the file back to its owner.

    It runs in the directory of the file, which is the user's: nothing that he puts at its path
    meanwhile is changed.
    """
    account = _find_account(ctx.host, user) if user else None
    with reach(path, follow=True, user=None if account is None else account.uid) as spot:
        before = spot.lstat()
        name, cwd = (path, None) if spot.is_trusted else (f"./{spot.name}", spot.folder)
        options = CommandOptions(
            python_shell=False, ignore_retcode=True, redirect_stderr=True, cwd=cwd
        )
        said = command.run(ctx, ["ssh-keygen", *words, "-f", name], options).stdout
        if before is not None and os.geteuid() == 0:
            with spot.hold() as held:
                held.chown(before.st_uid, before.st_gid)
    return said.replace(name, path)


def _error_answer(text: str) -> dict[str, str]:
    return {"status": "error", "error": text}


def _known_hosts_path(host: Host, user: str | None, config: str | None) -> str | dict[str, str]:
    """The path of ``known_hosts``; a map that says what is wrong instead."""
    if not user:
        path = config or GLOBAL_KNOWN
        if not os.path.isabs(path):
            return _error_answer("Cannot determine absolute path to file.")
        return path
    account = _find_account(host, user)
    if account is None:
        return _error_answer(f"User {user} does not exist")
    return _path_of(account, config or KNOWN)


def _user_path(host: Host, user: str, config: str) -> str | None:
    account = _find_account(host, user)
    return None if account is None else _path_of(account, config)


def _path_of(account: Account, config: str) -> str:
    """A path as sshd_config would name it: ``%h``, ``%u``, or relative to the home."""
    tokens: dict[str, Callable[[], str]] = {
        "%h": lambda: account.home,
        "%u": lambda: account.name,
        "%%": lambda: "%",
    }
    path = re.sub(r"%[hu%]", lambda match: tokens[match.group()](), str(config))
    return os.path.join(account.home, path)


def _find_account(host: Host, user: str | None) -> Account | None:
    try:
        return host.account(str(user))
    except LookupError:
        return None


def _write_user_file(path: str, text: str, account: Account | None, *, was: str | None) -> None:
    """Write a file of a user, who owns it and the directory around it if these are new.

    ``was`` is the text that the new one was made from, ``None`` without a file.
    """
    owner = None if account is None or os.geteuid() != 0 else (account.uid, account.gid)
    user = None if account is None else account.uid
    old = None if was is None else textfile.encode(was)
    try:
        disk.make_way(Path(path).parent, 0o700, owner=owner)
        disk.rewrite(Path(path), textfile.encode(text), mode=0o600, owner=owner, user=user, was=old)
    except UntrustedPath:
        raise
    except (OSError, StoreError) as error:
        raise FunctionError(f"{path}: {error}") from error


def _fetch_source(ctx: MinionContext, source: str, saltenv: str) -> str:
    path = source
    if "://" in source:
        try:
            path = str(ctx.functions.call("cp.cache_file", source, saltenv))
        except FunctionUnavailable:
            path = ""
    text = textfile.load(ctx.host, path) if path else None
    if text is None:
        raise FunctionError("Failed to pull key file from salt file server")
    return text


def _check_hash_type(ctx: MinionContext, hash_type: str | None) -> str:
    """Return the hash of fingerprints; raises UsageError for what is none."""
    found = str(hash_type or ctx.config.files.hash_type)
    if not keys.is_hash(found):
        raise UsageError(f"fingerprint_hash_type: {found} is no hash that is known here")
    return found
