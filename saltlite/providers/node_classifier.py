"""An external node classifier: a command that is given a node's name and prints YAML about it.

``classes`` are a list or a map of names, ``parameters`` a map, ``environment`` a name. Both
``master_tops`` and ``ext_pillar`` ask it. Source: Puppet's external node classifiers; observed on
Salt 3006.30, which reads ``classes`` and ``environment`` by ``ext_nodes``, and ``parameters`` by
the pillar ``puppet``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from saltlite.config.yaml import load
from saltlite.errors import SaltliteError
from saltlite.host import Host

COMMAND_S: Final = 60.0


class ClassifierFailed(SaltliteError):
    """The command gives nothing of use; the text says why, and nothing that it printed."""


def classify(host: Host, command: object, node: str) -> Mapping[str, Any]:
    """What the command prints about a node.

    Raises:
        ClassifierFailed: it cannot be run, fails, takes too long, or prints no map.
    """
    words = str(command or "").split()
    if not words:
        raise ClassifierFailed("there is no command")
    done = host.run([*words, node], timeout_s=COMMAND_S)
    if done.timed_out:
        raise ClassifierFailed(f"{words[0]} does not end within {COMMAND_S:.0f} s")
    if done.exit_code != 0:
        raise ClassifierFailed(f"{words[0]} exits with {done.exit_code}")
    try:
        said = load(done.stdout, words[0])
    except SaltliteError:
        # What the parser says may quote what is a secret there; the text goes to minions.
        raise ClassifierFailed(f"{words[0]} prints what is no YAML") from None
    if not isinstance(said, Mapping):
        raise ClassifierFailed(f"{words[0]} prints no YAML map")
    return said
