"""``salt.utils.msgpack`` and ``salt.serializers.msgpack``."""

from __future__ import annotations

from typing import Any

import msgpack

available = True


def packb(o: object, **kwargs: Any) -> bytes:
    """A value as bytes."""
    kwargs.pop("_msgpack_module", None)
    kwargs.setdefault("use_bin_type", True)
    packed: bytes = msgpack.packb(o, **kwargs)
    return packed


def unpackb(packed: bytes, **kwargs: Any) -> Any:
    """The value of bytes."""
    kwargs.pop("_msgpack_module", None)
    if kwargs.pop("encoding", "utf-8") is None:
        kwargs["raw"] = True
    kwargs.setdefault("raw", False)
    kwargs.setdefault("strict_map_key", False)
    return msgpack.unpackb(packed, **kwargs)


def pack(o: Any, stream: Any, **kwargs: Any) -> None:
    """Write a value to a file."""
    stream.write(packb(o, **kwargs))


def unpack(stream: Any, **kwargs: Any) -> Any:
    """The value in a file."""
    return unpackb(stream.read(), **kwargs)


dumps = serialize = packb
loads = deserialize = unpackb
dump = pack
load = unpack
