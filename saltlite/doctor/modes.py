"""Judge owners and modes of what a daemon keeps: secrets that others read, files others write."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from saltlite.config.schema import OptionSource, options
from saltlite.core.dataclasses import dataclass
from saltlite.doctor.finding import Finding, error, list_names, warning
from saltlite.doctor.machine import FileFacts, Machine

OTHERS_WRITE: Final = 0o022
OTHERS_READ: Final = 0o077
EVERYBODY_READS: Final = 0o004

SECRET_WORDS: Final = ("passwd", "password", "secret", "private_key", "api_key", "_pass")
ENDINGS: Final = ("token",)
NO_SECRETS: Final = ("keep_acl_in_token",)
"""Options about such things, which hold none."""


@dataclass(frozen=True, slots=True)
class Place:
    """A file or directory, and what others may not do with it: bits that must not be set."""

    path: str
    forbidden: int
    mode: str
    """What ``chmod`` would be given."""


def judge_places(
    machine: Machine, places: Iterable[Place], user: str, *, group_reads: bool = False
) -> Iterator[Finding]:
    """Look at each place that is there; its owner must be ``user`` or root."""
    for place in places:
        found = machine.file(place.path)
        if found is None:
            continue
        if found.uid != 0 and found.owner != user:
            yield error(
                f"belongs to {found.owner}, allowed: root or {user}",
                place.path,
                f"chown {user} {shlex.quote(place.path)}",
            )
        forbidden = place.forbidden & ~0o040 if group_reads else place.forbidden
        if found.mode & forbidden:
            yield _describe_mode(found, forbidden, place.mode)


def _describe_mode(found: FileFacts, forbidden: int, mode: str) -> Finding:
    mend = f"chmod {mode} {shlex.quote(found.path)}"
    shown = f"its mode is {found.mode:04o}"
    if found.mode & forbidden & OTHERS_WRITE:
        return error(f"others may write it: {shown}", found.path, mend)
    return error(f"others may read it: {shown}", found.path, mend)


def judge_config(
    machine: Machine, sources: Mapping[str, OptionSource], is_secret: Callable[[str], bool]
) -> Iterator[Finding]:
    """Look at the files of the configuration: who may write them, who reads what is secret."""
    by_path: dict[str, list[str]] = {}
    for name, source in sources.items():
        if source.line is not None:
            by_path.setdefault(source.path, []).append(name)
    for path, names in sorted(by_path.items()):
        found = machine.file(path)
        if found is None:
            continue
        secrets = sorted(filter(is_secret, names))
        if secrets and found.mode & EVERYBODY_READS:
            yield warning(
                f"everybody may read it, and it has secrets: {list_names(secrets)}",
                path,
                f"chmod o-r {shlex.quote(path)}",
            )


def find_secret_options(sections: Mapping[str, type[Any]]) -> Callable[[str], bool]:
    """A test for names of options: those declared secret, and those that sound like it."""
    declared = {
        field.name
        for section in sections.values()
        for field in options(section)
        if field.metadata["secret"]
    }
    return lambda name: name in declared or sounds_secret(name)


def sounds_secret(name: str) -> bool:
    """Whether an option of this name holds a password or the like."""
    word = name.lower()
    if name in NO_SECRETS:
        return False
    return word.endswith(ENDINGS) or any(one in word for one in SECRET_WORDS)


def below(directory: str, *names: str) -> list[str]:
    """Paths in a directory."""
    return [os.path.join(directory, name) for name in names]
