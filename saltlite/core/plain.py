"""What travels: the values that msgpack, YAML and JSON can all carry.

``Plain`` is the type of everything unpacked but not yet made into a message. It is covariant, so a
``dict[str, int]`` is a ``Plain`` too. Keys are text here; readers tolerate other scalars.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TypeAlias

Plain: TypeAlias = "bool | int | float | str | bytes | Sequence[Plain] | Mapping[str, Plain] | None"
PlainMap: TypeAlias = "Mapping[str, Plain]"
