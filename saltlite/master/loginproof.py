"""What a checked login is worth: a proof that goes on with the request in place of the password.

A worker hands a login over (:mod:`saltlite.master.loginserver`) and is free. When the password is
right the request comes to a worker again, with a proof sealed by a secret that the master's
processes share and nobody else has. It stays on the master's own sockets, and lives a minute.
"""

from __future__ import annotations

import base64
import binascii
import hmac
from typing import Any, Final

from saltlite.core.dataclasses import asdict, dataclass, field
from saltlite.errors import WireError
from saltlite.transport.codec import pack_bin, unpack_bin

FIELD: Final = "__login_proof__"
"""Where a proof is in a load."""

LIFE_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class LoginProof:
    """Who logged in by which module, and what it says about the user's groups and rights.

    ``entries`` are rights beside those of the configuration, ``whole`` the access list where the
    module decides on all of it. ``token`` is the name of the
    token whose owner was looked at again, else ``""``. ``until`` is a time of the steady clock.
    """

    name: str
    eauth: str
    groups: list[str] = field(default_factory=list)
    entries: list[Any] | None = None
    whole: list[Any] | None = None
    token: str = ""
    until: float = 0.0


def seal_proof(secret: bytes, proof: LoginProof) -> str:
    """The proof as a text that :func:`open_proof` believes."""
    data = base64.b64encode(pack_bin(asdict(proof)))
    return f"{_sign_proof(secret, data)}.{data.decode('ascii')}"


def open_proof(secret: bytes, text: object, now_s: float) -> LoginProof | None:
    """The proof in a text; ``None`` if it is not ours, or old."""
    if not isinstance(text, str):
        return None
    signature, _, data = text.partition(".")
    # As the codec reads text that is no UTF-8; a strict encode would raise for it.
    packed = data.encode("utf-8", "surrogateescape")
    shown = signature.encode("utf-8", "surrogateescape")
    # Before anything is unpacked: a stranger can send this field too.
    if not hmac.compare_digest(_sign_proof(secret, packed).encode("ascii"), shown):
        return None
    try:
        fields: Any = unpack_bin(base64.b64decode(packed, validate=True))
        proof = LoginProof(**fields)
    except (binascii.Error, WireError, TypeError):
        return None
    return proof if now_s <= proof.until else None


def _sign_proof(secret: bytes, data: bytes) -> str:
    return hmac.digest(secret, data, "sha256").hex()
