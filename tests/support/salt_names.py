"""The names below ``salt`` that users' files may import."""

from __future__ import annotations

from pathlib import Path

HOME = Path(__file__).parents[2] / "saltlite" / "compat" / "salt"


def answered_names() -> set[str]:
    """Those that have code of their own; packages that only lead to others are left out."""
    return {
        ".".join(("salt", *place.relative_to(HOME).parts))
        for path in HOME.rglob("*.py")
        for place in [path.parent if path.stem == "__init__" else path.with_suffix("")]
        if "import_below(" not in path.read_text()
    }
