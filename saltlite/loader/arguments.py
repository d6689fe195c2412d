"""From the words of a command line to the arguments of a function, by Salt's rules.

Called by the client commands for what was typed, and by minions for text that came otherwise.
Source: docs/command-line.md#arguments; tests/cases/data/arguments.json has every row, and what real
Salt makes of more.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from saltlite.core.lazyregex import regex
from saltlite.core.plain import Plain
from saltlite.errors import ConfigError

KWARG = "__kwarg__"
"""Marks the dict that carries keywords in a list of arguments."""

# A value ends with its line: with another line after it the word is positional, as in Salt.
_KEYWORD = regex(r" *([^\W\d][\w.-]*)=(?!=)(.*)$")

# What no rule of YAML changes: a letter first, then nothing that YAML knows. `e` and `_` in numbers
# begin with a digit; the words that YAML knows are below.
_WORD = regex(r"[A-Za-z/][A-Za-z0-9_./@+-]*")
_NUMBER = regex(r"-?[1-9][0-9]*|0")
_YAML_WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "null", "none"})

_TEXT_THOUGH_YAML = frozenset({"---", "...", "|", "!"})
_BLANK_BUT_SPACE = regex(r"[\t\r\n]")
_DIGITS_AND_UNDERSCORES = "0123456789_"


def parse_argument(text: str) -> Plain:
    """The value that a word on the command line stands for, which may be the text itself."""
    if _WORD.fullmatch(text) and text.lower() not in _YAML_WORDS:
        return text
    if len(text) < 19 and _NUMBER.fullmatch(text):
        return int(text)
    if text == "None":
        return None
    if _stays_text(text):
        return text
    return _from_yaml(text)


def _stays_text(text: str) -> bool:
    stripped = text.strip()
    return (
        not stripped
        or stripped in _TEXT_THOUGH_YAML
        or _BLANK_BUT_SPACE.search(text) is not None
        or ("_" in text and not text.strip(_DIGITS_AND_UNDERSCORES))
    )


def _from_yaml(text: str) -> Plain:
    from saltlite.config.yaml import load  # most arguments are plain words and numbers

    try:
        value: Any = load(text, "argument")
    except ConfigError:
        return text
    if "#" in text and (value is None or isinstance(value, str)):
        return text
    if isinstance(value, dict):
        return dict(value) if text.startswith("{") else text
    if isinstance(value, bytes) or (isinstance(value, list) and not text.startswith("[")):
        return text
    return value  # type: ignore[no-any-return]  # what YAML makes is Plain


def parse_arguments(argv: Sequence[str], no_parse: Collection[str] = ()) -> list[Plain]:
    """Positional arguments, then one dict with the keywords if there are any.

    The values of keywords named in ``no_parse`` stay as typed.
    """
    arguments: list[Plain] = []
    keywords: dict[str, Plain] = {}
    for word in argv:
        name, text = split_keyword(word)
        if name is None:
            arguments.append(parse_argument(word))
        else:
            keywords[name] = text if name in no_parse else parse_argument(text)
    if keywords:
        arguments.append({**keywords, KWARG: True})
    return arguments


def split_keyword(word: str) -> tuple[str | None, str]:
    """``name=value`` taken apart; the name is ``None`` if the word is not of that form."""
    match = _KEYWORD.match(word)
    return (match.group(1), match.group(2)) if match else (None, word)


def split_args(arg: Sequence[Plain]) -> tuple[list[Plain], dict[str, Plain]]:
    """Positional and keyword arguments of a job's ``arg``; keyword dicts may be anywhere in it."""
    args: list[Plain] = []
    kwargs: dict[str, Plain] = {}
    for item in arg:
        if isinstance(item, Mapping) and item.get(KWARG) is True:
            kwargs.update({str(key): value for key, value in item.items() if key != KWARG})
        else:
            args.append(item)
    return args, kwargs
