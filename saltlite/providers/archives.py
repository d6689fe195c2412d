"""What is in archives, and how ZIP files are made and unpacked, by Python's own libraries.

Called by ``archive.*`` and the archive states. Nothing that an archive holds is written outside the
directory it is unpacked into: neither by its name nor through a link.
"""

from __future__ import annotations

import contextlib
import os
import stat
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from saltlite import disk
from saltlite.core.dataclasses import dataclass, field
from saltlite.errors import FunctionError
from saltlite.providers import staging

if TYPE_CHECKING:
    import zipfile

ENDINGS = {
    "tar": (
        ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tbz", ".tar.xz", ".txz", ".tar.lzma",
        ".tlz", ".tar.zst",
    ),
    "zip": (".zip",),
    "rar": (".rar",),
}  # fmt: skip
"""How the names of archives end, by Salt's ``archive_format``."""

LINK_LIMIT_BYTES = 4096

TRIMMED_TO = 100
"""Names that are told of an archive where the list is to be cut."""


@dataclass(slots=True)
class Contents:
    """The members of an archive; directories end in ``/``."""

    dirs: set[str] = field(default_factory=set)
    files: set[str] = field(default_factory=set)
    links: set[str] = field(default_factory=set)

    def strip_components(self, components: int) -> Contents:
        """Without the first ``components`` parts of each path; what has no more is left out."""
        return Contents(
            *(
                {short for name in names if (short := "/".join(name.split("/")[components:]))}
                for names in (self.dirs, self.files, self.links)
            )
        )

    def names(self) -> list[str]:
        """All members, sorted."""
        return sorted(self.dirs | self.files | self.links)

    def verbose(self) -> dict[str, list[str]]:
        """As ``archive.list`` shows them with ``verbose``."""
        return {
            "dirs": sorted(self.dirs),
            "files": sorted(self.files),
            "links": sorted(self.links),
            "top_level_dirs": self._top_dirs(),
            "top_level_files": sorted(name for name in self.files if "/" not in name),
            "top_level_links": sorted(name for name in self.links if "/" not in name),
        }

    def _top_dirs(self) -> list[str]:
        """Those that are members, or else the one that everything is in.

        Source: observed on Salt 3006.30.
        """
        found = sorted(name for name in self.dirs if name.count("/") == 1)
        first = {name.split("/")[0] for name in self.names()}
        if found or len(first) != 1 or first & (self.files | self.links):
            return found
        return [f"{first.pop()}/"]


def format_of(name: str) -> str | None:
    """The kind of an archive by its name: ``tar``, ``zip``, ``rar`` or ``None``."""
    lower = name.lower()
    return next((kind for kind, ends in ENDINGS.items() if lower.endswith(ends)), None)


_LAST_TAR: dict[tuple[int, ...], Contents] = {}
"""What is in the file that was read last: a state looks twice, and others may unpack it, too."""


def tar_contents(path: str) -> Contents | None:
    """What is in a tar file, ``None`` if Python cannot read it; raises OSError."""
    with open(path, "rb") as file:
        status = os.fstat(file.fileno())
        key = disk.identify_file(status)
        known = _LAST_TAR.get(key)
        if known is not None:
            return known
        is_sure = disk.is_settled(status)
        found = _read_tar(file)
        _LAST_TAR.clear()
        if found and is_sure and disk.identify_file(os.fstat(file.fileno())) == key:
            _LAST_TAR[key] = found
    return found


def _read_tar(file: BinaryIO) -> Contents | None:
    import tarfile

    found = Contents()
    try:
        with tarfile.open(fileobj=file, mode="r:*") as archive:
            for member in archive:
                if member.isdir():
                    found.dirs.add(member.name.rstrip("/") + "/")
                else:
                    (found.links if member.issym() else found.files).add(member.name)
    except (tarfile.TarError, EOFError, zlib.error):
        return None
    return found


def contents_of_names(lines: Iterable[str]) -> Contents:
    """What is in an archive by a listing of names only."""
    names = {line for line in lines if line}
    dirs = {name for name in names if name.endswith("/")}
    return Contents(dirs, names - dirs)


def contents_of_listing(lines: Iterable[str]) -> Contents:
    """What is in an archive by what ``tar tv --numeric-owner`` says of it."""
    found = Contents()
    for parts in (line.split(maxsplit=5) for line in lines):
        if len(parts) < 6 or not parts[5].strip("/"):
            continue  # the rest of a name with a line feed; what is stripped away
        mode, name = parts[0], parts[5]
        if mode.startswith("d"):
            found.dirs.add(f"{name.rstrip('/')}/")
        elif mode.startswith("l"):
            found.links.add(name.partition(" -> ")[0])
        else:
            found.files.add(name.partition(" link to ")[0])
    return found


def zip_contents(path: str) -> Contents:
    """What is in a ZIP file, directories that only its paths name among it.

    Raises:
        FunctionError: it is no ZIP file.
        OSError: it cannot be read.
    """
    found = Contents()
    with _open_zip(path) as archive:
        for info in archive.infolist():
            if info.is_dir():
                found.dirs.add(info.filename)
                continue
            (found.links if _is_link(info) else found.files).add(info.filename)
            parent = info.filename.rpartition("/")[0]
            if parent:
                found.dirs.add(f"{parent}/")
    return found


def is_encrypted(path: str) -> bool:
    """Whether any member of a ZIP file needs a password; raises as :func:`zip_contents`."""
    with _open_zip(path) as archive:
        return any(info.flag_bits & 1 for info in archive.infolist())


@contextlib.contextmanager
def _open_zip(path: str) -> Iterator[zipfile.ZipFile]:
    import zipfile

    try:
        archive = zipfile.ZipFile(path)
    except zipfile.BadZipFile as error:
        raise FunctionError(str(error)) from error
    with archive:
        yield archive


def _is_link(info: zipfile.ZipInfo) -> bool:
    return stat.S_ISLNK(info.external_attr >> 16)


def unzip(
    path: str,
    dest: str,
    *,
    excludes: Sequence[str] = (),
    password: str | None = None,
    modes: bool = True,
) -> list[str]:
    """Unpack a ZIP file; the names of its members but ``excludes``, in its order.

    Raises:
        FunctionError: it is no ZIP file, it needs another password, or a member's place is outside.
        OSError: it cannot be read, or the disk does not take it.
    """
    import zipfile

    with _open_zip(path) as archive:
        wanted = [info for info in archive.infolist() if info.filename not in excludes]
        links = [info for info in wanted if _is_link(info)]
        secret = password.encode() if password else None
        names = [info.filename for info in wanted]
        for name in names:
            _refuse_outside(dest, name, dest)
        try:
            with staging.room(dest, names) as folder:
                for info in wanted:
                    if not _is_link(info):
                        _refuse_outside(folder, info.filename, dest)
                        _extract_member(archive, info, folder, secret, modes)
                for info in links:  # last, so that nothing is written through them
                    _refuse_outside(folder, info.filename, dest)
                    _extract_link(archive, info, folder, secret)
        except (RuntimeError, zipfile.BadZipFile, NotImplementedError, zlib.error) as error:
            raise FunctionError(str(error)) from error
        return names


def _refuse_outside(dest: str, name: str, shown: str) -> None:
    parts = name.split("/")
    place = os.path.realpath(os.path.join(dest, os.path.dirname(name)))
    top = os.path.realpath(dest)
    if name.startswith("/") or ".." in parts or not f"{place}/".startswith(f"{top.rstrip('/')}/"):
        raise FunctionError(f"{name} would be written outside of {shown}")


def _extract_member(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, dest: str, secret: bytes | None, modes: bool
) -> None:
    place = os.path.join(dest, info.filename)
    if os.path.islink(place):
        os.unlink(place)
    archive.extract(info, dest, secret)
    mode = stat.S_IMODE(info.external_attr >> 16)
    if modes and mode:
        os.chmod(place, mode)


def _extract_link(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, dest: str, secret: bytes | None
) -> None:
    place = Path(dest, info.filename)
    target = archive.read(info, secret)
    if len(target) > LINK_LIMIT_BYTES:
        raise FunctionError(f"{info.filename} is no link")
    place.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileNotFoundError):
        place.unlink()
    place.symlink_to(os.fsdecode(target))


def make_zip(path: str, sources: Sequence[str], cwd: str | None, *, large: bool) -> list[str]:
    """Put files and directories into a new ZIP file; the names of its members.

    Names are relative to ``cwd`` where that is given, else the whole paths without their first
    ``/``. The file takes the place of an older one when it is whole. ``large`` allows more than
    2 GiB.

    Raises:
        OSError: a source cannot be read, or the disk does not take it.
        FunctionError: it would become too large.
    """
    import zipfile

    temporary = f"{path}.{os.getpid()}.tmp"
    names = []
    try:
        kind = zipfile.ZIP_DEFLATED
        with zipfile.ZipFile(temporary, "x", kind, allowZip64=large) as archive:
            for source in sources:
                for place in _walk_source(source):
                    name = os.path.relpath(place, cwd) if cwd else place.lstrip("/")
                    name += "/" if os.path.isdir(place) else ""
                    archive.write(place, name)
                    names.append(name)
        os.rename(temporary, path)
    except zipfile.LargeZipFile as error:
        raise FunctionError(f"{error}; use zip64=True") from error
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
    return names


def _walk_source(source: str) -> Iterator[str]:
    yield source
    if os.path.isdir(source) and not os.path.islink(source):
        for folder, folders, files in os.walk(source):
            folders.sort()
            yield from (os.path.join(folder, name) for name in sorted(folders))
            yield from (os.path.join(folder, name) for name in sorted(files))
