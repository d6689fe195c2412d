"""pip: which one is meant, its command lines, its output taken apart.

Called by ``modules/pip.py``. Source: observed on Salt 3006.30.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from saltlite.core.dataclasses import dataclass
from saltlite.core.fields import write_fields
from saltlite.core.lazyregex import regex
from saltlite.errors import CommandError, FunctionError

if TYPE_CHECKING:
    from saltlite.context import MinionContext
    from saltlite.host import Host

EXISTS_ACTIONS = ("s", "i", "w", "b")
ADDRESSES = ("file", "http", "https", "ftp", "gs", "s3", "salt")

_VERSION = regex(r"^pip (\S+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class PipOptions:
    """What ``pip.install`` takes besides packages; ``pip.installed`` takes it in another order.

    Some pip has dropped long ago (``use_wheel``, ``allow_external`` and the like): no effect.
    """

    bin_env: str | None = None
    use_wheel: bool = False
    no_use_wheel: bool = False
    log: str | None = None
    proxy: str | None = None
    timeout: object = None
    editable: object = None
    find_links: object = None
    index_url: str | None = None
    extra_index_url: str | None = None
    no_index: bool = False
    mirrors: object = None
    build: str | None = None
    target: str | None = None
    download: str | None = None
    download_cache: str | None = None
    source: str | None = None
    upgrade: bool = False
    force_reinstall: bool = False
    ignore_installed: bool = False
    exists_action: str | None = None
    no_deps: bool = False
    no_install: bool = False
    no_download: bool = False
    global_options: object = None
    install_options: object = None
    user: str | None = None
    cwd: str | None = None
    pre_releases: bool = False
    cert: str | None = None
    allow_all_external: bool = False
    allow_external: object = None
    allow_unverified: object = None
    process_dependency_links: bool = False
    saltenv: str = "base"
    env_vars: Mapping[str, object] | None = None
    use_vt: bool = False
    trusted_host: str | None = None
    no_cache_dir: bool = False
    extra_args: object = None
    cache_dir: str | None = None
    no_binary: object = None
    disable_version_check: bool = False


def command(host: Host, bin_env: str | None) -> list[str]:
    """How to start pip: of a virtual environment, a program, or the minion's own Python.

    Raises:
        CommandError: there is none.
    """
    if not bin_env:
        return [sys.executable, "-m", "pip"]
    if host.is_dir(bin_env):
        for place in ("bin/python", "python", "Scripts/python.exe"):
            python = os.path.join(bin_env, place)
            if host.which(os.path.abspath(python)):
                return [os.path.normpath(python), "-m", "pip"]
        raise CommandError(["pip"], None, f"Could not find a pip binary in virtualenv {bin_env}")
    if host.which(bin_env) is None:
        raise CommandError(
            ["pip"], None, f"Access denied to {bin_env}, could not find a pip binary"
        )
    if os.path.basename(bin_env).startswith("python"):
        return [os.path.normpath(bin_env), "-m", "pip"]
    return [os.path.normpath(bin_env)]


_NOT_FROM_HERE = (
    "import sys; sys.path[:] = filter(None, sys.path); import runpy;"
    " runpy.run_module('pip', run_name='__main__', alter_sys=True)"
)


def not_from_here(words: Sequence[str]) -> list[str]:
    """The same pip, but not a ``pip.py`` in the working directory, which ``-m`` would take first.

    Root works in directories of others. Python has an option for it (``-P``) only since 3.11.
    """
    return [words[0], "-c", _NOT_FROM_HERE] if words[1:] == ["-m", "pip"] else list(words)


def parse_version(text: str) -> str | None:
    """The version in the output of ``pip --version``."""
    match = _VERSION.match(text)
    return match.group(1) if match else None


def parse_freeze(lines: Sequence[str], prefix: str | None) -> dict[str, str]:
    """``pip freeze``: names and versions; what is there in another form is skipped.

    A package installed from a repository has the whole line for its version's name.
    """
    found: dict[str, str] = {}
    for line in lines:
        if line.startswith(("-f", "#", "-i", "--")):
            continue
        if line.startswith("-e"):
            version, _, name = line.removeprefix("-e").strip().rpartition("#egg=")
        elif " @ " in line:
            name, _, version = line.partition(" @ ")
        elif "===" in line:
            name, _, version = line.partition("===")
        else:
            name, _, version = line.partition("==")
        if name and version and (not prefix or name.lower().startswith(prefix.lower())):
            found[name.strip()] = version.strip()
    return found


def parse_listed(text: str, prefix: str | None) -> dict[str, str]:
    """``pip list --format=json``: names and versions."""
    import json

    return {
        str(each["name"]): str(each["version"])
        for each in json.loads(text or "[]")
        if not prefix or str(each["name"]).lower().startswith(prefix.lower())
    }


def parse_outdated(text: str) -> dict[str, str]:
    """``pip list --outdated --format=json``: the newest version and its kind: ``2.0 [wheel]``."""
    import json

    return {
        str(each["name"]): f"{each['latest_version']} [{each['latest_filetype']}]"
        for each in json.loads(text or "[]")
    }


def normalize_name(name: str) -> str:
    """A name as all spellings of it become one. Source: PEP 503."""
    return re.sub(r"[-_.]+", "-", name).lower()


def names_of(pkgs: Any) -> list[str]:
    """Packages as a list, or as a text parted by commas that are not in brackets or conditions."""
    if pkgs is None:
        return []
    if isinstance(pkgs, str):
        return [part.strip() for part in _split_list(pkgs) if part.strip()]
    return [str(each) for each in pkgs]


def _split_list(text: str) -> list[str]:
    """A comma before a condition (``a>=1,<2``) or in brackets (``a[x,y]``) does not part."""
    parts: list[str] = []
    depth = 0
    current = ""
    for index, character in enumerate(text):
        depth += {"[": 1, "]": -1}.get(character, 0)
        goes_on = text[index + 1 :].lstrip()[:1] in ("<", ">", "=", "!", "~")
        if character == "," and depth == 0 and not goes_on:
            parts.append(current)
            current = ""
        else:
            current += character
    return [*parts, current]


def install_words(options: PipOptions) -> list[str]:
    """The words of ``pip install`` but for packages.

    Raises:
        FunctionError: options exclude one another, or a value is not one of those possible.
    """
    _check_options(options)
    given = write_fields(options)
    words = [flag for name, flag in _SWITCHES.items() if given[name]]
    for name, flag in _VALUES.items():
        value = given[name]
        words += [flag, str(value)] if value else []
    if options.download_cache and not options.cache_dir:  # its old name
        words += ["--cache-dir", str(options.download_cache)]
    for name, flag in _LISTS.items():
        for value in names_of(given[name]):
            words += [flag, value]
    if options.no_binary:
        words.append(f"--no-binary={','.join(names_of(options.no_binary))}")
    return words


_SWITCHES = {
    "no_index": "--no-index",
    "upgrade": "--upgrade",
    "force_reinstall": "--force-reinstall",
    "ignore_installed": "--ignore-installed",
    "no_deps": "--no-deps",
    "pre_releases": "--pre",
    "no_cache_dir": "--no-cache-dir",
    "disable_version_check": "--disable-pip-version-check",
}
_VALUES = {
    "proxy": "--proxy",
    "log": "--log",
    "timeout": "--timeout",
    "index_url": "--index-url",
    "extra_index_url": "--extra-index-url",
    "build": "--build",
    "target": "--target",
    "download": "--download",
    "source": "--src",
    "cert": "--cert",
    "cache_dir": "--cache-dir",
    "trusted_host": "--trusted-host",
    "exists_action": "--exists-action",
}
_LISTS = {
    "find_links": "--find-links",
    "global_options": "--global-option",
    "install_options": "--install-option",
}


def _check_options(options: PipOptions) -> None:
    if options.no_index and (options.index_url or options.extra_index_url):
        raise FunctionError(
            "'no_index' and ('index_url' or 'extra_index_url') are mutually exclusive."
        )
    if options.mirrors:
        raise FunctionError(
            "pip >= 7.0.0 does not support mirror argument: use index_url and/or extra_index_url"
            " instead"
        )
    check_timeout(options.timeout)
    action = options.exists_action
    if action and str(action).lower() not in EXISTS_ACTIONS:
        raise FunctionError(
            "The exists_action pip option only supports the values s, i, w, and b."
            f" '{action}' is not valid."
        )
    for link in names_of(options.find_links):
        scheme = link.partition(":")[0] if "://" in link else ""
        if not (link.startswith("/") or scheme in ADDRESSES):
            raise FunctionError(f"'{link}' is not a valid URL or path")


def check_timeout(timeout: Any) -> None:
    """Raise ValueError, as Salt does, if a timeout is no number of seconds."""
    if timeout is None:
        return
    try:
        int(timeout)
    except (TypeError, ValueError):
        raise ValueError(f"'{timeout}' is not a valid timeout, must be an integer") from None


_REQUIREMENT = regex(r"^\s*([A-Za-z0-9][\w.\-]*)\s*(?:\[[^\]]*\])?\s*([^;@]*)(;.*)?$")


def requirement(text: str) -> tuple[str, str]:
    """The name and the conditions of a requirement: ``a[x]>=1.0,<2`` is ``a``, ``>=1.0,<2``.

    An address is called as what stands behind ``#egg=``, or is its own name.
    """
    if "://" in text or text.startswith(("/", ".")):
        return text.partition("#egg=")[2] or text, ""
    match = _REQUIREMENT.match(text)
    return (match[1], match[2].strip()) if match else (text, "")


def conflicts(wanted: str, there: Mapping[str, str]) -> bool:
    """Whether a requirement is not met by the packages ``there`` (by their normalized names)."""
    name, conditions = requirement(wanted)
    version = there.get(normalize_name(name))
    if version is None:
        return True
    return not all(
        _meets_condition(version, each.strip()) for each in conditions.split(",") if each.strip()
    )


def _meets_condition(version: str, condition: str) -> bool:
    """Source: PEP 440; ``===`` compares the text."""
    match = re.match(r"(===|==|!=|~=|>=|<=|>|<)\s*(\S+)$", condition)
    if match is None:
        return False
    sign, limit = match.groups()
    if sign == "===":
        return version == limit
    if limit.endswith(".*"):
        is_part = (
            _version_key(version)[: limit.count(".")]
            == _version_key(limit[:-2])[: limit.count(".")]
        )
        return is_part if sign == "==" else not is_part
    have, wanted = _version_key(version), _version_key(limit)
    if sign == "~=":
        release = limit.split(".")[:-1]
        return (
            have >= wanted
            and _version_key(version)[: len(release)]
            == _version_key(".".join(release))[: len(release)]
        )
    return {
        "==": have == wanted,
        "!=": have != wanted,
        ">=": have >= wanted,
        "<=": have <= wanted,
        ">": have > wanted,
        "<": have < wanted,
    }[sign]


_RELEASE_LENGTH = 8
_PHASES = {"dev": -4, "a": -3, "alpha": -3, "b": -2, "beta": -2, "c": -1, "rc": -1, "post": 1}


def _version_key(version: str) -> tuple[int, ...]:
    """Numbers by which versions are ordered; what is before a release comes before it."""
    text = version.lower().removeprefix("v").partition("+")[0]
    release = re.match(r"[\d.]*", text)
    numbers = [int(each) for each in (release[0] if release else "").split(".") if each]
    padded = (numbers + [0] * _RELEASE_LENGTH)[:_RELEASE_LENGTH]
    rest = re.search(r"(dev|alpha|beta|a|b|rc|c|post)[.\-_]?(\d*)", text)
    phase = (_PHASES[rest[1]], int(rest[2] or 0)) if rest else (0, 0)
    return (*padded, *phase)


_DRY_RUN = ("--dry-run", "--quiet", "--report", "-")


def would_install(ctx: MinionContext, options: Mapping[str, Any]) -> dict[str, str] | None:
    """Names and versions that ``pip.install`` with these options would install.

    ``None`` if pip does not tell: it is older than 22.2, or it could not.
    """
    import json

    given = options.get("extra_args") or []
    extra = [given] if isinstance(given, str) else list(given)
    asked = {**options, "extra_args": [*extra, *_DRY_RUN]}
    answer = ctx.functions.call("pip.install", **asked)
    try:
        report = json.loads(answer.get("stdout") or "")
        listed = [each["metadata"] for each in report["install"]]
        return {normalize_name(each["name"]): str(each["version"]) for each in listed}
    except (ValueError, KeyError, TypeError):
        return None
