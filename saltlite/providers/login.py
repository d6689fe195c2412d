"""What a module of external authentication may reach."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saltlite.core.dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class AuthContext:
    """The master's options by name, and the settings (``^name``) of the module's own block."""

    opts: Mapping[str, Any] = field(default_factory=dict, repr=False)
    settings: Mapping[str, Any] = field(default_factory=dict, repr=False)
