"""The source ``http_yaml``: what a web server answers, read as YAML."""

from __future__ import annotations

from saltlite.pillar.web import source_with

ext_pillar = source_with("yaml")
