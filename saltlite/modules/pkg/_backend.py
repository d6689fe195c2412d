"""The back end that serves ``pkg``: what it can do, and how it tells of changes and failures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from saltlite.context import MinionContext
from saltlite.errors import FunctionError, FunctionUnavailable
from saltlite.providers.pkg import names as asked
from saltlite.providers.pkg import provider
from saltlite.providers.pkg.protocol import Comparing, Packages

_Feature = TypeVar("_Feature")


def able(ctx: MinionContext, feature: type[_Feature], function: str) -> _Feature:
    """The provider, if it has a feature."""
    found = provider(ctx)
    if not isinstance(found, feature):
        raise FunctionUnavailable(f"pkg.{function}")
    return found


def apt_alone(ctx: MinionContext, function: str) -> Any:
    """The provider, if it is apt's: some functions are of Debian alone."""
    from saltlite.providers.pkg.apt import Apt

    found = provider(ctx)
    if not isinstance(found, Apt):
        raise FunctionUnavailable(f"pkg.{function}")
    return found


def one_or_all(names: Sequence[str], found: Mapping[str, object]) -> Any:
    """The value of a single name; the map of several; ``""`` or nothing without any."""
    return found.get(names[0], "") if len(names) == 1 else dict(found)


def order(back_end: Packages, first: str, second: str) -> int | None:
    """-1, 0, 1 as the package manager orders versions, by letters if it has no order."""
    if isinstance(back_end, Comparing):
        return back_end.compare(first, second)
    return (first > second) - (first < second)


def changes_since(back_end: Packages, before: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """What has been installed, removed or upgraded meanwhile."""
    return dict(asked.changes(before, back_end.list_installed()))


def trouble(back_end: Packages, doing: str) -> str:
    """The beginning of a complaint, in Salt's words for this package manager."""
    from saltlite.providers.pkg.dnf import Dnf

    happened = "Error occurred" if isinstance(back_end, Dnf) else "Problem encountered"
    return f"{happened} {doing} package(s)"


def unless_failed(said: str, changed: dict[str, Any], errors: list[str]) -> dict[str, Any]:
    """The changes; with errors both are in an exception, as Salt lays them out."""
    if not errors:
        return changed
    from saltlite.core.output_options import OutputOptions
    from saltlite.outputters.nested import output as nested

    shown = nested({"changes": changed, "errors": errors}, OutputOptions())
    raise FunctionError(f"{said}. Additional info follows:\n\n{shown}")


def local_file(ctx: MinionContext, path: str, saltenv: str = "base") -> str:
    """A package file on this machine: fetched if it is a URL."""
    if "://" in path:
        found = str(ctx.functions.call("cp.cache_file", path, saltenv) or "")
        if not found:
            raise FunctionError(f"{path} could not be fetched")
        return found
    if not ctx.host.exists(path):
        raise FunctionError(f"{path} does not exist on minion")
    return path


def refuse_root(root: str | None) -> None:
    """Refuse to look at the packages of another root directory."""
    if root:
        raise FunctionError(f"root: the packages below {root} are not looked at; only the system's")


def keeps_configuration(back_end: Packages) -> bool:
    """Whether something is left of a package that was removed."""
    from saltlite.providers.pkg.apt import Apt

    return isinstance(back_end, Apt)
