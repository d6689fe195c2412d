"""``salt``: what is below it is imported when somebody looks."""

from __future__ import annotations

from saltlite.loader.shim import import_below
from saltlite.version import __version__ as __version__

__getattr__ = import_below("salt")
