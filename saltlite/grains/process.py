"""The process that looks, and the program it runs."""

from __future__ import annotations

import locale
import os
import sys
import time
from typing import Any, Final

from saltlite.version import SALT_COMPATIBLE

ZMQ_VERSION: Final = "zmqversion"


def read() -> dict[str, Any]:
    """The grains of this process."""
    path = os.environ.get("PATH", "")
    return {
        "cwd": _working_directory(),
        "pid": os.getpid(),
        "ps": "ps -efHww",
        "shell": os.environ.get("SHELL", "/bin/sh"),
        "path": path,
        "systempath": path.split(os.pathsep),
        **_user_and_group(),
        **_describe_python(),
        "saltpath": os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
        "saltversion": SALT_COMPATIBLE,
        "saltversioninfo": [int(part) for part in SALT_COMPATIBLE.split(".")],
        "locale_info": locale_info(dict(os.environ)),
    }


def _working_directory() -> str | None:
    try:
        return os.getcwd()
    except OSError:
        return None


def _user_and_group() -> dict[str, Any]:
    import grp
    import pwd

    uid, gid = os.geteuid(), os.getegid()
    try:
        username: str | None = pwd.getpwuid(uid).pw_name
    except KeyError:
        username = None
    try:
        groupname: str | None = grp.getgrgid(gid).gr_name
    except KeyError:
        groupname = None
    return {"uid": uid, "gid": gid, "username": username, "groupname": groupname}


def _describe_python() -> dict[str, Any]:
    return {
        "pythonversion": list(sys.version_info),
        "pythonexecutable": sys.executable,
        "pythonpath": list(sys.path),
    }


def zmq_version() -> dict[str, str]:
    """The one grain that takes a library: loading it is an eighth of a short ``salt-call``."""
    import zmq

    return {ZMQ_VERSION: zmq.zmq_version()}


def locale_info(environ: dict[str, str]) -> dict[str, Any]:
    """The language and encoding that the environment asks for, and the time zone."""
    language, encoding = default_locale(environ)
    return {
        "defaultlanguage": language,
        "defaultencoding": encoding,
        "detectedencoding": sys.getfilesystemencoding(),
        "timezone": time.tzname[time.localtime().tm_isdst > 0],
    }


def default_locale(environ: dict[str, str]) -> tuple[str | None, str | None]:
    """Language and encoding; both ``None`` for the C locale."""
    names = (environ.get(name) for name in ("LC_ALL", "LC_CTYPE", "LANG", "LANGUAGE"))
    wanted = next((name for name in names if name), "C")
    language, _, encoding = locale.normalize(wanted.split(":")[0]).partition(".")
    if language in ("C", "POSIX"):
        return None, None
    return language, encoding or None
