"""Names that peers choose, and the only forms in which they are let in.

A minion id becomes a file name and part of event tags, a jid becomes a directory and part of tags,
a function name is looked up in a table. Each is checked here, before anything else is done.
"""

from __future__ import annotations

from typing import Final

from saltlite.core.lazyregex import regex

MINION_ID_LIMIT: Final = 253
"""Characters in a minion id; as long as a DNS name may be."""

FUNCTION_LIMIT: Final = 128
"""Characters in a function name."""

TELL_STATES: Final = "tell_states"
"""In a job: somebody looks, so the minion is to say now and then which state runs. Not in Salt."""

TELL_OUTPUT: Final = "tell_output"
"""In a job: its minions are to say what a command prints while it runs. Not in Salt."""

TELLING_MOST: Final = 50
"""So many minions may say such things, once a second each; nobody can read more."""

UNASKED_JID: Final = "req"
"""The jid of a return nobody asked for: the master assigns one. Source: docs/wire.md#_return."""

UNSTORED_JID: Final = "nocache"
"""The jid of a return that is not to be stored. Source: docs/wire.md#_return."""

# For ``fullmatch``: ``$`` would let a line feed pass at the end.
_MINION_ID = regex(r"[A-Za-z0-9_][A-Za-z0-9._:@+-]*")
_JID = regex(r"[0-9]{20}(_[0-9]{1,20})?")
_FUNCTION = regex(r"[A-Za-z0-9_]+\.[A-Za-z0-9_]+")


def valid_minion_id(minion_id: object) -> bool:
    """Whether this is text that may name a minion: letters, digits and ``. _ - : @ +``.

    The first character is a letter, a digit or ``_``; so ``.``, ``..`` and hidden files cannot be
    named. Source: docs/security.md#ids-jids-and-paths.
    """
    return (
        isinstance(minion_id, str)
        and len(minion_id) <= MINION_ID_LIMIT
        and _MINION_ID.fullmatch(minion_id) is not None
    )


def valid_jid(jid: object) -> bool:
    """Whether this is a job id: 20 digits, or 20 digits, ``_`` and a process id.

    Source: docs/wire.md#publications; docs/security.md#ids-jids-and-paths.
    """
    return isinstance(jid, str) and _JID.fullmatch(jid) is not None


def valid_function(name: object) -> bool:
    """Whether this is ``module.function``, fit to be looked up.

    Capitals are allowed because user modules have them. Source: docs/security.md#malformed-input,
    CVE-2021-33226.
    """
    return (
        isinstance(name, str)
        and len(name) <= FUNCTION_LIMIT
        and _FUNCTION.fullmatch(name) is not None
    )
