"""The source ``cmd_yaml``: what a command prints, read as YAML."""

from __future__ import annotations

from saltlite.pillar.commands import source_with

ext_pillar = source_with("yaml")
