"""``_file_hash`` of large files: taken away from the workers, once for all who ask.

A worker that meets a file too large to be hashed at once hands the request to RunServer and is
free. RunServer has one child take the hash, and answers everybody who asked for it meanwhile.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from saltlite.config.master import MasterConfig
from saltlite.fileserver.server import file_server
from saltlite.master.run_requests import RunOutcome, RunRequest

HASH_HERE_BYTES: Final = 32 * 1024 * 1024
"""What a worker hashes itself: a tenth of a second."""

WITH_STATUS: Final = "hash_and_stat"
ALONE: Final = "hash"


def take_hash(config: MasterConfig, request: RunRequest) -> RunOutcome:
    """The value that a minion gets for its request: in a process that may take long."""
    path, saltenv = request.arg
    server = file_server(config, large=Path(config.paths.cachedir))
    found = server.hash_and_status(path, saltenv)
    # The file may have gone since the worker looked at it.
    if found is None:
        return RunOutcome(["", None] if request.fun == WITH_STATUS else "", True)
    hashed = {"hash_type": server.hash_type, "hsum": found[0]}
    return RunOutcome(_reply_of(request, hashed, list(found[1])), True)


def _reply_of(request: RunRequest, hashed: dict[str, str], status: list[Any]) -> Any:
    return [hashed, status] if request.fun == WITH_STATUS else hashed
