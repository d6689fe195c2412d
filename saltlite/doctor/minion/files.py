"""Owners and modes of the minion's files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from saltlite.config.minion import SECTIONS
from saltlite.doctor.finding import Finding
from saltlite.doctor.minion.facts import MinionFacts
from saltlite.doctor.modes import (
    OTHERS_READ,
    OTHERS_WRITE,
    Place,
    below,
    find_secret_options,
    judge_config,
    judge_places,
)

NAME: Final = "files"
ABOUT: Final = "owners and modes of keys, caches, sockets and of a configuration with secrets"
LIMIT_S: Final = 10.0


def look(facts: MinionFacts) -> Iterator[Finding]:
    """Look at what must be the minion's alone."""
    config = facts.config
    (key,) = below(config.paths.pki_dir, "minion.pem")
    yield from judge_places(
        facts.machine,
        [Place(key, OTHERS_READ, "400")],
        facts.user,
        group_reads=config.auth.permissive_pki_access,
    )
    yield from judge_places(facts.machine, _list_places(facts), facts.user)
    yield from judge_config(facts.machine, config.source, find_secret_options(SECTIONS))


def _list_places(facts: MinionFacts) -> Iterator[Place]:
    """What others may not write; and what they may not read either: contents of files and diffs."""
    paths = facts.config.paths
    for path in below(paths.cachedir, "bucket", "reports.sqlite"):
        yield Place(path, OTHERS_READ, "go-rwx")
    for path in (
        paths.pki_dir,
        *below(paths.pki_dir, "minion_master.pub"),
        paths.cachedir,
        paths.extension_modules,
        paths.sock_dir,
    ):
        yield Place(path, OTHERS_WRITE, "go-w")
