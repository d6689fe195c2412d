"""``salt.ext``: what is below it is imported when somebody looks."""

from __future__ import annotations

from saltlite.loader.shim import import_below

__getattr__ = import_below("salt.ext")
