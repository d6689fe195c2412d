"""RubyGems: its command lines and what it prints, taken apart. Called by ``modules/gem.py``.

Source: gem-install(1); observed on Salt 3006.30.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest

from saltlite.core.lazyregex import regex
from saltlite.core.numbers import is_digits

_GEM = regex(r"^(\S+) \((.+)\)$")
_OUTDATED = regex(r"^(\S+) \(\S+ < (\S+)\)$")
_WITHOUT_DOCUMENT = (2, 0)
"""Until this version of RubyGems each kind of documentation has an option of its own."""


def parse_listed(text: str) -> dict[str, list[str]]:
    """``gem list``: names and versions as they are told, ``default: 2.1`` too."""
    lines = filter(None, (_GEM.match(line) for line in text.splitlines()))
    return {match[1]: match[2].split(", ") for match in lines}


def parse_outdated(text: str) -> dict[str, str]:
    """``gem outdated``: the newest version by name."""
    lines = filter(None, (_OUTDATED.match(line) for line in text.splitlines()))
    return {match[1]: match[2] for match in lines}


def parse_sources(text: str) -> list[str]:
    """``gem sources``: addresses."""
    return [line.strip() for line in text.splitlines() if line.strip() and line[:1] != "*"]


def plain_version(text: str) -> str:
    """A version without where it comes from: ``default: 2.1``, ``2.0 ruby java``."""
    return text.removeprefix("default: ").split(" ")[0]


def installing(
    gems: Sequence[str],
    gem_version: str,
    *,
    version: str | None = None,
    rdoc: bool = False,
    ri: bool = False,
    pre_releases: bool = False,
    proxy: str | None = None,
    source: str | None = None,
) -> list[str]:
    """The words of ``gem install``, for RubyGems of ``gem_version``."""
    words = ["install", *gems]
    words += ["--version", version] if version else []
    words += _document_words(gem_version, rdoc=rdoc, ri=ri)
    words += ["--prerelease"] if pre_releases else []
    words += ["-p", proxy] if proxy else []
    words += ["--source", source] if source else []
    return words


def _document_words(gem_version: str, *, rdoc: bool, ri: bool) -> list[str]:
    number = tuple(int(part) for part in re.findall(r"\d+", gem_version)[:2])
    if number >= _WITHOUT_DOCUMENT:
        kinds = [name for name, wanted in (("rdoc", rdoc), ("ri", ri)) if wanted]
        if len(kinds) == 1:
            return [f"--document={kinds[0]}"]
        return [] if kinds else ["--no-document"]
    return ([] if rdoc else ["--no-rdoc"]) + ([] if ri else ["--no-ri"])


def satisfies(have: str, wanted: str) -> bool:
    """Whether a version is what ``1.5``, ``>= 2`` or ``~> 4.0, != 4.2`` asks for."""
    return all(_fits_version(plain_version(have), part.strip()) for part in wanted.split(","))


def is_condition(wanted: str) -> bool:
    """Whether it is more than a version."""
    return bool(re.match(r"\s*[<>=!~]", wanted))


def _fits_version(have: str, wanted: str) -> bool:
    match = re.match(r"(~>|[<>=!]{0,2})\s*(\S+)$", wanted)
    if match is None:
        return False
    sign, limit = match.groups()
    order = _compare_versions(_version_parts(have), _version_parts(limit))
    if sign == "~>":
        return order >= 0 and _compare_versions(_version_parts(have), _next_version(limit)) < 0
    return _SIGNS[sign](order) if sign in _SIGNS else False


_SIGNS: Mapping[str, Callable[[int], bool]] = {
    "": lambda order: order == 0,
    "=": lambda order: order == 0,
    "==": lambda order: order == 0,
    "!=": lambda order: order != 0,
    ">": lambda order: order > 0,
    "<": lambda order: order < 0,
    ">=": lambda order: order >= 0,
    "<=": lambda order: order <= 0,
}


def _version_parts(version: str) -> list[int | str]:
    """The numbers and letters of a version, without the zeros at its end."""
    parts = [
        int(each) if is_digits(each) else each for each in re.findall(r"\d+|[a-zA-Z]+", version)
    ]
    while parts and parts[-1] == 0:
        parts.pop()
    return parts


def _next_version(version: str) -> list[int | str]:
    """The first version that ``~> version`` leaves out: its last number but one, and one more."""
    numbers = [int(each) for each in re.findall(r"\d+", version)]
    kept = numbers[:-1] or numbers
    return [*kept[:-1], kept[-1] + 1]


def _compare_versions(first: Sequence[int | str], second: Sequence[int | str]) -> int:
    """-1, 0 or 1; letters (a version before a version) come before numbers."""
    for mine, others in zip_longest(first, second, fillvalue=0):
        if mine != others:
            if isinstance(mine, str) != isinstance(others, str):
                return -1 if isinstance(mine, str) else 1
            return -1 if mine < others else 1  # type: ignore[operator] # both are of one kind
    return 0
