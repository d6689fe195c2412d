"""Keep packages as they are, and what dpkg is told to do with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from saltlite.context import MinionContext
from saltlite.errors import FunctionError, FunctionUnavailable, UsageError
from saltlite.modules.pkg._backend import able, apt_alone, local_file, refuse_root
from saltlite.providers.pkg import names as asked
from saltlite.providers.pkg import provider
from saltlite.providers.pkg.names import truth
from saltlite.providers.pkg.protocol import Holding


def _choose_packages(name: object, pkgs: object, sources: object) -> list[str]:
    if not (name or pkgs or sources):
        raise UsageError("One of name, pkgs, or sources must be specified.")
    if pkgs and sources:
        raise UsageError("Only one of pkgs or sources can be specified.")
    return list(asked.sources_of(sources)) if sources else asked.names_of(name, pkgs)


def hold(
    ctx: MinionContext,
    name: object = None,
    pkgs: object = None,
    sources: object = None,
    **kwargs: Any,
) -> dict[str, Any]:
    """Keep packages at the version they have.

    CLI Example:

        salt '*' pkg.hold nginx
        salt '*' pkg.hold pkgs='["foo", "bar"]'
    """
    names = _choose_packages(name, pkgs, sources)
    return able(ctx, Holding, "hold").hold(names)  # type: ignore[type-abstract]


def unhold(
    ctx: MinionContext,
    name: object = None,
    pkgs: object = None,
    sources: object = None,
    **kwargs: Any,
) -> dict[str, Any]:
    """Let packages be upgraded again.

    CLI Example:

        salt '*' pkg.unhold nginx
    """
    names = _choose_packages(name, pkgs, sources)
    return able(ctx, Holding, "unhold").unhold(names)  # type: ignore[type-abstract]


def list_holds(ctx: MinionContext, pattern: str = "", full: bool = True) -> list[str]:
    """The packages that are held; with dnf as it writes them, unless ``full`` is off.

    CLI Example:

        salt '*' pkg.list_holds
    """
    from saltlite.providers.pkg.dnf import Dnf

    back_end = able(ctx, Holding, "list_holds")  # type: ignore[type-abstract]
    if isinstance(back_end, Dnf) and truth(full):
        return back_end.locks()
    return back_end.list_held()


def list_locks(ctx: MinionContext, root: str | None = None) -> dict[str, Any]:
    """The locks of zypper, and what its file says of each.

    CLI Example:

        salt '*' pkg.list_locks
    """
    from saltlite.providers.pkg.zypper import Zypper

    refuse_root(root)
    back_end = provider(ctx)
    if not isinstance(back_end, Zypper):
        raise FunctionUnavailable("pkg.list_locks")
    return dict(back_end.locks())


def get_selections(
    ctx: MinionContext, pattern: str | None = None, state: str | None = None
) -> dict[str, list[str]]:
    """What dpkg is told to do with packages: the names of each wanted state.

    CLI Example:

        salt '*' pkg.get_selections
        salt '*' pkg.get_selections 'python*' state=hold
    """
    found = cast(dict[str, list[str]], apt_alone(ctx, "get_selections").selections(pattern))
    return found if state is None else {state: found.get(state, [])}


def set_selections(
    ctx: MinionContext,
    path: str | None = None,
    selection: object = None,
    clear: bool = False,
    saltenv: str = "base",
) -> dict[str, Any]:
    """Tell dpkg what to do with packages; ``{name: {"old", "new"}}`` of what changed.

    ``selection`` is a map of states and names (or its YAML); ``path`` is a file with lines
    ``name state``.

    CLI Example:

        salt '*' pkg.set_selections selection='{"hold": ["netcat"]}'
        salt '*' pkg.set_selections salt://path/to/file
    """
    from saltlite.providers.pkg.apt import STATES

    back_end = apt_alone(ctx, "set_selections")
    if path and selection:
        raise UsageError(
            "The 'selection' and 'path' arguments to pkg.set_selections are mutually exclusive,"
            " and cannot be specified together"
        )
    wanted = _selection_file(ctx, path, saltenv) if path else _parse_selection(selection)
    bad = [state for state in wanted if state not in STATES]
    if bad:
        raise UsageError(f"Invalid state(s): {', '.join(bad)}")
    return cast(dict[str, Any], back_end.select(wanted, clear=truth(clear))) if wanted else {}


def _parse_selection(selection: object) -> dict[str, list[str]]:
    if isinstance(selection, str):
        from saltlite.config.yaml import load

        selection = load(selection, "selection")
    if not selection:
        return {}
    if not isinstance(selection, Mapping):
        raise FunctionError("Invalid selection: it must be a map of states and names")
    return {str(state): asked.words(names) for state, names in selection.items()}


def _selection_file(ctx: MinionContext, path: str, saltenv: str) -> dict[str, list[str]]:
    from saltlite.providers.pkg.dpkg import parse_selections

    text = ctx.host.read_text(local_file(ctx, path, saltenv)) or ""
    lines = (line.split() for line in text.splitlines())
    return parse_selections("\n".join("\t".join(words) for words in lines if len(words) == 2))
