"""Let in users of a file: text, ``htpasswd`` or ``htdigest``.

Settings in the block of ``external_auth``: ``^filename``; ``^filetype`` (text, htpasswd,
htdigest); ``^realm`` for htdigest; of a text ``^hashtype`` of its passwords (plaintext, or what
``hashutil.digest`` knows), ``^field_separator``, ``^username_field`` and ``^password_field``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from saltlite import disk
from saltlite.core import digest as digests
from saltlite.errors import FunctionError, SaltliteError
from saltlite.providers.htpasswd import fits_htdigest, fits_htpasswd, same_text
from saltlite.providers.login import AuthContext

log = logging.getLogger(__name__)

FILE_LIMIT_BYTES: Final = 64 * 1024 * 1024
PLAINTEXT: Final = "plaintext"


def auth(ctx: AuthContext, username: str, password: str) -> bool:
    """Look for the first line of the user; it decides."""
    settings = ctx.settings
    filetype = str(settings.get("filetype", "text"))
    if filetype not in _KINDS:
        raise FunctionError(f"^filetype: {filetype!r} is none of {', '.join(_KINDS)}")
    return _KINDS[filetype](settings, username, password)


def _text(settings: Mapping[str, object], username: str, password: str) -> bool:
    separator = str(settings.get("field_separator", ":"))
    name_at, known_at = _index(settings, "username_field", 1), _index(settings, "password_field", 2)
    for fields in _lines(settings, separator, least=max(name_at, known_at) + 1):
        if fields[name_at] == username:
            return _fits_text(settings, password, fields[known_at])
    return False


def _fits_text(settings: Mapping[str, object], password: str, known: str) -> bool:
    hashtype = str(settings.get("hashtype", PLAINTEXT))
    if hashtype == PLAINTEXT:
        return bool(known) and same_text(password, known)
    return same_text(digests.digest(password, hashtype), known.lower())


def _htpasswd(settings: Mapping[str, object], username: str, password: str) -> bool:
    for name, known, *_rest in _lines(settings, ":", least=2):
        if name == username:
            return fits_htpasswd(password, known)
    return False


def _htdigest(settings: Mapping[str, object], username: str, password: str) -> bool:
    realm = settings.get("realm")
    if not realm:
        raise FunctionError("^realm: htdigest needs one")
    for name, place, known, *_rest in _lines(settings, ":", least=3):
        if (name, place) == (username, str(realm)):
            return fits_htdigest(username, str(realm), password, known)
    return False


_KINDS: Final[Mapping[str, Callable[[Mapping[str, Any], str, str], bool]]] = {
    "text": _text,
    "htpasswd": _htpasswd,
    "htdigest": _htdigest,
}


def _index(settings: Mapping[str, object], name: str, default: int) -> int:
    value = settings.get(name, default)
    if type(value) is not int or value < 1:
        raise FunctionError(f"^{name}: found {value!r}, allowed: whole number, 1 or more")
    return value - 1


def _lines(settings: Mapping[str, object], separator: str, *, least: int) -> Iterator[list[str]]:
    """The fields of each line, without blanks around it; one with too few is passed over.

    What begins with ``#`` is a comment: whoever was taken out so gets in by no name.
    """
    path = settings.get("filename")
    if not isinstance(path, str) or not path:
        raise FunctionError("^filename is needed")
    if not separator:
        raise FunctionError("^field_separator: it cannot be empty")
    disk.check_origin(path)
    data = disk.read_regular(Path(path), limit_bytes=FILE_LIMIT_BYTES)
    if data is None:
        raise SaltliteError(f"there is no file {path}")
    for number, line in enumerate(data.decode("utf-8", "surrogateescape").splitlines(), 1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        fields = stripped.split(separator)
        if len(fields) >= least:
            yield fields
        else:
            log.warning("%s, line %d: too few fields, passed over", path, number)
