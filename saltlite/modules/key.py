"""The fingerprints of the minion's key and of its master's."""

from __future__ import annotations

import hashlib
import os

from saltlite.context import MinionContext
from saltlite.errors import FunctionError


def finger(ctx: MinionContext, hash_type: str | None = None) -> str:
    """The fingerprint of the minion's public key; empty without one.

    CLI Example:

        salt '*' key.finger
    """
    return _fingerprint_of(ctx, "minion.pub", hash_type)


def finger_master(ctx: MinionContext, hash_type: str | None = None) -> str:
    """The fingerprint of the master's public key as the minion pinned it; empty without one.

    CLI Example:

        salt '*' key.finger_master
    """
    return _fingerprint_of(ctx, "minion_master.pub", hash_type)


def _fingerprint_of(ctx: MinionContext, name: str, hash_type: str | None) -> str:
    """Hex in colon-separated pairs of the lines between the marks.

    Source: docs/wire.md#what-the-minion-does-next.
    """
    pem = ctx.host.read_text(os.path.join(ctx.config.paths.pki_dir, name))
    if pem is None:
        return ""
    algorithm = hash_type or ctx.config.files.hash_type
    if algorithm not in hashlib.algorithms_guaranteed:
        raise FunctionError(f"no such hash type: {algorithm}")
    lines = [line.strip() for line in pem.strip().splitlines()]
    body = "".join(f"{line}\n" for line in lines[1:-1])
    hexed = hashlib.new(algorithm, body.encode(), usedforsecurity=False).hexdigest()
    return ":".join(hexed[at : at + 2] for at in range(0, len(hexed), 2))
