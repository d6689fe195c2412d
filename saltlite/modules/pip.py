"""Python packages: install and remove them with pip.

``bin_env`` is a virtual environment or a pip; without it the minion's own Python is meant.
Source: observed on Salt 3006.30.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.arguments import takes_options
from saltlite.core.dataclasses import dataclass
from saltlite.errors import FunctionError
from saltlite.host import Host
from saltlite.openat import is_closed_path
from saltlite.providers import command
from saltlite.providers import pip as _pip
from saltlite.providers.command import CommandOptions, Outcome
from saltlite.providers.pip import PipOptions

NOTHING = {"retcode": 0, "stdout": "No packages to install."}


@dataclass(frozen=True, slots=True, kw_only=True)
class PipCaller:
    """Which pip runs, as whom, and where."""

    bin_env: str | None = None
    user: str | None = None
    cwd: str | None = None
    env_vars: Mapping[str, object] | None = None


def _run_pip(ctx: MinionContext, caller: PipCaller, words: Sequence[str]) -> Outcome:
    """Run pip; addresses of indexes may have passwords, so nothing is logged."""
    options = CommandOptions(
        cwd=caller.cwd,
        runas=caller.user,
        python_shell=False,
        env=caller.env_vars or None,
        output_loglevel="quiet",
    )
    program = _pip.command(ctx.host, caller.bin_env)
    if caller.cwd and not caller.user and not is_closed_path(caller.cwd):
        program = _pip.not_from_here(program)
    return command.run(ctx, [*program, *words], options)


@takes_options(PipOptions)
def install(
    ctx: MinionContext,
    options: PipOptions,
    /,
    pkgs: object = None,
    requirements: object = None,
    **kwargs: Any,
) -> dict[str, Any]:
    """Install packages, or those of files with requirements; what pip said.

    ``pkgs`` is a list or a text parted by commas; ``requirements`` may be on the master
    (``salt://``). ``extra_args`` is a list of words and ``{option: value}``. Options that pip has
    dropped long ago (``use_wheel``, ``allow_external`` and the like) have no effect.

    CLI Example:

        salt '*' pip.install pkg1,pkg2
        salt '*' pip.install requirements=/path/to/requirements.txt bin_env=/path/to/venv
    """
    packages = _pip.names_of(pkgs)
    editables = _pip.names_of(options.editable)
    words = _pip.install_words(options)
    with _fetch_requirements(ctx, requirements, options.saltenv, options.user) as files:
        if not (packages or editables or files):
            return dict(NOTHING)
        for file in files:
            words += ["--requirement", file]
        for each in editables:
            words += ["--editable", each]
        if not editables:
            words += packages
        words += _split_extra_args(options.extra_args)
        caller = PipCaller(
            bin_env=options.bin_env,
            user=options.user,
            cwd=options.cwd,
            env_vars=options.env_vars,
        )
        done = _run_pip(ctx, caller, ["install", *words])
    return done.as_map()


@contextlib.contextmanager
def _fetch_requirements(
    ctx: MinionContext, requirements: object, saltenv: str, user: str | None
) -> Iterator[list[str]]:
    """Yield the files with requirements on this machine; those of the master are fetched.

    Another user cannot reach the minion's cache: he gets copies, which are gone afterwards.
    """
    with contextlib.ExitStack() as copies:
        found = []
        for each in _pip.names_of(requirements):
            path = each
            if each.startswith("salt://"):
                path = str(ctx.functions.call("cp.cache_file", each, saltenv) or "")
                data = ctx.host.read_bytes(path) if path else None
                if data is None:
                    raise FunctionError(f"pip requirements file '{each}' not found")
                if user:
                    path = copies.enter_context(_copy_for(ctx.host, data, user))
            found.append(path)
        yield found


def _split_extra_args(extra_args: Any) -> list[str]:
    words: list[str] = []
    for each in [extra_args] if isinstance(extra_args, str) else extra_args or []:
        if isinstance(each, Mapping):
            for name, value in each.items():
                words += [str(name), str(value)]
        else:
            words.append(str(each))
    return words


def _copy_for(host: Host, data: bytes, user: str) -> contextlib.AbstractContextManager[str]:
    try:
        host.account(user)
    except LookupError:
        raise FunctionError(f"User '{user}' is not available") from None
    return host.private_file(data, owner=user, suffix=".txt")


@takes_options(PipCaller, "bin_env log proxy timeout user cwd saltenv use_vt extra_args")
def uninstall(
    ctx: MinionContext,
    caller: PipCaller,
    /,
    pkgs: object = None,
    requirements: object = None,
    log: str | None = None,
    proxy: str | None = None,
    timeout: object = None,
    saltenv: str = "base",
    use_vt: bool = False,
    extra_args: object = None,
) -> dict[str, Any]:
    """Remove packages, or those of files with requirements; what pip said.

    CLI Example:

        salt '*' pip.uninstall pkg1,pkg2
    """
    _pip.check_timeout(timeout)
    words = ["uninstall", "-y"]
    for flag, value in (("--log", log), ("--proxy", proxy), ("--timeout", timeout)):
        words += [flag, str(value)] if value else []
    words += _pip.names_of(pkgs)
    with _fetch_requirements(ctx, requirements, saltenv, caller.user) as files:
        for file in files:
            words += ["--requirement", file]
        words += _split_extra_args(extra_args)
        return _run_pip(ctx, caller, words).as_map()


@takes_options(PipCaller, "bin_env user cwd use_vt env_vars")
def freeze(
    ctx: MinionContext, caller: PipCaller, /, use_vt: bool = False, **kwargs: Any
) -> list[str]:
    """The installed packages as lines of a file with requirements; pip itself among them.

    CLI Example:

        salt '*' pip.freeze bin_env=/home/code/path/to/virtualenv
    """
    return _freeze_packages(ctx, caller)


def _freeze_packages(ctx: MinionContext, caller: PipCaller) -> list[str]:
    done = _run_pip(ctx, caller, ["freeze", "--all"])
    if done.retcode != 0:
        raise FunctionError(done.stderr)
    return done.stdout.splitlines()


@takes_options(PipCaller)
def list_(
    ctx: MinionContext, caller: PipCaller, /, prefix: str | None = None, **kwargs: Any
) -> dict[str, str]:
    """The installed packages and their versions; those whose name begins with ``prefix``.

    CLI Example:

        salt '*' pip.list salt
    """
    return _list_packages(ctx, caller, prefix)


def _list_packages(
    ctx: MinionContext, caller: PipCaller, prefix: str | None = None
) -> dict[str, str]:
    done = _run_pip(ctx, caller, ["list", "--format=json"])
    if done.retcode != 0:
        raise FunctionError(done.stderr)
    return _pip.parse_listed(done.stdout, prefix)


@takes_options(PipCaller)
def list_freeze_parse(
    ctx: MinionContext, caller: PipCaller, /, prefix: str | None = None, **kwargs: Any
) -> dict[str, str]:
    """As ``pip.list``, from what ``pip.freeze`` tells.

    CLI Example:

        salt '*' pip.list_freeze_parse salt
    """
    lines = _freeze_packages(ctx, caller)
    return _pip.parse_freeze(lines, prefix)


@takes_options(PipCaller, without="env_vars")
def is_installed(ctx: MinionContext, caller: PipCaller, /, pkgname: str) -> bool:
    """Whether a package is installed; spellings of its name do not matter.

    CLI Example:

        salt '*' pip.is_installed salt
    """
    wanted = _pip.normalize_name(str(pkgname))
    names = _list_packages(ctx, caller)
    return any(_pip.normalize_name(name) == wanted for name in names)


@takes_options(PipCaller, "bin_env cwd user")
def version(ctx: MinionContext, caller: PipCaller, /) -> str | None:
    """The version of pip.

    CLI Example:

        salt '*' pip.version
    """
    done = _run_pip(ctx, caller, ["--version"])
    found = _pip.parse_version(done.stdout)
    if done.retcode != 0 or found is None:
        raise FunctionError(done.stderr or done.stdout)
    return found


@takes_options(PipCaller, without="env_vars")
def list_upgrades(ctx: MinionContext, caller: PipCaller, /) -> dict[str, str]:
    """The packages that are not the newest, and which version is: ``2.0 [wheel]``.

    CLI Example:

        salt '*' pip.list_upgrades
    """
    return _list_upgrades(ctx, caller)


def _list_upgrades(ctx: MinionContext, caller: PipCaller) -> dict[str, str]:
    done = _run_pip(ctx, caller, ["list", "--outdated", "--format=json"])
    if done.retcode != 0:
        raise FunctionError(done.stderr or done.stdout)
    return _pip.parse_outdated(done.stdout)


@takes_options(PipCaller, without="env_vars")
def upgrade_available(ctx: MinionContext, caller: PipCaller, /, pkg: str) -> bool:
    """Whether there is a newer version of a package.

    CLI Example:

        salt '*' pip.upgrade_available <package name>
    """
    return pkg in _list_upgrades(ctx, caller)


@takes_options(PipCaller, "bin_env user cwd use_vt")
def upgrade(ctx: MinionContext, caller: PipCaller, /, use_vt: bool = False) -> dict[str, Any]:
    """Bring all packages up to date: ``{"changes", "result", "comment"}``.

    CLI Example:

        salt '*' pip.upgrade
    """
    before = _list_packages(ctx, caller)
    comments = []
    for name in _list_upgrades(ctx, caller):
        done = _run_pip(ctx, caller, ["install", "-U", name])
        comments += [done.stderr or done.stdout] if done.retcode != 0 else []
    after = _list_packages(ctx, caller)
    changes = {
        name: {"old": before.get(name, ""), "new": after.get(name, "")}
        for name in {**before, **after}
        if before.get(name) != after.get(name)
    }
    return {"changes": changes, "result": not comments, "comment": "\n".join(comments)}


@takes_options(
    PipCaller, "bin_env include_alpha include_beta include_rc user cwd index_url extra_index_url"
)
def list_all_versions(
    ctx: MinionContext,
    caller: PipCaller,
    /,
    pkg: str,
    include_alpha: bool = False,
    include_beta: bool = False,
    include_rc: bool = False,
    index_url: str | None = None,
    extra_index_url: str | None = None,
) -> list[str]:
    """All versions of a package that the index has, the oldest first.

    CLI Example:

        salt '*' pip.list_all_versions <package name>
    """
    words = ["install", f"{pkg}==9999999999999"]
    words += ["--index-url", index_url] if index_url else []
    words += ["--extra-index-url", extra_index_url] if extra_index_url else []
    done = _run_pip(ctx, caller, words)
    _, found, rest = f"{done.stdout}\n{done.stderr}".partition("(from versions: ")
    versions = [each.strip() for each in rest.partition(")")[0].split(",")] if found else []
    left_out = "a" * (not include_alpha) + "b" * (not include_beta) + "c" * (not include_rc)
    return [
        each
        for each in versions
        if each and each != "none" and not set(each.replace("rc", "c")) & set(left_out)
    ]
