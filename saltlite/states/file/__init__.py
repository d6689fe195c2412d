"""Files, directories and links as they shall be."""

from __future__ import annotations

from collections.abc import Mapping

PARTS: Mapping[str, tuple[str, ...]] = {
    "managed": ("decode", "managed", "serialize"),
    "directories": ("directory", "recurse"),
    "links": ("hardlink", "shortcut", "symlink"),
    "presence": ("absent", "exists", "missing", "mknod", "touch"),
    "editing": (
        "accumulated",
        "append",
        "blockreplace",
        "comment",
        "keyvalue",
        "line",
        "patch",
        "prepend",
        "replace",
        "uncomment",
    ),
    "moving": ("copy", "rename"),
    "cleaning": ("pruned", "retention_schedule", "tidied"),
    "caching": ("cached", "not_cached"),
    "watching": ("mod_watch",),
}
