"""The minion's key files: its own key, the master's pinned one, the signing key.

A private key that cannot be read ends the start with one line; it is never overwritten. The pinned
key is written at first contact and never replaced except by a key that the signing key vouches for.
Used by the loop and by ``salt-call``. Source: docs/architecture.md#who-owns-which-file-on-disk;
docs/security.md#secrets-at-rest, #keys-that-come-change-and-go.
"""

from __future__ import annotations

import logging
from pathlib import Path

from saltlite.crypto.keys import PrivateKey, PublicKey, load_private_key
from saltlite.disk import check_secret, child, hold_lock, make_dir, read_regular, write_file
from saltlite.errors import CryptoError, StoreError

log = logging.getLogger(__name__)

PRIVATE_KEY_MODE = 0o400
PUBLIC_KEY_MODE = 0o600
KEY_LIMIT_BYTES = 64 * 1024


class MinionKeys:
    """The files below ``pki_dir``. A syndic has its masters' key under a name of its own."""

    def __init__(self, pki_dir: Path, *, pin_name: str = "minion_master.pub") -> None:
        self._dir = pki_dir
        self._pin_name = pin_name

    def own(self, keysize: int) -> PrivateKey:
        """The minion's key; made with ``keysize`` bits if there is none.

        Raises:
            CryptoError: there is one, but it cannot be used.
            StoreError: others may use it, or a new one cannot be written.
        """
        path = self._dir / "minion.pem"
        make_dir(self._dir)
        # ``salt-call`` may start at the same time: each would make a key and believe in its own.
        with hold_lock(self._dir / ".minion.lock"):
            # A link that leads nowhere (a disk that is not mounted) is no reason for a new key.
            if not path.exists() and not path.is_symlink():
                log.info("making a key of %d bits: %s", keysize, path)
                key = PrivateKey.generate(keysize)
                write_file(path, key.pem, mode=PRIVATE_KEY_MODE)
                self._write_public(key)
                return key
        key = load_private_key(path)
        check_secret(path)
        # It is only for people and tools to read; the private key says it all.
        if not (self._dir / "minion.pub").exists():
            self._write_public(key)
        return key

    @property
    def pin_path(self) -> Path:
        """Where the master's key is kept."""
        return self._dir / self._pin_name

    def load_pinned(self) -> PublicKey | None:
        """The master's key of the first contact, ``None`` before it.

        Raises:
            CryptoError: there is a file, but no key in it: remove it to trust the next master.
        """
        return self._read_public(self._pin_name)

    def pin(self, key: PublicKey) -> None:
        """Trust this master from now on.

        Raises:
            StoreError: it cannot be written.
        """
        write_file(self.pin_path, key.pem.encode(), mode=PUBLIC_KEY_MODE)

    def signing(self, name: str) -> PublicKey:
        """The key that vouches for masters' keys, ``<name>.pub``.

        Raises:
            CryptoError: it is not there, or no key.
        """
        key = self._read_public(f"{name}.pub")
        if key is None:
            raise CryptoError(f"{self._dir / name}.pub: no such key file")
        return key

    def _read_public(self, name: str) -> PublicKey | None:
        path = child(self._dir, name)
        try:
            data = read_regular(path, limit_bytes=KEY_LIMIT_BYTES)
        except StoreError as error:
            raise CryptoError(str(error)) from error
        if data is None:
            return None
        try:
            return PublicKey.from_pem(data.decode("utf-8", "replace"))
        except CryptoError as error:
            raise CryptoError(f"{path}: {error}") from error

    def _write_public(self, key: PrivateKey) -> None:
        pem = f"{key.public.pem}\n".encode()
        write_file(self._dir / "minion.pub", pem, mode=PUBLIC_KEY_MODE)
