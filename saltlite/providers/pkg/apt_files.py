"""Package files in apt's cache, and what runs with files that an upgrade replaced."""

from __future__ import annotations

import os
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from saltlite.errors import CommandError, FunctionError
from saltlite.providers.pkg.tools import ask

if TYPE_CHECKING:
    from saltlite.context import MinionContext

ARCHIVES = "var/cache/apt/archives"


def list_downloaded(ctx: MinionContext, root: str) -> dict[str, Any]:
    """Name, version, and of each file its path, size in bytes and time of creation."""
    directory = os.path.join(root, ARCHIVES)
    found: dict[str, Any] = {}
    for file in ctx.host.names(directory):
        words = file.removesuffix(".deb").split("_")
        if not file.endswith(".deb") or len(words) != 3:
            continue
        path = os.path.join(directory, file)
        status = os.stat(path)
        created = datetime.fromtimestamp(int(status.st_ctime), timezone.utc).astimezone()
        found.setdefault(words[0], {})[unquote(words[1])] = {
            "path": path,
            "size": status.st_size,
            "creation_date_time_t": int(status.st_ctime),
            "creation_date_time": created.replace(tzinfo=None).isoformat(),
        }
    return found


def services_need_restart(ctx: MinionContext) -> list[str]:
    """The services that ``checkrestart`` names.

    Raises:
        CommandError: it is not there.
    """
    if ctx.host.which("checkrestart") is None:
        raise CommandError(
            ["checkrestart"],
            None,
            "'checkrestart' is needed. It is part of the 'debian-goodies' package which can be"
            " installed from official repositories.",
        )
    done = ask(ctx, ["checkrestart", "--machine", "--package"])
    if done.exit_code != 0 and not done.stdout:
        raise FunctionError(done.stderr.strip())
    return parse_checkrestart(done.stdout)


def parse_checkrestart(text: str) -> list[str]:
    """The services in lines ``SERVICE:name,pid,…``."""
    services = set()
    for line in text.splitlines():
        kind, _, rest = line.partition(":")
        if kind == "SERVICE" and rest:
            services.add(rest.split(",")[0])
    return sorted(services)
