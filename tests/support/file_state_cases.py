"""Cases of file states: the directory that each begins with, and texts with ``{tmp}`` for it."""

from __future__ import annotations

import io
import os
import re
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

RUNS = (True, False, False, True)
"""A test, twice for real, a test: what each case is called with."""

BETWEEN = 2
"""Before which of them ``then`` of a case is made."""


WEB = "{web}"
CACHE = "var/cache/salt/minion"
FAULT = "An exception occurred in this state"


def prepare(tmp: Path, world: dict[str, Any], case: dict[str, Any]) -> None:
    """Make the tree of the world, and what the case has on top of it."""
    tmp.mkdir(parents=True, exist_ok=True)
    for one in [*world["setup"], *case.get("setup", [])]:
        _make(tmp, one)


def _make(tmp: Path, one: dict[str, Any]) -> None:
    kind = next(key for key in ("write", "mkdir", "link", "tar", "zip", "remove") if key in one)
    path = tmp / one[kind]
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind in ("tar", "zip"):
        (_make_tar if kind == "tar" else _make_zip)(path, one["of"])
    elif kind == "remove":
        path.unlink()
    elif kind == "mkdir":
        path.mkdir(exist_ok=True)
    elif kind == "link":
        os.symlink(filled(one["to"], tmp), path)
    else:
        path.write_bytes(filled(one.get("text", ""), tmp).encode())
    if kind not in ("link", "remove"):
        path.chmod(int(str(one.get("mode", "755" if kind == "mkdir" else "644")), 8))


def _make_tar(path: Path, members: dict[str, Any]) -> None:
    """A tar file that has the same hash each time; a member is a text, or ``{link: target}``."""
    with tarfile.open(path, "w", format=tarfile.GNU_FORMAT) as packed:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.mtime = 1_000_000_000
            data = content.encode() if isinstance(content, str) else b""
            member.mode, member.size = (0o755 if name.endswith("/") else 0o640), len(data)
            if name.endswith("/"):
                member.type = tarfile.DIRTYPE
            elif isinstance(content, dict):
                member.type, member.linkname = tarfile.SYMTYPE, content["link"]
            packed.addfile(member, io.BytesIO(data))


def _make_zip(path: Path, members: dict[str, str]) -> None:
    with zipfile.ZipFile(path, "w") as packed:
        for name, content in members.items():
            member = zipfile.ZipInfo(name, (2001, 9, 9, 1, 46, 40))
            member.create_system = 3
            member.external_attr = (0o40755 if name.endswith("/") else 0o100750) << 16
            packed.writestr(member, content)


@contextmanager
def served(tmp: Path) -> Iterator[str]:
    """The address of a web server with the files in ``srv``."""

    class Quiet(SimpleHTTPRequestHandler):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args, directory=str(tmp / "srv"))

        def log_message(self, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def asks_web(case: dict[str, Any]) -> bool:
    """Whether a case needs the web server."""
    return WEB in repr(case["args"])


def of_root(case: dict[str, Any]) -> bool:
    """Whether it gives files away, makes devices, or tells that something is of root."""
    gives_away = re.search(r"'(?:user|group|owner)'", repr(case["args"]))
    return bool(gives_away or "root" in repr(case["answers"]) or case.get("fun") == "file.mknod")


def left(tmp: Path) -> dict[str, str]:
    """What is in the directory: mode, owner and content (a link's target) by path; no ``srv``.

    Whoever asks is 0, as root was when the cases were recorded.
    """
    found = {}
    for path in sorted(tmp.rglob("*")):
        name = str(path.relative_to(tmp))
        if name.partition("/")[0] in ("srv", "local"):
            continue
        status = path.lstat()
        user = 0 if status.st_uid == os.geteuid() else status.st_uid
        group = 0 if status.st_gid == os.getegid() else status.st_gid
        said = f"{status.st_mode:o} {user}:{group}"
        if path.is_symlink():
            said = f"-> {masked(os.readlink(path), tmp)}"
        elif path.is_file():
            said += masked(f" {path.read_bytes()!r}", tmp)
        found[name] = said
    return found


def filled(value: Any, tmp: Path, web: str = WEB) -> Any:
    """The value with the directory's path and the server's address in it."""
    return _replaced(_replaced(value, "{tmp}", str(tmp)), WEB, web)


def masked(value: Any, tmp: Path, web: str = WEB) -> Any:
    """The value without it, and without what differs from one run to the next."""
    value = _replaced(_replaced(value, str(tmp), "{tmp}"), web, WEB)
    return _steady(_replaced(value, str(tmp.parent / CACHE), "{cache}"))


def _steady(value: Any) -> Any:
    """Neither tracebacks, nor process ids, nor names of scratch files, which ``patch`` tells."""
    if isinstance(value, str):
        if value.startswith(FAULT):
            return FAULT
        value = value.replace("checking file", "patching file")
        return re.sub(r"\S+__salt\.tmp\.\w+ \(read from ([^)]*)\)", r"\1", value)
    if isinstance(value, dict):
        return {key: 0 if key == "pid" else _steady(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_steady(item) for item in value]
    return value


def _replaced(value: Any, old: str, new: str) -> Any:
    if isinstance(value, str):
        return value.replace(old, new)
    if isinstance(value, dict):
        return {_replaced(key, old, new): _replaced(item, old, new) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_replaced(item, old, new) for item in value]
    return value
