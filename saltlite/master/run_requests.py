"""What is handed over to RunServer, and what comes of it."""

from __future__ import annotations

from typing import Any, Final

from saltlite.core.dataclasses import dataclass, field

FILE_HASH: Final = "file_hash"
"""The kind of a request for the hash of a large file."""


@dataclass(frozen=True, slots=True)
class RunRequest:
    """One function to run.

    ``kind`` is ``runner``, ``wheel`` or ``file_hash``; ``user`` is who was authenticated.
    ``ticket`` is empty where nobody waits; ``minion`` and ``nonce`` say to whom the reply is
    sealed, else it goes out in the clear.
    """

    kind: str
    fun: str
    jid: str
    user: str
    arg: list[Any] = field(default_factory=list)
    kwarg: dict[str, Any] = field(default_factory=dict)
    ticket: bytes = b""
    minion: str = ""
    nonce: str = ""
    by_signature: bool = False
    """Whether ``kwarg`` is to be laid out as the function's signature says."""
    schedule: dict[str, Any] = field(default_factory=dict)
    """Of a run that the master's schedule began: the job's ``name``, ``metadata``, returners."""
    pillar_patterns: bool = True
    """Whether targets may compare pillar with patterns; not for who may not read all pillars."""


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """What came of it: the value, or a text that says why there is none."""

    value: Any
    success: bool
