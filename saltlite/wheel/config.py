"""``config.*``: the master's configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from saltlite import disk
from saltlite.config.opts import flat_opts, mask_secrets
from saltlite.core.lazyregex import regex
from saltlite.runner_context import RunnerContext
from saltlite.runners.test import SECRETS

LOCK = ".config.lock"
"""Held in the cache directory from the reading of the main file to its writing."""

_FILE_NAME = regex(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}")
_OPTION = regex(r"[A-Za-z_][A-Za-z0-9_.-]{0,127}")


def values(ctx: RunnerContext) -> dict[str, Any]:
    """Return the master's options, without its secrets.

    CLI Example:

        wheel.cmd("config.values")
    """
    return mask_secrets({n: v for n, v in flat_opts(ctx.config).items() if n not in SECRETS})


def apply(ctx: RunnerContext, key: str, value: object) -> None:
    """Set one option in the master's main file; it counts from the master's next start.

    A line of the option is replaced, comments stay. Where the option takes several lines, or stands
    in a file that is included, nothing is done and an error raised.

    CLI Example:

        wheel.cmd("config.apply", ["timeout", 15])
    """
    from saltlite.config.yaml import dump

    if not _OPTION.fullmatch(str(key)):
        raise ValueError(f"this cannot be an option: {key!r}")
    path = Path(ctx.config.paths.conf_file)
    nested = isinstance(value, (dict, list))
    line = f"{key}: {dump(value, flow=True)}" if nested else dump({str(key): value})
    cachedir = Path(ctx.config.paths.cachedir)
    disk.make_dir(cachedir)
    with disk.hold_lock_slot(cachedir / LOCK, 0):
        text = (disk.read_regular(path) or b"").decode()
        disk.write_file(path, _with_option(text, str(key), line).encode(), mode=0o640)


def update_config(ctx: RunnerContext, file_name: str, yaml_contents: object) -> str:
    """Write a file of options beside the main one, ``master.d/<name>.conf``.

    ``yaml_contents`` is a map, or its text. It counts from the master's next start.

    CLI Example:

        wheel.cmd("config.update_config", ["gui", {"id": 1}])
    """
    from saltlite.config.yaml import dump, load

    name = str(file_name).removesuffix(".conf")
    if not _FILE_NAME.fullmatch(name):
        raise ValueError(f"this cannot be the name of a file: {file_name!r}")
    content = load(yaml_contents, name) if isinstance(yaml_contents, str) else yaml_contents
    if not isinstance(content, dict):
        raise ValueError("options are a map")
    folder = (Path(ctx.config.paths.conf_file).parent / ctx.config.paths.default_include).parent
    disk.make_dir(folder)
    path = disk.child(folder, f"{name}.conf")
    disk.write_file(path, dump(content).encode(), mode=0o640)
    return f"Wrote {path.name}"


def _with_option(text: str, key: str, line: str) -> str:
    lines = text.splitlines(keepends=True)
    places = [number for number, one in enumerate(lines) if one.startswith(f"{key}:")]
    if not places:
        gap = "" if not text or text.endswith("\n") else "\n"
        return f"{text}{gap}{line}"
    at = places[0]
    follows = lines[at + 1] if at + 1 < len(lines) else ""
    if follows.startswith((" ", "-")):
        raise ValueError(f"{key} takes several lines in the file; change it there")
    return "".join([*lines[:at], line, *lines[at + 1 :]])
