"""The key directory, in Salt's own layout: a file per minion, its folder is its state.

Anybody may move files between the folders (``salt-key``, configuration management, a shell); the
next look sees it, since nothing is kept that is not checked against the file's own status. A move
is one ``rename``, so an id is in exactly one state at any moment. Processes of the master and its
commands look, decide and write while they hold the id (:meth:`KeyStore.hold`).
Source: docs/architecture.md#who-owns-which-file-on-disk.
"""

from __future__ import annotations

import contextlib
import logging
import os
import time
import zlib
from collections import OrderedDict
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Final

from saltlite import disk
from saltlite.core.dataclasses import dataclass
from saltlite.core.ids import valid_minion_id
from saltlite.errors import CryptoError, StoreError

if TYPE_CHECKING:
    from saltlite.crypto.keys import PrivateKey, PublicKey

log = logging.getLogger(__name__)

KEY_LIMIT_BYTES: Final = 64 * 1024
DENIED_LIMIT: Final = 1000
"""Denied keys kept; the oldest goes first. Source: docs/security.md#limits."""

_SETTLED_S: Final = 0.1
"""A directory that changed this recently may change again within one tick of its clock."""


class KeyState(str, Enum):
    """The states of a key, in Salt's words."""

    ACCEPTED = "accepted"
    UNACCEPTED = "unaccepted"
    REJECTED = "rejected"
    DENIED = "denied"


FOLDERS: Final = {
    KeyState.ACCEPTED: "minions",
    KeyState.UNACCEPTED: "minions_pre",
    KeyState.REJECTED: "minions_rejected",
    KeyState.DENIED: "minions_denied",
}

AUTOSIGN_FOLDER: Final = "minions_autosign"

LOCK_FILE: Final = ".keys.lock"
LOOKS: Final = 5
"""How often a key is looked for whose file is moved while it is looked at."""

_COUNT_SLOT: Final = 1 << 32
"""Above the slots of all ids."""

_EXCLUSIVE: Final = (KeyState.ACCEPTED, KeyState.UNACCEPTED, KeyState.REJECTED)


@dataclass(slots=True)
class AcceptedKey:
    """An accepted minion key, and what its file looked like when it was read."""

    pem: str
    stamp: tuple[int, int, int]
    path: Path
    _key: PublicKey | None = None

    @property
    def key(self) -> PublicKey:
        """The key, parsed when it is used first: most workers need the text alone.

        Raises:
            CryptoError: the text looks like a key, and is none that may be used.
        """
        if self._key is None:
            from saltlite.crypto.keys import PublicKey

            self._key = PublicKey.from_pem(self.pem)
        return self._key

    @property
    def mtime_s(self) -> float:
        """When the file was written, in seconds since the epoch."""
        return self.stamp[0] / 1e9


class KeyStore:
    """Minion keys below ``pki_dir``. ``cached_keys`` bounds how many parsed keys are kept."""

    def __init__(self, pki_dir: Path, *, cached_keys: int = 4096) -> None:
        self.pki_dir = pki_dir
        self._cached_keys = cached_keys
        self._folders = {state: pki_dir / name for state, name in FOLDERS.items()}
        self._keys: OrderedDict[str, AcceptedKey] = OrderedDict()
        self._names: dict[KeyState, tuple[int, frozenset[str]]] = {}
        self._unusable: dict[str, str] = {}

    def prepare(self) -> None:
        """Make the directories that are missing.

        Raises:
            StoreError: one cannot be made.
        """
        disk.make_dir(self.pki_dir)
        for folder in (*FOLDERS.values(), AUTOSIGN_FOLDER):
            disk.make_dir(self.pki_dir / folder)
        with self.hold_count():
            pass  # so that the file is there

    @contextlib.contextmanager
    def hold(self, minion_id: str) -> Iterator[None]:
        """Keep all other processes from deciding about the keys and the session of an id.

        Ids that share a slot wait for one another, which does no harm: nobody holds two.

        Raises:
            StoreError: somebody else holds the id for too long.
        """
        with disk.hold_lock_slot(self._lock_path(), zlib.crc32(minion_id.encode())):
            yield

    @contextlib.contextmanager
    def hold_count(self) -> Iterator[None]:
        """Keep all others who do so from adding to a state; to be taken while an id is held.

        Raises:
            StoreError: somebody else holds it for too long.
        """
        with disk.hold_lock_slot(self._lock_path(), _COUNT_SLOT):
            yield

    def _lock_path(self) -> Path:
        disk.make_dir(self.pki_dir)
        return self.pki_dir / LOCK_FILE

    def folder(self, state: KeyState) -> Path:
        """The directory of a state."""
        return self._folders[state]

    def path(self, minion_id: str, state: KeyState) -> Path:
        """The file of an id in a state.

        Raises:
            ValueError: not a minion id.
        """
        if not valid_minion_id(minion_id):
            raise ValueError(f"not a minion id: {minion_id!r}")
        return disk.child(self.folder(state), minion_id)

    def list(self, state: KeyState) -> list[str]:
        """The ids in a state, sorted."""
        return sorted(self.ids(state))

    def ids(self, state: KeyState) -> frozenset[str]:
        """The ids in a state; a directory that has not changed is not read again.

        While it has not, the set is the same object.
        """
        folder = self.folder(state)
        try:
            # Before the listing: what comes meanwhile makes it look old, and it is read again.
            changed_ns = folder.stat().st_mtime_ns
        except FileNotFoundError:
            return frozenset()
        known = self._names.get(state)
        if known is not None and known[0] == changed_ns:
            return known[1]
        names = frozenset(name for name in os.listdir(folder) if valid_minion_id(name))
        if time.time_ns() - changed_ns > _SETTLED_S * 1e9:
            self._names[state] = (changed_ns, names)
        return names

    def has(self, minion_id: str, state: KeyState) -> bool:
        """Whether there is a key of this id in this state.

        Raises:
            ValueError: not a minion id.
        """
        return self.path(minion_id, state).is_file()

    def state(self, minion_id: str) -> KeyState | None:
        """Accepted, rejected or unaccepted; ``None`` for an id nobody knows.

        A denied key lies beside another state or alone; see :meth:`key` with ``DENIED``.
        """
        # In the order in which they count, where somebody has put the id into several folders.
        for state in (KeyState.ACCEPTED, KeyState.REJECTED, KeyState.UNACCEPTED):
            if self.has(minion_id, state):
                return state
        return None

    def look_up(self, minion_id: str) -> tuple[KeyState | None, str | None]:
        """The state of an id, and the key that is on file there, as of one moment.

        The accepted key is seldom read again. ``None`` for a key that is not text.

        Raises:
            StoreError: the file cannot be read, or is moved to and fro by somebody.
        """
        for _ in range(LOOKS):
            accepted = self.load_accepted(minion_id)
            if accepted is not None:
                return KeyState.ACCEPTED, accepted.pem
            state = self.state(minion_id)
            if state is None:
                return None, None
            pem = self.key(minion_id, state)
            # A file that is there and no text stays so however often it is read.
            if pem is not None or self.has(minion_id, state):
                return state, pem
        raise StoreError("its key is moved to and fro")

    def key(self, minion_id: str, state: KeyState) -> str | None:
        """The PEM text on file, ``None`` if there is none or it is not text.

        Raises:
            StoreError: the file cannot be read.
        """
        return _read_text(self.path(minion_id, state))

    def load_accepted(self, minion_id: str) -> AcceptedKey | None:
        """The accepted key; read again whenever its file is another one.

        ``None`` if the id is not accepted, or its file holds no text of a key (which is logged).
        """
        # It runs for each request of each minion: one stat, and no path is built for a known id.
        known = self._keys.get(minion_id)
        try:
            path = self.path(minion_id, KeyState.ACCEPTED) if known is None else known.path
            status = os.stat(path)
        except (FileNotFoundError, ValueError):
            self._keys.pop(minion_id, None)
            return None
        # The time alone does not tell: cp -p and rsync put another key there with an old one.
        stamp = (status.st_mtime_ns, status.st_ino, status.st_size)
        if known is not None and known.stamp == stamp:
            return known
        return self._read_accepted(minion_id, path, stamp)

    def _read_accepted(
        self, minion_id: str, path: Path, stamp: tuple[int, int, int]
    ) -> AcceptedKey | None:
        from saltlite.crypto.keys import check_form

        try:
            pem = _read_text(path)
            if pem is None:
                return None
            check_form(pem)
            # The stamp is from before the reading: a file replaced in between is read again.
            accepted = AcceptedKey(pem, stamp, path)
        except (CryptoError, StoreError) as error:
            self.say_unusable(minion_id, str(error))
            return None
        self._unusable.pop(minion_id, None)
        self._keys[minion_id] = accepted
        while len(self._keys) > self._cached_keys:
            self._keys.popitem(last=False)
        return accepted

    def say_unusable(self, minion_id: str, why: str) -> None:
        """Say what is wrong with an accepted key; once, however often strangers ask for it."""
        if self._unusable.get(minion_id) == why:
            return
        self._unusable[minion_id] = why
        while len(self._unusable) > self._cached_keys:
            del self._unusable[next(iter(self._unusable))]
        log.warning("The accepted key of minion %s cannot be used: %s", minion_id, why)

    def put(self, minion_id: str, state: KeyState, pem: str) -> None:
        """File a key under a state; in the three exclusive states it leaves the others.

        As with :meth:`move` and :meth:`delete`, the caller holds the id.

        Raises:
            StoreError: nothing was changed.
        """
        disk.make_dir(self.folder(state))
        # Before the others go: if the disk is full, the id keeps the state that it has.
        disk.write_file(self.path(minion_id, state), pem.encode())
        if state is KeyState.DENIED:
            self._drop_oldest_denied()
            return
        self._leave_others(minion_id, state)

    def move(self, minion_id: str, source: KeyState, target: KeyState) -> bool:
        """Change the state of an id; ``False`` if it was not in ``source``.

        A denied key takes the place of what the id has in the exclusive states.

        Raises:
            StoreError: nothing was changed.
        """
        disk.make_dir(self.folder(target))
        try:
            os.rename(self.path(minion_id, source), self.path(minion_id, target))
        except FileNotFoundError:
            return False
        except OSError as error:
            raise StoreError(f"cannot move the key of {minion_id}: {error.strerror}") from error
        # The target first: a power cut may leave the key in both folders, but never in none.
        for folder in (self.folder(target), self.folder(source)):
            disk.flush_dir(folder)
        if source is KeyState.DENIED:
            self._leave_others(minion_id, target)
        return True

    def _leave_others(self, minion_id: str, state: KeyState) -> None:
        for other in _EXCLUSIVE:
            if other is not state:
                disk.remove(self.path(minion_id, other))

    def delete(self, minion_id: str, state: KeyState) -> bool:
        """Forget the key of an id in one state; ``False`` if there was none."""
        return disk.remove(self.path(minion_id, state))

    def _drop_oldest_denied(self) -> None:
        ids = self.ids(KeyState.DENIED)
        if len(ids) <= DENIED_LIMIT:
            return
        paths = [self.path(one, KeyState.DENIED) for one in ids]
        aged = []
        for path in paths:
            with contextlib.suppress(FileNotFoundError):
                # An operator may have deleted it since the listing.
                aged.append((path.stat().st_mtime_ns, path))
        for _age, path in sorted(aged)[: len(aged) - DENIED_LIMIT]:
            disk.remove(path)


def _read_text(path: Path) -> str | None:
    data = disk.read_regular(path, limit_bytes=KEY_LIMIT_BYTES)
    try:
        return None if data is None else data.decode()
    except UnicodeDecodeError:
        return None


def load_or_make_key(
    path: Path, *, keysize: int, passphrase: str | None = None, public_mode: int = 0o600
) -> PrivateKey:
    """The private key at ``path``; made (with ``.pub`` beside it) only if no such file is there.

    ``passphrase`` is ``key_pass``: what is read must be, and what is made is, encrypted with it.
    Of two who make it at the same time both get the key of the first.

    Raises:
        CryptoError: the file is there but cannot be used; it is left as it is.
        StoreError: others may use it, or the new key cannot be written.
    """
    from saltlite.crypto.keys import load_private_key

    # A link that leads nowhere (a disk not mounted) is no reason to make another key.
    if not os.path.lexists(path):
        _make_private_key(path, keysize, passphrase)
    key = load_private_key(path, passphrase)
    disk.check_secret(path)
    public = path.with_suffix(".pub")
    text = key.public.pem.encode() + b"\n"
    if disk.read_regular(public) != text:
        disk.write_file(public, text, mode=public_mode)
    return key


def _make_private_key(path: Path, keysize: int, passphrase: str | None) -> None:
    from saltlite.crypto.keys import PrivateKey

    log.info("Making a new RSA key of %d bits: %s", keysize, path)
    key = PrivateKey.generate(keysize)
    pem = key.encrypt_pem(passphrase) if passphrase else key.pem
    disk.create_file(path, pem, mode=0o400)
