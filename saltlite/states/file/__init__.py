"""Files, directories and links as they shall be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

_NAMES = {
    "managed": "managed",
    "serialized": "decode serialize",
    "directory": "directory",
    "tree": "recurse",
    "links": "hardlink shortcut symlink",
    "presence": "absent exists missing mknod touch",
    "edits": "accumulated append blockreplace comment keyvalue line prepend replace uncomment",
    "patching": "patch",
    "moving": "copy rename",
    "cleaning": "pruned tidied",
    "retention": "retention_schedule",
    "caching": "cached not_cached",
    "watching": "mod_watch",
}
PARTS: Mapping[str, Sequence[str]] = {part: names.split() for part, names in _NAMES.items()}
