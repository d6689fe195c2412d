"""The source ``cmd_yamlex``: what a command prints, read as yamlex."""

from __future__ import annotations

from saltlite.pillar.commands import source_with

ext_pillar = source_with("yamlex")
