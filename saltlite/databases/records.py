"""What a server is given to keep, as values; which columns it becomes is the server's affair."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

from saltlite.core.dataclasses import dataclass
from saltlite.core.jsontext import pack_json
from saltlite.errors import StoreError


@dataclass(frozen=True, slots=True)
class LoadRecord:
    """A job that was published."""

    jid: str
    load: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ReturnRecord:
    """What a minion returned: ``{"id", "jid", "fun", "return", "success", "retcode", …}``."""

    ret: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class EventRecord:
    """An event of the master's bus; ``master_id`` is whose bus it was."""

    tag: str
    data: Mapping[str, Any]
    master_id: str


Record: TypeAlias = LoadRecord | ReturnRecord | EventRecord


def pack_record(record: Record) -> str:
    """Return one record as a line of JSON; what JSON does not know becomes text.

    Raises:
        StoreError: it cannot be one.
    """
    if isinstance(record, LoadRecord):
        fields: list[Any] = ["load", record.jid, record.load]
    elif isinstance(record, ReturnRecord):
        fields = ["return", record.ret]
    else:
        fields = ["event", record.tag, record.data, record.master_id]
    try:
        return pack_json(fields)
    except (TypeError, ValueError, RecursionError) as error:
        raise StoreError(f"a record of {fields[0]} is no JSON: {error}") from error


def unpack_record(line: str) -> Record:
    """Return the record of a line.

    Raises:
        StoreError: it is none.
    """
    try:
        kind, *fields = json.loads(line)
        if kind == "load":
            return LoadRecord(*fields)
        return ReturnRecord(*fields) if kind == "return" else EventRecord(*fields)
    except (ValueError, TypeError) as error:
        raise StoreError(f"a record that waited for a server is damaged: {error}") from error
