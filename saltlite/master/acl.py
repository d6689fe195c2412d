"""Who may publish: the local users' keys and ``publisher_acl``.

At every start the master writes a fresh key for each user who may use it; a command proves that it
runs as that user by knowing the key. Source: docs/wire.md#clear-commands,
docs/architecture.md#who-owns-which-file-on-disk; docs/config.md#master.
"""

from __future__ import annotations

import contextlib
import hmac
import logging
import os
import pwd
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from saltlite import disk
from saltlite.config.master import AccessOptions
from saltlite.core.access import (
    Call,
    allows_all,
    allows_run,
    expression_fits,
    expression_may_fit,
)
from saltlite.core.dataclasses import dataclass
from saltlite.loader.arguments import split_args, split_keyword

log = logging.getLogger(__name__)

_KEY_LIMIT_BYTES: Final = 1024

PILLAR_READER: Final = "pillar.items"
LISTEN: Final = "@events"
"""The entry of ``publisher_acl`` that opens the event bus."""

FIRE: Final = "@fire"
"""The entry that opens its other end: whoever has it can put any event there."""


def key_path(cachedir: Path, user: str) -> Path:
    r"""Where the key of a local user lies; ``\`` in a domain user's name becomes ``_``."""
    return disk.child(cachedir, f".{user.replace(chr(92), '_')}_key")


def process_user() -> str:
    """The name of the user this process runs as; the number where it has no name."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


def write_keys(
    cachedir: Path, users: Sequence[str], new_key: Callable[[], str], *, verify: bool = True
) -> None:
    """A fresh key for each user, readable by that user alone.

    A name of no account gets none, or without ``verify`` one that the master keeps for whoever
    brings it there.

    Raises:
        StoreError: a key cannot be written.
    """
    for user in users:
        path = key_path(cachedir, user)
        try:
            account = pwd.getpwnam(user)
        except KeyError:
            if verify:
                log.warning("There is no user %s; no key is made for them", user)
                continue
            account = None
        own = account is None or account.pw_uid == os.geteuid()
        disk.remove(path)
        disk.write_file(path, new_key().encode(), mode=0o400 if own else 0o600, flush=False)
        if account is not None and not own:
            # Only root can give a file away; a master under another user keeps the key.
            with contextlib.suppress(PermissionError):
                os.chown(path, account.pw_uid, account.pw_gid)


@dataclass(frozen=True, slots=True)
class AuthenticatedUser:
    """An authenticated user. ``rules`` is ``None`` for one who may do everything.

    ``proof`` is how he was authenticated: ``user`` (a local key), ``token`` or ``eauth``.
    """

    name: str
    rules: Sequence[Any] | None
    proof: str = "user"


class Access:
    """Local users' keys and what their owners may do. ``master_user`` runs the master."""

    def __init__(self, options: AccessOptions, cachedir: Path, master_user: str) -> None:
        self._options = options
        self._cachedir = cachedir
        self._master_user = master_user
        self._privileged = {"root", master_user}
        self._keys: dict[str, tuple[tuple[int, int], str]] = {}

    def users(self) -> list[str]:
        """Who gets a key at the start."""
        return list(dict.fromkeys(["root", self._master_user, *self.list_named_users()]))

    def listeners(self) -> list[str]:
        """Who may listen to the event bus, and so to everything: not who may publish only."""
        return [user for user in self.list_named_users() if LISTEN in self._rules_of(user)]

    def firing_users(self) -> list[str]:
        """Who may put events on the bus, whatever they say: they are believed like the master's."""
        return [user for user in self.list_named_users() if FIRE in self._rules_of(user)]

    def list_named_users(self) -> list[str]:
        """The names in ``publisher_acl``, and the accounts that expressions in it fit."""
        keys = [str(one) for one in self._options.publisher_acl]
        names = [one for one in keys if _is_name(one)]
        if len(names) == len(keys) or not self._options.client_acl_verify:
            return names
        # All accounts are read for expressions only: a directory may have very many.
        accounts = (one.pw_name for one in pwd.getpwall())
        found = [one for one in accounts if _is_name(one) and self._is_listed(one)]
        return list(dict.fromkeys([*names, *found]))

    def _is_listed(self, user: str) -> bool:
        return any(expression_fits(str(one), user) for one in self._options.publisher_acl)

    def authenticate(self, user: str, key: str | None) -> AuthenticatedUser | None:
        """The user whose key this is; ``None`` if it is nobody's, or not one that fits ``user``.

        A limited user who calls himself ``root`` or ``sudo_…`` is not believed: for these names
        the key of root or of the master's user is needed. Real Salt takes any key; see
        docs/differences.md.
        """
        if not key or not isinstance(user, str):
            return None
        # The key proves who it is; the name is only what the caller says.
        privileged = any(self._key_fits(one, key) for one in sorted(self._privileged))
        if user.startswith("sudo_") or user in self._privileged:
            if not privileged:
                return None
            # With sudo_acl, using salt through sudo gives no more rights than the user's own.
            limited = self._options.sudo_acl and user.startswith("sudo_")
            return AuthenticatedUser(
                user, self._rules_of(user.removeprefix("sudo_")) if limited else None
            )
        if privileged:
            return AuthenticatedUser(user, None)
        # Before a key is looked for: the name becomes part of its path.
        if not _is_name(user) or not self._is_listed(user):
            return None
        return AuthenticatedUser(user, self._rules_of(user)) if self._key_fits(user, key) else None

    def is_blacklisted(self, user: str, functions: Sequence[str]) -> bool:
        """Whether ``publisher_acl_blacklist`` names the user or one of the functions."""
        listed = self._options.publisher_acl_blacklist
        # may_fit: what cannot be judged in time counts as forbidden here, elsewhere as not allowed.
        if any(expression_may_fit(str(one), user) for one in _as_list(listed.get("users"))):
            return True
        modules = [str(one) for one in _as_list(listed.get("modules"))]
        return any(expression_may_fit(one, fun) for one in modules for fun in functions)

    def allows(
        self,
        user: AuthenticatedUser,
        functions: Sequence[str],
        minions: Sequence[str],
        matching: Callable[[str], set[str]],
        arguments: Sequence[Sequence[object]] = (),
    ) -> bool:
        """Whether ``user`` may call each of ``functions`` on all of ``minions``.

        ``matching`` gives the minions of a target expression in the rules. ``arguments`` are those
        of each function, as they are published; one that has none here has none.
        """
        if user.rules is None:
            return True
        return allows_all(user.rules, split_calls(functions, arguments), minions, matching)

    def allows_run(
        self,
        user: AuthenticatedUser,
        kind: str,
        function: str,
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> bool:
        """Whether ``user`` may have a ``runner`` or ``wheel`` function run.

        A limited user needs a rule that says so: ``@runner`` or ``@wheel`` for all, ``@jobs`` for
        the functions of one module, or a map from one of these to function names.
        """
        if self.is_blacklisted(user.name, []):
            return False
        if user.rules is None:
            return True
        return allows_run(user.rules, kind, read_call(function, args, kwargs or {}))

    def reads_pillars(
        self, user: AuthenticatedUser, minions: Sequence[str], matching: Callable[[str], set[str]]
    ) -> bool:
        """Whether ``user`` may have the pillars of all ``minions`` told him in one way or another.

        ``matching`` as in :meth:`allows`.
        """
        if user.rules is None or self.allows_run(user, "runner", "cache.pillar"):
            return True
        if self.is_blacklisted(user.name, [PILLAR_READER]):
            return False
        return self.allows(user, [PILLAR_READER], minions, matching)

    def _rules_of(self, user: str) -> Sequence[Any]:
        found: list[Any] = []
        for name, rules in self._options.publisher_acl.items():
            if expression_fits(str(name), user):
                found.extend(_as_list(rules))
        return found

    def _key_fits(self, user: str, key: str) -> bool:
        known = self._key_of(user)
        return known is not None and hmac.compare_digest(known.encode(), key.encode())

    def _key_of(self, user: str) -> str | None:
        """A user's key, read again when its file changes."""
        path = key_path(self._cachedir, user)
        try:
            status = os.stat(path)
        except OSError:
            return None
        # The inode too: a key that is replaced within one tick of the clock has another one.
        stamp = (status.st_mtime_ns, status.st_ino)
        known = self._keys.get(user)
        if known is None or known[0] != stamp:
            data = disk.read_regular(path, limit_bytes=_KEY_LIMIT_BYTES)
            text = (data or b"").decode("ascii", "replace").strip()
            known = self._keys[user] = (stamp, text)
        return known[1] or None


def split_calls(functions: Sequence[str], arguments: Sequence[Sequence[Any]] = ()) -> list[Call]:
    """The calls of a job. One that has no arguments in ``arguments`` has none."""
    # zip would drop the functions behind the last arguments, and nobody would ask about them.
    padded = [*arguments, *([()] * len(functions))]
    return [
        read_call(function, *split_args(list(arg)))
        for function, arg in zip(functions, padded, strict=False)
    ]


def read_call(function: str, args: Sequence[object], kwargs: Mapping[str, object]) -> Call:
    """One call; a text such as ``a=1`` among its arguments may be taken for a keyword."""
    ambiguous = any(isinstance(one, str) and split_keyword(one)[0] for one in args)
    return Call(function, args, kwargs, ambiguous)


def _as_list(value: object) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _is_name(user: str) -> bool:
    """Whether this can be the name of an account, and so part of a file name."""
    return re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.@\\-]{0,127}", user) is not None
