"""Whether the files of packages are as they were installed: ``rpm -V``, ``dpkg --verify``.

Source: rpm(8), dpkg(1); names of what differs observed on Salt 3006.30.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from saltlite.core.lazyregex import regex
from saltlite.errors import FunctionError, FunctionUnavailable
from saltlite.providers.pkg import provider
from saltlite.providers.pkg.features import serves
from saltlite.providers.pkg.names import words
from saltlite.providers.pkg.tools import ask

if TYPE_CHECKING:
    from saltlite.context import MinionContext

DIFFERS = {
    "S": "size",
    "M": "mode",
    "5": "md5sum",
    "D": "device major/minor number",
    "L": "readlink path",
    "U": "user",
    "G": "group",
    "T": "mtime",
    "P": "capabilities",
}
TYPES = {"c": "config", "d": "doc", "g": "ghost", "l": "license", "r": "readme"}

_LINE = regex(
    r"^(?P<what>missing|[.?SM5DLUGTP]{8,9})\s+(?:(?P<type>[cdglr])\s+)?(?P<path>/.*?)"
    r"(?: \([^)]*\))?$"
)
_OPTION = regex(r"^[a-z][a-z0-9-]*$")


def find_altered(
    ctx: MinionContext, names: Sequence[str], options: Mapping[str, object]
) -> dict[str, dict[str, Any]]:
    """The files that are not as they were installed; of all packages without names.

    ``ignore_types`` are kinds of files that do not count (``config`` …), ``verify_options`` are
    options of rpm without their dashes.

    Raises:
        FunctionError: a package is not installed, or an option is none.
        FunctionUnavailable: the package manager cannot tell.
    """
    if not serves(ctx, "verify"):
        raise FunctionUnavailable("pkg.verify")
    done = ask(ctx, _verify_command(ctx, names, options))
    told = [*done.stderr.splitlines(), *done.stdout.splitlines()]
    absent = [line for line in told if line.endswith("is not installed")]
    if absent:
        raise FunctionError(absent[0])
    ignored = {TYPES.get(each, each) for each in words(options.get("ignore_types"))}
    found = parse(done.stdout)
    return {path: each for path, each in found.items() if each.get("type") not in ignored}


def _verify_command(
    ctx: MinionContext, names: Sequence[str], options: Mapping[str, object]
) -> list[str]:
    from saltlite.providers.pkg.apt import Apt

    given = words(options.get("verify_options"))
    bad = [each for each in given if not _OPTION.match(each)]
    if bad:
        raise FunctionError(f"verify_options: {bad[0]!r} is no name of an option of rpm")
    if isinstance(provider(ctx), Apt):
        return ["dpkg", "--verify", *names]
    return ["rpm", *(f"--{each}" for each in given), *(["-V", *names] if names else ["-Va"])]


def parse(text: str) -> dict[str, dict[str, Any]]:
    """The files of the output of ``rpm -V`` or ``dpkg --verify``, and what of each is another."""
    found: dict[str, dict[str, Any]] = {}
    for line in text.splitlines():
        match = _LINE.match(line)
        if match is None:
            continue
        what = match["what"]
        told: dict[str, Any] = (
            {"missing": True}
            if what == "missing"
            else {"mismatch": [DIFFERS[sign] for sign in what if sign in DIFFERS]}
        )
        found[match["path"]] = told | ({"type": TYPES[match["type"]]} if match["type"] else {})
    return found
