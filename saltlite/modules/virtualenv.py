"""Virtual environments of Python: make them, look into them.

Named ``virtualenv`` as in Salt; ``venv`` makes them unless ``venv_bin`` (an argument, or the
minion's option) names another program. Source: observed on Salt 3006.30.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.numbers import is_digits
from saltlite.errors import CommandError, FunctionError
from saltlite.host import Host
from saltlite.openat import refuse_misleading
from saltlite.providers import command
from saltlite.providers.command import CommandOptions

log = logging.getLogger(__name__)

NOT_OF_VENV = {
    "python": "`python`(`--python`)",
    "extra_search_dir": "`extra_search_dir`(`--extra-search-dir`)",
    "never_download": "`never_download`(`--never-download`)",
}
NOT_OF_VIRTUALENV = {"upgrade": "`upgrade`(`--upgrade`)", "symlinks": "`symlinks`(`--symlinks`)"}


def create(
    ctx: MinionContext,
    path: str,
    venv_bin: str | None = None,
    system_site_packages: bool = False,
    distribute: bool = False,
    clear: bool = False,
    python: str | None = None,
    extra_search_dir: object = None,
    never_download: bool | None = None,
    prompt: str | None = None,
    pip: bool = False,
    symlinks: bool | None = None,
    upgrade: bool | None = None,
    user: str | None = None,
    use_vt: bool = False,
    saltenv: str = "base",
    **kwargs: Any,
) -> dict[str, Any]:
    """Make a virtual environment; what the program said.

    ``distribute`` and ``pip`` are of old times: environments have pip.

    CLI Example:

        salt '*' virtualenv.create /path/to/new/virtualenv
        salt '*' virtualenv.create /path/to/venv venv_bin=venv system_site_packages=True
    """
    given = {
        "extra_search_dir": extra_search_dir,
        "never_download": never_download,
        "symlinks": symlinks,
        "upgrade": upgrade,
    }
    program = venv_bin or _default_program(ctx)
    if _is_venv(program):
        _refuse_options(given, NOT_OF_VENV, program)
        words = [*_venv_command(ctx.host, program, python), *(["--symlinks"] if symlinks else [])]
        words += ["--upgrade"] if upgrade else []
    else:
        _refuse_options(given, NOT_OF_VIRTUALENV, program)
        words = [
            *_virtualenv_command(program, python),
            *(["--never-download"] if never_download else []),
        ]
        for directory in _split_directories(extra_search_dir):
            words.append(f"--extra-search-dir={directory}")
    words += ["--clear"] if clear else []
    words += ["--system-site-packages"] if system_site_packages else []
    words += ["--prompt", str(prompt)] if prompt and str(prompt).strip() else []
    return _make_environment(ctx, [*words, str(path)], user)


def _make_environment(ctx: MinionContext, words: Sequence[str], user: str | None) -> dict[str, Any]:
    if not user:
        refuse_misleading(words[-1])
    done = command.run(ctx, list(words), CommandOptions(runas=user, python_shell=False))
    return done.as_map()


def _default_program(ctx: MinionContext) -> str:
    wanted = ctx.config.extra.get("venv_bin")
    if wanted:
        return str(wanted)
    return "virtualenv" if ctx.host.which("virtualenv") else "venv"


def _is_venv(program: str) -> bool:
    name = os.path.basename(program)
    return "venv" in name and "virtualenv" not in name


def _venv_command(host: Host, program: str, python: str | None) -> list[str]:
    if program != "venv":
        return [program]  # also one that is missing: then that is the failure
    found = host.which(str(python)) if python else sys.executable
    if found is None:
        raise FunctionError(f"Cannot find requested python ({python}).")
    return [found, "-m", "venv"]


def _virtualenv_command(program: str, python: str | None) -> list[str]:
    return [program, *([f"--python={python}"] if python and str(python).strip() else [])]


def _refuse_options(given: dict[str, Any], names: dict[str, str], program: str) -> None:
    """Raise FunctionError about an option that this program does not have."""
    for name, shown in names.items():
        value = given.get(name)
        if value is not None and (value is True or (not isinstance(value, bool) and value)):
            raise FunctionError(f"The {shown} option is not supported by '{program}'")


def _split_directories(extra: Any) -> list[str]:
    if isinstance(extra, str):
        return [part.strip() for part in extra.split(",") if part.strip()]
    return [str(each) for each in extra or []]


def get_site_packages(ctx: MinionContext, venv: str) -> str:
    """The directory of an environment's packages.

    CLI Example:

        salt '*' virtualenv.get_site_packages /path/to/my/venv
    """
    program = "import sysconfig; print(sysconfig.get_path('purelib'))"
    return _ask_python(ctx.host, venv, program)


def get_distribution_path(ctx: MinionContext, venv: str, distribution: str) -> str:
    """The directory in which a package of an environment is.

    CLI Example:

        salt '*' virtualenv.get_distribution_path /path/to/my/venv my_distribution
    """
    program = (
        "import sys, importlib.metadata as m; print(m.distribution(sys.argv[1]).locate_file(''))"
    )
    return _ask_python(ctx.host, venv, program, str(distribution)).rstrip("/")


def get_resource_path(
    ctx: MinionContext, venv: str, package: str | None = None, resource: str | None = None
) -> str:
    """The path of a file that came with a package of an environment.

    CLI Example:

        salt '*' virtualenv.get_resource_path /path/to/my/venv my_package my/resource.xml
    """
    program = (
        "import sys, os, importlib.util as u;"
        " print(os.path.join(os.path.dirname(u.find_spec(sys.argv[1]).origin), sys.argv[2]))"
    )
    return _ask_python(ctx.host, venv, program, *_check_resource(package, resource))


def get_resource_content(
    ctx: MinionContext, venv: str, package: str | None = None, resource: str | None = None
) -> str:
    """The content of a file that came with a package of an environment.

    CLI Example:

        salt '*' virtualenv.get_resource_content /path/to/my/venv my_package my/resource.xml
    """
    path = get_resource_path(ctx, venv, *_check_resource(package, resource))
    text = ctx.host.read_text(path)
    if text is None:
        raise FunctionError(f"{path} cannot be read")
    return text


def _check_resource(package: str | None, resource: str | None) -> tuple[str, str]:
    if not (package and resource):
        raise FunctionError("'package' and 'resource' are both required")
    return str(package), str(resource)


def _ask_python(host: Host, venv: str, program: str, *arguments: str) -> str:
    """The last line that a small program prints in an environment's Python."""
    python = os.path.join(str(venv), "bin", "python")
    if not host.exists(python):
        raise FunctionError(
            f"Path '{venv}' does not appear to be a virtualenv: '{python}' not found."
        )
    done = host.run([python, "-c", program, *arguments])
    if done.exit_code != 0:
        raise FunctionError(f"{done.stdout}\n{done.stderr}".rstrip())
    return done.stdout.rstrip("\n")


def virtualenv_ver(
    ctx: MinionContext, venv_bin: str, user: str | None = None, **kwargs: Any
) -> list[int]:
    """The version of the program ``virtualenv``, as a list of numbers.

    CLI Example:

        salt '*' virtualenv.virtualenv_ver virtualenv
    """
    done = command.run(
        ctx, [str(venv_bin), "--version"], CommandOptions(runas=user, python_shell=False)
    )
    words = done.stdout.split()
    text = words[1] if words[:1] == ["virtualenv"] and len(words) > 1 else "".join(words[:1])
    if done.retcode != 0 or not text:
        raise CommandError([str(venv_bin)], done.retcode, done.stderr or "no version")
    return [int(part) for part in text.split("rc")[0].split(".") if is_digits(part)]
