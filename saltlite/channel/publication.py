"""A job on its way to many minions at once: sealed, numbered and signed.

The key is shared by all accepted minions, so that it proves nothing; the signature does.
Source: docs/wire.md#publications; docs/security.md#impersonation, CVE-2017-7893.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, Final

from saltlite.channel.payload import open_sealed, seal
from saltlite.core.dataclasses import dataclass
from saltlite.core.fields import read_fields
from saltlite.core.messages import DEFAULT_SIGNING, as_bytes, as_int, as_map, as_text
from saltlite.crypto.cipher import Crypticle
from saltlite.crypto.keys import SIGNING_ALGORITHMS, PrivateKey, PublicKey
from saltlite.errors import WireError
from saltlite.transport.codec import pack, unpack

BROADCAST: Final = b"broadcast"
SYNDIC: Final = b"syndic"
"""The topic of all syndics."""

# Of these the master knows by the ids alone whom they mean; the others go to all minions.
_ADDRESSED_TYPES = frozenset({"glob", "pcre", "list"})


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicationFrame:
    """What a frame holds, unread; ``None`` is not there."""

    enc: object = None
    load: object = None
    sig: object = None
    sig_algo: object = None


class StalePublication(WireError):
    """The serial did not grow: a repetition, to be passed over without a word."""


def seal_publication(
    job: Mapping[str, object],
    *,
    aes: str | Crypticle,
    serial: int,
    signer: PrivateKey | None,
    sig_algo: str = DEFAULT_SIGNING,
    iv: bytes | None = None,
) -> bytes:
    """The frame for a job map. ``serial`` must be greater than every earlier one under this key.

    ``signer`` is ``None`` only with ``sign_pub_messages: False``.

    Raises:
        WireError: the job holds something that cannot travel.
    """
    crypticle = Crypticle(aes) if isinstance(aes, str) else aes
    # Within what is sealed and signed, so that nobody can give an old job a new number.
    load = seal(crypticle, {**job, "serial": serial}, iv=iv)
    frame: dict[str, Any] = {"enc": "aes", "load": load}
    if signer is not None:
        frame["sig_algo"] = sig_algo
        frame["sig"] = signer.sign(load, sig_algo)
    return pack(frame)


def open_publication(
    frame: bytes,
    *,
    crypticle: Crypticle,
    last_serial: int,
    master_key: PublicKey | None,
    require_signature: bool,
) -> tuple[dict[str, Any], int]:
    """The job map of a frame, and its serial (0 if it has none, as in a master cluster).

    The signature is checked first: junk from a stranger then costs no re-authentication.

    Args:
        frame: the message, without a topic.
        crypticle: the publication key.
        last_serial: the highest seen under this key, 0 at first.
        master_key: the pinned key; may be ``None`` if no signature is required.
        require_signature: ``sign_pub_messages``.

    Raises:
        WireError: to be dropped: not a publication, not signed as required.
        StalePublication: to be dropped without a word.
        CryptoError: the key does not fit: authenticate again, and try the same frame again.
    """
    message = read_fields(PublicationFrame, as_map(unpack(frame), "publication"))
    if message.enc != "aes":
        raise WireError("publication is not encrypted")
    load = as_bytes(message.load, "load")
    if require_signature:
        _check_signature(message, load, master_key)
    job = as_map(open_sealed(crypticle, load), "job")
    if "serial" not in job:
        return job, 0
    serial = as_int(job.pop("serial"), "serial")
    # Each minion has the key, so any of them could send an old frame once more.
    if serial <= last_serial:
        raise StalePublication("serial did not grow")
    return job, serial


def _check_signature(message: PublicationFrame, load: bytes, master_key: PublicKey | None) -> None:
    if master_key is None:
        raise WireError("the master's key is not known")
    algorithm = as_text(message.sig_algo, "sig_algo")
    # The frame names its own algorithm, so the choice must hold no weak one.
    if algorithm not in SIGNING_ALGORITHMS:
        raise WireError("publication is signed with an unknown algorithm")
    if not master_key.verify(load, as_bytes(message.sig, "sig"), algorithm):
        raise WireError("the signature on the publication does not hold")


def topic_of(minion_id: str) -> bytes:
    """The topic of one minion, with ``zmq_filtering``. Source: docs/wire.md#publications."""
    # The wire fixes SHA-1; it spreads names here and protects nothing.
    return hashlib.sha1(minion_id.encode(), usedforsecurity=False).hexdigest().encode()


def subscriptions(minion_id: str, *, filtering: bool) -> list[bytes]:
    """The prefixes a minion subscribes to."""
    return [BROADCAST, topic_of(minion_id)] if filtering else [b""]


def topics(
    tgt_type: str, tgt: str | list[str], matched: Iterable[str], *, to_syndics: bool = False
) -> list[bytes]:
    """The topics a job is sent under, with ``zmq_filtering``: one copy each.

    ``matched`` are the ids the master expects; ``to_syndics`` (``order_masters``) adds a copy for
    the masters below. Source: docs/wire.md#publications.
    """
    # Syndics hear what goes to all.
    if tgt_type not in _ADDRESSED_TYPES:
        return [BROADCAST]
    listed = matched
    if tgt_type == "list":
        listed = tgt.split(",") if isinstance(tgt, str) else tgt
    found = [topic_of(minion_id.strip()) for minion_id in listed]
    return [*found, SYNDIC] if to_syndics else found


def message_of(frames: list[bytes]) -> bytes:
    """The message in what a subscriber received: alone, or behind its topic.

    Raises:
        WireError: neither one frame nor two.
    """
    if len(frames) not in (1, 2):
        raise WireError("publication has neither one frame nor two")
    return frames[-1]
