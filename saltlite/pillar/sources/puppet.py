"""``puppet``: Salt's name for the parameters of an external node classifier."""

from __future__ import annotations

from saltlite.pillar.sources.ext_nodes import ext_pillar

__all__ = ["ext_pillar"]
