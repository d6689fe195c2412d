"""``import salt`` in plain Python of our environment: answered by us, unless a real Salt is there.

``saltlite.pth`` puts a finder at the end of the import system's, where only a name comes that
nobody else has; the first ``salt`` that comes brings this module. From then on it answers as it
does in our commands (:mod:`saltlite.loader.shim`), and what needs a configuration reads it as Salt
does: from the file that is named, ``SALT_MASTER_CONFIG`` or ``SALT_MINION_CONFIG``, or
``/etc/salt``.
"""

from __future__ import annotations

from importlib.machinery import ModuleSpec

from saltlite.loader import shim, surroundings
from saltlite.python.plain import PlainScript


def answer(fullname: str) -> ModuleSpec | None:
    """The spec of ``salt``; all below it is answered by the finder that this puts in place."""
    if surroundings.outside is None:
        surroundings.outside = PlainScript()
    return shim.begin(fullname)
