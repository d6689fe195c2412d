"""``POST /keys``: a key pair for a new minion, accepted, as an archive. Pure.

Source: docs/api.md, "Keys".
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping
from typing import Any

from saltlite.api.messages import HttpError
from saltlite.core.dataclasses import dataclass
from saltlite.core.ids import valid_minion_id


@dataclass(frozen=True, slots=True)
class PairRequest:
    """What is asked for; ``arguments`` are those of ``key.gen_accept``."""

    id: str
    credentials: Mapping[str, Any]
    arguments: Mapping[str, Any]
    force: bool


def read_pair_request(body: object) -> PairRequest:
    """The request in a body, which is a form or a map.

    Raises:
        HttpError: 401 without credentials, 400 for an id that cannot be one.
    """
    fields = body[0] if isinstance(body, list) and body else body
    if not isinstance(fields, Mapping):
        raise HttpError(401, "No authentication credentials given")
    names = ("token", "username", "password", "eauth")
    credentials = {name: fields[name] for name in names if name in fields}
    if not credentials:
        raise HttpError(401, "No authentication credentials given")
    minion = fields.get("mid")
    if not isinstance(minion, str) or not valid_minion_id(minion):
        raise HttpError(400, "mid: the id of a minion is needed")
    force = str(fields.get("force", "")).lower() in ("true", "1", "yes", "on")
    arguments: dict[str, Any] = {"id_": minion}
    if fields.get("keysize") not in (None, ""):
        arguments["keysize"] = _read_keysize(fields["keysize"])
    if force:
        arguments["force"] = True
    return PairRequest(minion, credentials, arguments, force)


def _read_keysize(value: object) -> int:
    try:
        size = int(str(value)[:6])
    except ValueError:
        size = 0
    if not 2048 <= size <= 16384:
        raise HttpError(400, "keysize: 2048 to 16384")
    return size


def pack_pair(pair: object, mtime: int) -> bytes:
    """``minion.pub`` and ``minion.pem`` as an archive.

    Raises:
        HttpError: 409, the master made no pair.
    """
    if not isinstance(pair, Mapping) or not pair.get("pub") or not pair.get("priv"):
        raise HttpError(409, "The master made no key pair")
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, mode, text in (
            ("minion.pub", 0o644, pair["pub"]),
            ("minion.pem", 0o600, pair["priv"]),
        ):
            data = str(text).encode()
            member = tarfile.TarInfo(name)
            member.size, member.mode, member.mtime = len(data), mode, mtime
            archive.addfile(member, io.BytesIO(data))
    return packed.getvalue()
