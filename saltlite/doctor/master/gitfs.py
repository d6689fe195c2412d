"""Whether the git repositories that files come from can be reached."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from saltlite.doctor.finding import Finding, error, unseen
from saltlite.doctor.master.facts import MasterFacts
from saltlite.errors import SaltliteError
from saltlite.fileserver.gitfs import remotes
from saltlite.fileserver.gitrepo import Repository

NAME: Final = "gitfs"
ABOUT: Final = "whether each of `gitfs_remotes` answers; nothing is fetched"
LIMIT_S: Final = 60.0

ANSWER_S: Final = 10.0


def look(facts: MasterFacts) -> Iterator[Finding]:
    """Ask each remote for its names."""
    config = facts.config
    if not {"git", "gitfs"} & set(config.files.fileserver_backend):
        if config.extra.get("gitfs_remotes"):
            yield error(
                "gitfs_remotes are set, but no files come from them",
                str(config.source.get("gitfs_remotes", "gitfs_remotes")),
                "add gitfs to fileserver_backend",
            )
        else:
            yield unseen("no files come from git")
        return
    for remote in remotes(config.extra, Path(config.paths.cachedir) / "gitfs"):
        yield from _probe(remote.repository, facts.user)


def _probe(repository: Repository, user: str) -> Iterator[Finding]:
    try:
        repository.probe(ANSWER_S)
    except SaltliteError as wrong:
        yield error(
            f"the repository cannot be reached: {wrong}",
            repository.public_url,
            f"as {user}: git ls-remote {repository.public_url}",
        )
