"""The renderer ``mako``."""

from __future__ import annotations

from saltlite.templates.texts import renderer_of

render = renderer_of("mako")
