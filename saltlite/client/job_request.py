"""What a client publishes, and who it says that it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from saltlite.core.dataclasses import dataclass, field
from saltlite.core.ids import valid_jid

Target: TypeAlias = str | list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRequest:
    """What to publish. ``options`` go into the load's ``kwargs`` (docs/wire.md#clear-commands)."""

    tgt: Target
    fun: str | list[str]
    arg: Sequence[Any] = ()
    tgt_type: str = "glob"
    ret: str = ""
    jid: str = ""
    timeout_s: float | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


_CREDENTIALS = ("token", "eauth", "username", "password")


def credentials_of(options: Mapping[str, object]) -> dict[str, Any]:
    """Of the options of a job, those that say who asks; none where it is the local key."""
    return {name: options[name] for name in _CREDENTIALS if name in options}


def jid_as_text(value: object) -> Any:
    """A number that is a jid becomes text again: 20 digits do not fit into msgpack's numbers."""
    if type(value) is int and value > 0 and valid_jid(str(value)):
        return str(value)
    return value
