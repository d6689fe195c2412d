"""Copies of directories, made by ``rsync``. Answers observed on Salt 3006.30."""

from __future__ import annotations

from typing import Any

from saltlite.context import MinionContext
from saltlite.errors import FunctionError, UsageError
from saltlite.openat import refuse_misleading
from saltlite.providers import command
from saltlite.providers.command import CommandOptions

INTERNAL = ("words_of",)
"""Functions for states; nobody calls them by name."""


def rsync(
    ctx: MinionContext,
    src: str,
    dst: str,
    delete: bool = False,
    force: bool = False,
    update: bool = False,
    passwordfile: str | None = None,
    exclude: object = None,
    excludefrom: str | None = None,
    dryrun: bool = False,
    rsh: str | None = None,
    additional_opts: object = None,
    saltenv: str = "base",
) -> dict[str, Any]:
    """Copy ``src`` to ``dst``, also to or from another machine; what rsync said.

    ``salt://`` names a directory of the master's. ``exclude`` is a pattern or a list of them.

    CLI Example:

        salt '*' rsync.rsync /path/to/src /path/to/dest delete=True update=True
        salt '*' rsync.rsync salt://path/to/src /path/to/dest update=True
    """
    if not src or not dst:
        raise UsageError("src and dst cannot be empty")
    words = words_of(delete, force, update, passwordfile, exclude, excludefrom, dryrun, rsh)
    words += _check_list(additional_opts, "additional_opts")
    if not _is_elsewhere(dst):
        refuse_misleading(dst)
    if not src.startswith("salt://"):
        return _run_rsync(ctx, [*words, "--", src, dst])
    return _from_master(ctx, src, dst, words, saltenv)


def _is_elsewhere(place: str) -> bool:
    """Whether a place is another machine's: ``host:path``, ``rsync://…``."""
    return ":" in place.partition("/")[0]


def words_of(
    delete: bool,
    force: bool,
    update: bool,
    passwordfile: str | None,
    exclude: object,
    excludefrom: str | None,
    dryrun: bool,
    rsh: str | None,
) -> list[str]:
    """The options as rsync takes them."""
    flags = {"--delete": delete, "--force": force, "--update": update, "--dry-run": dryrun}
    words = ["-avz", *(flag for flag, wanted in flags.items() if wanted)]
    values = {"--rsh": rsh, "--password-file": passwordfile, "--exclude-from": excludefrom}
    words += [f"{option}={value}" for option, value in values.items() if value]
    return [*words, *(f"--exclude={each}" for each in _check_list(exclude, "exclude"))]


def _check_list(given: object, what: str) -> list[str]:
    if not given:
        return []
    if isinstance(given, str):
        return [given]
    if not isinstance(given, (list, tuple)):
        raise UsageError(f"{what} must be a text or a list")
    return [str(each) for each in given]


def _from_master(
    ctx: MinionContext, src: str, dst: str, words: list[str], saltenv: str
) -> dict[str, Any]:
    import tempfile

    source = src.rstrip("/")
    with tempfile.TemporaryDirectory(prefix="saltlite-rsync-") as place:
        got = ctx.functions.call("cp.get_dir", source, place, saltenv)
        got = got or ctx.functions.call("cp.get_file", source, f"{place}/", saltenv)
        if not got:
            raise FunctionError(f"{src} does not exist")
        inside = f"{source.rpartition('/')[2]}/" if src.endswith("/") else ""
        return _run_rsync(ctx, [*words, "--", f"{place}/{inside}", dst])


def _run_rsync(ctx: MinionContext, words: list[str]) -> dict[str, Any]:
    if ctx.host.which("rsync") is None:
        raise FunctionError("rsync is not there")
    return command.run(ctx, ["rsync", *words], CommandOptions(python_shell=False)).as_map()


def version(ctx: MinionContext) -> str:
    """The version of rsync.

    CLI Example:

        salt '*' rsync.version
    """
    if ctx.host.which("rsync") is None:
        raise FunctionError("rsync is not there")
    return ctx.host.run(["rsync", "--version"]).stdout.split()[2]


def config(ctx: MinionContext, conf_path: str = "/etc/rsyncd.conf") -> str:
    """The configuration of rsync's daemon.

    CLI Example:

        salt '*' rsync.config
    """
    text = ctx.host.read_text(conf_path)
    if text is None:
        raise FunctionError(f"{conf_path} does not exist")
    return text
