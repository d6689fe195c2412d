"""Secrets of the pillar in what a run of states tells: they are masked wherever they stand. Pure.

A value is a secret where its key, or that of a map or list around it, says so, or where somebody
has named its key. It is looked for as it is, line by line where it has several, and as JSON writes
it. What is short, a plain number or a path is not, nor is, unless it was named, a word that the
pillar also has under an ordinary key: masking it would make returns unreadable, and what stands
everywhere is no secret.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, Final

from saltlite.core.lazyregex import regex

MASK: Final = "**********"

SHORTEST: Final = 6
"""Characters; a shorter value is found by chance in too much."""

SHORTEST_LINE: Final = 16
"""Characters of a line of a secret that has several, such as a private key."""

SHORTEST_NUMBER: Final = 10
"""Digits."""

AT_MOST: Final = 2_000
"""So many values are looked for, the longest; a pillar with more is no pillar of secrets."""

_SECRET_KEY: Final = regex(
    r"(?:^|[-_.\s])(?:pass|passwd|password|passwords|passphrase|pw|pwd|secret|secrets|token|tokens|"
    r"credential|credentials|apikey|api[-_]key|access[-_]key|secret[-_]key|"
    r"(?:private|auth|encryption|signing|session|master|shared|account)[-_]?key|psk|hmac)"
    r"(?:$|[-_.\s\d])|password|passwd|passphrase|secret"
)
"""In a key, in small letters."""

_NO_SECRET_KEY: Final = regex(
    r"(?:^|[-_.\s])(?:file|filename|path|dir|directory|length|policy|name|user|username|"
    r"type|expire[sd]?|ttl|url|public|enabled?|"
    r"host|hostname|server|address|port|email|group|mode|owner|public[-_]key)$"
)
"""Keys about a secret: ``password_file``, ``token_ttl``, ``secret_name``."""

_PATH: Final = regex(r"(?:/(?:etc|srv|var|opt|home|root|usr|run|tmp|dev)/|salt://)[^\s]*\Z")
_WORDS: Final = frozenset({"enabled", "disabled", "default", "required", "optional", "absent"})


MASK_KEYS: Final = "state_mask_keys"
"""The option, and the key of the pillar, with further keys whose values are secret."""

NAMED_MOST: Final = 100
"""Names of keys that are heeded: each is compared with each key of the pillar."""


def find_secrets(pillar: Mapping[Any, Any], named: Sequence[object] = ()) -> tuple[str, ...]:
    """The texts of a pillar that are secret, the longest first.

    ``named`` are further keys whose values are, with all that is below them: globs of paths,
    ``mysql:root``.
    """
    secret: set[str] = set()
    plain: set[str] = set()
    _sort_values(pillar, secret, plain, is_secret=False)
    values = secret - plain
    if named:
        _add_named(pillar, "", [str(name) for name in named[:NAMED_MOST]], values)
    texts = {text for value in values for text in _spell(value)}
    return tuple(sorted(texts, key=lambda text: (-len(text), text))[:AT_MOST])


def _add_named(data: object, path: str, patterns: Sequence[str], found: set[str]) -> None:
    """Add the values below keys whose paths fit, and all values where ``patterns`` is empty."""
    if isinstance(data, Mapping):
        for key, value in data.items():
            below = f"{path}:{key}" if path else str(key)
            is_named = any(fnmatchcase(below, pattern) for pattern in patterns)
            _add_named(value, below, () if is_named or not patterns else patterns, found)
    elif isinstance(data, (list, tuple)):
        for value in data:
            _add_named(value, path, patterns, found)
    elif not patterns and data is not None and not isinstance(data, bool):
        found.add(str(data))


def _sort_values(data: object, secret: set[str], plain: set[str], *, is_secret: bool) -> None:
    if isinstance(data, Mapping):
        for key, value in data.items():
            _sort_values(value, secret, plain, is_secret=_is_secret_key(key, is_secret))
    elif isinstance(data, (list, tuple)):
        for value in data:
            _sort_values(value, secret, plain, is_secret=is_secret)
    elif isinstance(data, bool) or data is None:
        return
    else:
        (secret if is_secret else plain).add(str(data))


def _is_secret_key(key: object, is_below: bool) -> bool:
    name = str(key).lower()
    if _NO_SECRET_KEY.search(name):
        return False
    return is_below or _SECRET_KEY.search(name) is not None


def _spell(value: str) -> Iterator[str]:
    """The texts by which a secret value is found, if it is one."""
    lines = [line.strip() for line in value.splitlines()]
    if len(lines) > 1:
        yield from (
            line for line in lines if len(line) >= SHORTEST_LINE and not line.startswith("-----")
        )
    text = value.strip()
    if len(text) < (SHORTEST_NUMBER if text.isdigit() else SHORTEST):
        return
    if text.lower() in _WORDS or _PATH.match(text) is not None:
        return
    import json  # only where there is a secret

    yield text
    yield json.dumps(text)[1:-1]
    yield json.dumps(text, ensure_ascii=False)[1:-1]


def mask_answers(
    answers: Mapping[str, dict[str, Any]], secrets: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """The returns of states by tag, masked; a return without a secret is the same dictionary."""
    masked: dict[str, dict[str, Any]] = {}
    for tag, answer in answers.items():
        told = mask_text(tag, secrets)
        # Two states may differ by their secrets alone, and both are told.
        number = 1
        while told in masked:
            number += 1
            told = f"{mask_text(tag, secrets)} ({number})"
        masked[told] = mask_data(answer, secrets)
    return masked


def mask_data(data: Any, secrets: Sequence[str]) -> Any:
    """The data with each secret masked, in texts and in keys; without one, the data themselves."""
    text = _join_texts(data)
    if not any(secret in text for secret in secrets):
        return data
    return _mask(data, secrets)


def _join_texts(data: object) -> str:
    """All texts of the data in one, so that most returns are searched once for each secret."""
    found: list[str] = []
    waiting = [data]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str):
            found.append(each)
        elif isinstance(each, Mapping):
            waiting += each.keys()
            waiting += each.values()
        elif isinstance(each, (list, tuple)):
            waiting += each
        elif isinstance(each, int) and not isinstance(each, bool):
            found.append(str(each))
    return "\0".join(found)


def _mask(data: Any, secrets: Sequence[str]) -> Any:
    if isinstance(data, str):
        return mask_text(data, secrets)
    if isinstance(data, Mapping):
        return {_mask(key, secrets): _mask(value, secrets) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_mask(each, secrets) for each in data]
    if isinstance(data, int) and not isinstance(data, bool):
        return MASK if str(data) in secrets else data
    return data


def mask_text(text: str, secrets: Sequence[str]) -> str:
    """The text with each secret masked; the longest first, since one may be part of another."""
    for secret in secrets:
        if secret in text:
            text = text.replace(secret, MASK)
    return text
