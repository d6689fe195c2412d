"""The source ``http_json``: what a web server answers, read as JSON."""

from __future__ import annotations

from saltlite.pillar.web import source_with

ext_pillar = source_with("json")
