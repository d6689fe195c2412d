"""Who a cluster is: one RSA pair on all nodes, and what is derived from its private half.

The pair is in ``cluster_pki_dir`` (``cluster.pem``, ``cluster.pub``), brought there by the
administrator, and never in PostgreSQL. From it every node computes the same: the key that seals
publication keys in their table, and the session key of each minion.
"""

from __future__ import annotations

import base64
import os
from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from saltlite import disk
from saltlite.config.master import MasterConfig
from saltlite.core.dataclasses import dataclass
from saltlite.crypto.cipher import AES_KEY_BYTES, HMAC_KEY_BYTES, Crypticle
from saltlite.crypto.derivation import derive_key
from saltlite.crypto.keys import PrivateKey, load_private_key, normalise_pem
from saltlite.errors import ConfigError
from saltlite.master.keystore import load_or_make_key

if TYPE_CHECKING:
    from saltlite.master.keystore import AcceptedKey

SESSIONS_KEPT: Final = 4096
"""In the memory of one process."""

_ROOT_BYTES: Final = 32


class ClusterIdentity:
    """What a node derives from the cluster's private key."""

    def __init__(self, key: PrivateKey, cluster_id: str) -> None:
        self._root = derive_key(key.pem, f"saltlite cluster\0{cluster_id}", _ROOT_BYTES)
        self._sealing = Crypticle(self._key_string("publication keys"))

    def __repr__(self) -> str:
        return "ClusterIdentity(***)"

    def seal(self, publication_key: str) -> bytes:
        """A publication key as it stands in the table: useless without the private key."""
        return self._sealing.encrypt(publication_key.encode())

    def open(self, sealed: bytes) -> str:
        """The publication key in what :meth:`seal` made.

        Raises:
            CryptoError: another cluster's, or forged.
        """
        return self._sealing.decrypt(sealed).decode()

    def session_key(self, minion_id: str, pem: str, epoch: int) -> str:
        """The key string of a minion's session: another one for another key or epoch."""
        return self._key_string(f"session\0{minion_id}\0{normalise_pem(pem)}\0{epoch}")

    def _key_string(self, purpose: str) -> str:
        key = derive_key(self._root, purpose, AES_KEY_BYTES + HMAC_KEY_BYTES)
        return base64.b64encode(key).decode()


def find_key_path(config: MasterConfig) -> Path:
    """Where the cluster's private key is."""
    return Path(config.cluster.cluster_pki_dir or config.paths.pki_dir) / "cluster.pem"


def load_cluster_key(config: MasterConfig) -> PrivateKey:
    """The cluster's key pair.

    Raises:
        ConfigError: it is not there.
        CryptoError: it cannot be used.
        StoreError: others may read it.
    """
    path = find_key_path(config)
    if not os.path.lexists(path):
        raise ConfigError(
            f"there is no {path}: salt-run cluster.join shows how it gets here",
            option="cluster_pki_dir",
        )
    key = load_private_key(path, config.cluster.cluster_key_pass or None)
    disk.check_secret(path)
    return key


def make_cluster_key(config: MasterConfig) -> PrivateKey:
    """The cluster's key pair, made if there is none; for the first node alone.

    Raises:
        CryptoError: there is a key that cannot be used.
        StoreError: it cannot be written.
    """
    path = find_key_path(config)
    disk.make_dir(path.parent)
    passphrase = config.cluster.cluster_key_pass or None
    return load_or_make_key(path, keysize=config.keys.keysize, passphrase=passphrase)


@dataclass(frozen=True, slots=True)
class DerivedSession:
    """A session key string and the cipher made of it."""

    key: str
    crypticle: Crypticle

    def __repr__(self) -> str:
        return "DerivedSession(***)"


class AcceptedKeys(Protocol):
    """What sessions need of the keys."""

    def load_accepted(self, minion_id: str) -> AcceptedKey | None:
        """The accepted key; it is asked for with each request of each minion."""


class EpochSource(Protocol):
    """What sessions need of the key ring."""

    def epoch(self) -> int:
        """Another number ends all sessions."""

    def end_epoch(self) -> None:
        """End all sessions, on all nodes."""


class DerivedSessions:
    """The sessions of all minions that are accepted: none is stored, each node computes the same.

    So a minion that comes to another node has its session there already. One ends with its key;
    all of them with the epoch.
    """

    def __init__(self, identity: ClusterIdentity, keys: AcceptedKeys, epochs: EpochSource) -> None:
        self._identity = identity
        self._keys = keys
        self._epochs = epochs
        self._kept: OrderedDict[tuple[str, str, int], DerivedSession] = OrderedDict()

    def get(self, minion_id: str, *, accepted: AcceptedKey | None = None) -> DerivedSession | None:
        """The session of an accepted id, ``None`` for any other."""
        known = accepted or self._keys.load_accepted(minion_id)
        return None if known is None else self.get_or_make(minion_id, known)

    def get_or_make(self, minion_id: str, accepted: AcceptedKey) -> DerivedSession:
        """The session of an accepted key."""
        name = (minion_id, accepted.pem, self._epochs.epoch())
        session = self._kept.get(name)
        if session is None:
            key = self._identity.session_key(*name)
            session = self._kept[name] = DerivedSession(key, Crypticle(key))
            if len(self._kept) > SESSIONS_KEPT:
                self._kept.popitem(last=False)
        return session

    def delete(self, minion_id: str) -> bool:
        """Forget what is computed; the session itself ends with the key. Whether it had one."""
        gone = [name for name in self._kept if name[0] == minion_id]
        for name in gone:
            del self._kept[name]
        return bool(gone)

    def clear(self) -> None:
        """End all sessions, on all nodes; every minion authenticates again."""
        self._kept.clear()
        self._epochs.end_epoch()

    def ids(self) -> list[str]:
        """None: nothing is left of a session whose key went."""
        return []
