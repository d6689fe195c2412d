"""Bodies in, bodies out: what a ``Content-Type`` means, and which form ``Accept`` asks for.

Pure. Source: docs/api.md, "Bodies and answers".
"""

from __future__ import annotations

import html
import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import parse_qsl

from saltlite.api.messages import HttpError, reason_of
from saltlite.api.packed import PackedValue, write_json, write_yaml
from saltlite.config.yaml import dump, load_plain
from saltlite.core.dataclasses import dataclass
from saltlite.core.datalimits import Size, measure
from saltlite.errors import ConfigError
from saltlite.loader.arguments import parse_argument

JSON: Final = "application/json"
YAML: Final = "application/x-yaml"
HTML: Final = "text/html"
HTML_PAGE: Final = "text/html;charset=utf-8"

BODY_LIMITS: Final = Size(bytes=64 * 1024 * 1024, keys=100_000, depth=100)
YAML_NODES_MOST: Final = 10_000
FORM_FIELDS_MOST: Final = 1_000
DEEPEST: Final = 100

NOT_SUPPORTED: Final = "Content type not supported"
INVALID_JSON: Final = "Invalid JSON document"
INVALID_YAML: Final = "Invalid YAML document"


# --- what was sent -----------------------------------------------------------------------


def read_body(content_type: str, body: bytes) -> Any:
    """The value of a request's body, ``None`` for an empty one.

    Raises:
        HttpError: 406 for a type that is not taken, 400 for a body that is not of its type.
    """
    if not body:
        return None
    kind = content_type.partition(";")[0].strip().lower()
    reader = _READERS.get(kind)
    if reader is None:
        raise HttpError(406, NOT_SUPPORTED)
    try:
        text = body.decode()
    except UnicodeDecodeError:
        raise HttpError(400, "The body is not UTF-8") from None
    value = reader(text)
    if measure(value, BODY_LIMITS).depth > DEEPEST:
        raise HttpError(400, f"The body is nested more than {DEEPEST} levels deep")
    return value


def _read_json(text: str) -> Any:
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
        json.dumps(value, ensure_ascii=False).encode()  # half a surrogate pair is no text
    except (ValueError, RecursionError):
        raise HttpError(400, INVALID_JSON) from None
    return value


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _read_yaml(text: str) -> Any:
    try:
        return load_plain(text, nodes_most=YAML_NODES_MOST)
    except (ConfigError, RecursionError) as error:
        why = f": {error.problem}" if isinstance(error, ConfigError) else ""
        raise HttpError(400, f"{INVALID_YAML}{why}") from None


def _read_text(text: str) -> Any:
    """What browsers send for a text body: JSON if it is any, else the text."""
    try:
        return _read_json(text)
    except HttpError:
        return text


def _read_form(text: str) -> dict[str, Any]:
    try:
        pairs = parse_qsl(
            text, keep_blank_values=True, max_num_fields=FORM_FIELDS_MOST, errors="strict"
        )
    except (ValueError, UnicodeDecodeError):
        raise HttpError(400, "The form is not well formed, or has too many fields") from None
    form: dict[str, Any] = {}
    for name, value in pairs:
        form.setdefault(name, []).append(value)
    return {name: _form_value(name, values) for name, values in form.items()}


def _form_value(name: str, values: list[str]) -> Any:
    """``arg`` are words of a command line, ``kwarg`` is YAML, the others are texts."""
    if name == "arg":
        return [parse_argument(value) for value in values]
    if name == "kwarg" and len(values) == 1:
        return _read_yaml(values[0])
    return values[0] if len(values) == 1 else values


_READERS: Final[Mapping[str, Callable[[str], Any]]] = {
    "application/json": _read_json,
    "application/x-www-form-urlencoded": _read_form,
    "application/x-yaml": _read_yaml,
    "text/yaml": _read_yaml,
    "text/plain": _read_text,
}


# --- what is wanted ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MediaRange:
    """One element of ``Accept``."""

    name: str
    quality: float

    def covers(self, media_type: str) -> bool:
        """Whether a type is meant."""
        kind = media_type.partition("/")[0]
        return self.name in (media_type, f"{kind}/*", "*/*")


def read_accept(accept: str) -> list[MediaRange]:
    """The elements of ``Accept``, the most wanted first; those with quality 0 are left out."""
    ranges = [_read_range(part) for part in accept.split(",") if part.strip()]
    return sorted((one for one in ranges if one.quality > 0), key=lambda one: -one.quality)


def _read_range(text: str) -> MediaRange:
    name, *parameters = (part.strip() for part in text.split(";"))
    for parameter in parameters:
        key, _, value = parameter.partition("=")
        if key.strip().lower() == "q":
            return MediaRange(name.lower(), _quality(value))
    return MediaRange(name.lower(), 1.0)


def _quality(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        return 0.0
    return number if 0.0 <= number <= 1.0 else 0.0


def choose_type(accept: str) -> str:
    """The form of an answer: JSON or YAML, whichever is wanted more.

    Raises:
        HttpError: 406, neither is wanted.
    """
    if not accept.strip() or accept.strip() in ("*/*", JSON):
        return JSON
    for wanted in read_accept(accept):
        for kind in (JSON, YAML):
            if wanted.covers(kind):
                return kind
    raise HttpError(406, f"Answers are {JSON} or {YAML}")


def wants_page(accept: str | None) -> bool:
    """Whether a browser asks that is to have the app: HTML will do, and not just anything will.

    Source: Salt's ``rest_cherrypy`` with ``app``; tests/cases/data/api, ``root`` and ``auth``.
    """
    if accept is None or not accept.strip():
        return True
    return accept.strip() != "*/*" and any(one.covers(HTML) for one in read_accept(accept))


_PACKED: Final = "packed" + secrets.token_hex(16)
"""Keeps the place of a packed value in JSON; nobody knows it who could write it there."""

WHERE_PACKED_MOST: Final = 5
"""Levels of an answer above what a runner returned."""

# --- what is answered --------------------------------------------------------------------


def encode(value: object, media_type: str) -> bytes:
    """A value in one of the forms."""
    if media_type == YAML:
        return encode_yaml(value)
    return encode_json(value)


def encode_yaml(value: object) -> bytes:
    """A value as YAML; see :func:`encode_json`."""
    packed: list[PackedValue] = []
    text = dump(_mark(value, packed, WHERE_PACKED_MOST))
    if not packed:
        return text.encode()
    out = bytearray()
    for one in packed:
        before, _, text = text.partition(_PACKED)
        out += before.rstrip(" ").encode() + b"\n"
        column = len(before) - before.rfind("\n")  # right of all that it belongs to
        write_yaml(one, out, dump, " " * column)
        text = text.removeprefix("\n")
    out += text.encode()
    return bytes(out)


def _mark(value: object, packed: list[PackedValue], depth: int) -> Any:
    """The value with a mark in the place of each large packed one, and with the others built."""
    if isinstance(value, PackedValue):
        if not value.is_block:
            return value.value()
        packed.append(value)
        return _PACKED
    if depth and isinstance(value, Mapping):
        return {key: _mark(one, packed, depth - 1) for key, one in value.items()}
    if depth and isinstance(value, list):
        return [_mark(one, packed, depth - 1) for one in value]
    return value


def encode_json(value: object) -> bytes:
    """A value as JSON in ASCII; bytes that are no text and odd numbers are replaced.

    A :class:`~saltlite.api.packed.PackedValue` in it has the form of what it is.
    """
    packed: list[PackedValue] = []

    def stand_in(found: object) -> Any:
        if isinstance(found, PackedValue):
            packed.append(found)
            return _PACKED
        return _stand_in(found)

    try:
        text = json.dumps(value, allow_nan=False, default=stand_in)
    except (ValueError, TypeError):  # rare: most values need no copy
        packed.clear()
        text = json.dumps(plain_copy(value), default=stand_in)
    return _fill_in(text, packed) if packed else text.encode()


def _fill_in(text: str, packed: list[PackedValue]) -> bytes:
    """JSON with what was packed in the places that were kept for it."""
    out = bytearray()
    for one in packed:
        before, _, text = text.partition(f'"{_PACKED}"')
        out += before.encode()
        write_json(one, out, encode_json)
    out += text.encode()
    return bytes(out)


def _stand_in(value: object) -> Any:
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).decode("utf-8", "replace")
    if isinstance(value, Mapping):
        return plain_copy(value)
    if isinstance(value, (set, frozenset, tuple)):
        return list(value)
    return repr(value)


def plain_copy(value: object) -> Any:
    """A copy with text keys and without numbers that JSON has not."""
    if isinstance(value, float):
        return value if abs(value) < float("inf") else None
    if isinstance(value, Mapping):
        return {_text_key(key): plain_copy(one) for key, one in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain_copy(one) for one in value]
    return value


def _text_key(key: object) -> Any:
    if isinstance(key, bytes):
        return key.decode("utf-8", "replace")
    return key if isinstance(key, (str, int, bool)) or key is None else str(key)


def encode_error(status: int, text: str, accept: str) -> tuple[str, bytes]:
    """Media type and body of an error: as wanted, HTML for who wants nothing else."""
    try:
        kind = choose_type(accept)
    except HttpError:
        kind = HTML if wants_page(accept) else JSON
    if kind == HTML:
        return HTML_PAGE, _error_page(status, text)
    return kind, encode({"status": status, "return": text}, kind)


def _error_page(status: int, text: str) -> bytes:
    title = f"{status} {reason_of(status)}"
    head = f"<!DOCTYPE html>\n<html><head><title>{html.escape(title)}</title></head>"
    body = f"<body><h2>{html.escape(title)}</h2>\n<p>{html.escape(text)}</p></body>"
    return f"{head}{body}</html>\n".encode()


def as_chunks(value: object) -> Sequence[Any]:
    """A lowstate: a list, or one map, which is a list of one.

    Raises:
        HttpError: 400, it is neither.
    """
    if isinstance(value, Mapping):
        return [value]
    if not isinstance(value, list):
        raise HttpError(400, "Lowstates must be a list")
    return value
