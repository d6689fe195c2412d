"""Owners and modes of the master's files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

from saltlite.config.master import SECTIONS
from saltlite.doctor.finding import Finding
from saltlite.doctor.master.facts import MasterFacts
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


def look(facts: MasterFacts) -> Iterator[Finding]:
    """Look at what must be the master's alone."""
    config = facts.config
    readable = config.keys.permissive_pki_access
    yield from judge_places(facts.machine, _list_keys(facts), facts.user, group_reads=readable)
    yield from judge_places(facts.machine, _list_places(facts), facts.user)
    yield from judge_config(facts.machine, config.source, find_secret_options(SECTIONS))


def _list_keys(facts: MasterFacts) -> Iterator[Place]:
    pki_dir = facts.config.paths.pki_dir
    signer = f"{facts.config.keys.master_sign_key_name}.pem"
    for path in below(pki_dir, "master.pem", signer, "cluster.pem"):
        yield Place(path, OTHERS_READ, "400")


def _list_places(facts: MasterFacts) -> Iterator[Place]:
    """What others may not write; and what they may not read either."""
    paths = facts.config.paths
    folders = ("minions", "minions_pre", "minions_rejected", "minions_denied")
    for path in (paths.pki_dir, *below(paths.pki_dir, *folders), paths.cachedir, paths.sock_dir):
        yield Place(path, OTHERS_WRITE, "go-w")
    for name in facts.machine.list_files(paths.cachedir):
        path = os.path.join(paths.cachedir, name)
        if name == ".root_key" or name.startswith(("jobs.sqlite", "reports.sqlite")):
            yield Place(path, OTHERS_READ, "go-rwx")
