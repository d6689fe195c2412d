"""Files of packages that were got, in the cache of apt, dnf, yum and zypper."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from saltlite.errors import FunctionUnavailable
from saltlite.providers.pkg import provider
from saltlite.providers.pkg.tools import ask

if TYPE_CHECKING:
    from saltlite.context import MinionContext

CACHES = ("var/cache/dnf", "var/cache/libdnf5", "var/cache/yum")
ZYPPER_CACHES = ("var/cache/zypp/packages",)
DETAILS = ("path", "size", "creation_date_time_t", "creation_date_time")
"""What is told of a file."""

FORMAT = "%{NAME}\x1f%{EPOCH}\x1f%{VERSION}\x1f%{RELEASE}\x1f%{ARCH}\n"


def list_downloaded(ctx: MinionContext, root: str | None = None) -> dict[str, Any]:
    """Name, version, and of each file its path, size in bytes and time of creation.

    Raises:
        FunctionUnavailable: this package manager does not tell.
    """
    from saltlite.providers.pkg import apt_files
    from saltlite.providers.pkg.apt import Apt
    from saltlite.providers.pkg.rpm import Rpm
    from saltlite.providers.pkg.zypper import Zypper

    found = provider(ctx)
    if isinstance(found, Apt):
        return apt_files.list_downloaded(ctx, root or "/")
    if not isinstance(found, Rpm):
        raise FunctionUnavailable("pkg.list_downloaded")
    caches = ZYPPER_CACHES if isinstance(found, Zypper) else CACHES
    return _of_rpm(ctx, list(_walk_files(root or "/", caches)))


def changes(
    before: Mapping[str, Mapping[str, object]], after: Mapping[str, Mapping[str, object]]
) -> dict[str, Any]:
    """The packages with other files in the cache than before, in Salt's form."""
    return {
        name: {"old": dict(before.get(name, {})) or "", "new": dict(files)}
        for name, files in after.items()
        if files != before.get(name)
    }


def tells_files(ctx: MinionContext) -> bool:
    """Whether the files that were got count as changes; with apt they do not, as in Salt."""
    from saltlite.providers.pkg.rpm import Rpm

    return isinstance(provider(ctx), Rpm)


def _walk_files(root: str, caches: Sequence[str]) -> Iterator[str]:
    for cache in caches:
        for directory, _, names in os.walk(os.path.join(root, cache)):
            yield from (os.path.join(directory, name) for name in names if name.endswith(".rpm"))


def _of_rpm(ctx: MinionContext, paths: Sequence[str]) -> dict[str, Any]:
    from saltlite.providers.pkg import rpm

    native = str(ctx.grains.get("osarch") or "")
    found: dict[str, Any] = {}
    for path, line in zip(paths, _read_headers(ctx, paths), strict=True):
        fields = line.split("\x1f")
        if len(fields) == 5:
            name = rpm.qualify_name(fields[0], fields[4], native)
            version = rpm.join_version(*fields[1:4])
            found.setdefault(name, {})[version] = _file_details(path)
    return found


def _read_headers(ctx: MinionContext, paths: Sequence[str]) -> list[str]:
    """What rpm tells of each file, ``""`` of one that is none; one command unless there is such."""
    if not paths:
        return []
    lines = ask(ctx, ["rpm", "-qp", "--queryformat", FORMAT, *paths]).stdout.splitlines()
    if len(lines) == len(paths):
        return lines
    if len(paths) == 1:
        return [""]
    return [line for path in paths for line in _read_headers(ctx, [path])]


def _file_details(path: str) -> dict[str, Any]:
    status = os.stat(path)
    created = datetime.fromtimestamp(int(status.st_ctime), timezone.utc).astimezone()
    return {
        "path": path,
        "size": status.st_size,
        "creation_date_time_t": int(status.st_ctime),
        "creation_date_time": created.replace(tzinfo=None).isoformat(),
    }
