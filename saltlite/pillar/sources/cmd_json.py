"""The source ``cmd_json``: what a command prints, read as JSON."""

from __future__ import annotations

from saltlite.pillar.commands import source_with

ext_pillar = source_with("json")
