"""What was asked for: names, lists of packages, conditions on versions; and what came of it.

Pure. The forms are those of ``name``, ``pkgs`` and ``sources`` in Salt's ``pkg.*`` functions.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterable, Mapping, Sequence

from saltlite.core.lazyregex import regex
from saltlite.errors import FunctionError, UsageError

Compare = Callable[[str, str], "int | None"]

_CONDITION = regex(r"(<=|>=|!=|==|=|<|>)?\s*(\S+)$")


def names_of(name: object, pkgs: object) -> list[str]:
    """The names of ``pkgs`` if it is given, of ``name`` otherwise (parted by commas)."""
    return list(packages_of(pkgs) if pkgs else packages_of(name))


def packages_of(given: object) -> dict[str, str | None]:
    """Names and wanted versions of a text parted by commas, or a list of names and maps.

    Raises:
        FunctionError: one is named twice, or it is none of these.
    """
    if given is None:
        return {}
    if isinstance(given, str):
        given = [part.strip() for part in given.split(",") if part.strip()]
    if isinstance(given, Mapping):
        given = [{name: version} for name, version in given.items()]
    if not isinstance(given, (list, tuple)):
        given = [given]
    found: dict[str, str | None] = {}
    repeated: list[str] = []
    for each in given:
        for name, version in _parse_pairs(each):
            if name in found:
                repeated.append(name)
            found[name] = version
    if repeated:
        raise UsageError(
            "You are passing a list of packages that contains duplicated packages names:"
            f" {', '.join(repeated)}. This cannot be processed. In case you are targeting"
            " different versions of the same package, please target them individually"
        )
    return found


def _parse_pairs(each: object) -> Iterable[tuple[str, str | None]]:
    if isinstance(each, Mapping):
        for name, version in each.items():
            yield str(name), None if version in (None, "") else str(version)
    else:
        yield str(each), None


def sources_of(sources: object) -> dict[str, str]:
    """Names and files of ``sources``: a list of maps of one entry each.

    Raises:
        FunctionError: it has another form.
    """
    if isinstance(sources, Mapping):
        sources = [sources]
    if not isinstance(sources, (list, tuple)):
        raise FunctionError("Invalidly-formatted 'sources' parameter. See error log for details.")
    found: dict[str, str] = {}
    for each in sources:
        if not isinstance(each, Mapping) or len(each) != 1:
            raise FunctionError(
                "Invalidly-formatted 'sources' parameter. See error log for details."
            )
        found.update((str(name), str(path)) for name, path in each.items())
    return found


def is_condition(version: str) -> bool:
    """Whether a wanted version is a condition (``>=2``, ``1.*``), not an exact one."""
    return any(sign in version for sign in "<>=!*[") or "," in version


def satisfying(version: str, offered: Sequence[str], compare: Compare) -> str | None:
    """The first of the offered versions that satisfies all conditions, parted by commas."""
    conditions = [part.strip() for part in version.split(",") if part.strip()]
    for candidate in offered:
        if all(_fits_condition(candidate, condition, compare) for condition in conditions):
            return candidate
    return None


def _fits_condition(candidate: str, condition: str, compare: Compare) -> bool:
    match = _CONDITION.match(condition)
    if match is None:
        return False
    sign, wanted = match.group(1) or "==", match.group(2)
    if any(glob in wanted for glob in "*["):
        return fnmatch.fnmatch(candidate, wanted) is (sign != "!=")
    order = compare(candidate, wanted)
    return (
        order is not None
        and {
            "<": order < 0,
            "<=": order <= 0,
            ">": order > 0,
            ">=": order >= 0,
            "!=": order != 0,
            "==": order == 0,
            "=": order == 0,
        }[sign]
    )


def join_versions(versions: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Several versions of a package as one text."""
    return {name: ",".join(each) for name, each in versions.items()}


def changes(
    before: Mapping[str, Sequence[str]], after: Mapping[str, Sequence[str]]
) -> dict[str, dict[str, str]]:
    """``{name: {"old", "new"}}`` of all packages that changed; ``""`` for not there."""
    old, new = join_versions(before), join_versions(after)
    names = [*new, *(name for name in old if name not in new)]
    return {
        name: {"old": old.get(name, ""), "new": new.get(name, "")}
        for name in names
        if old.get(name, "") != new.get(name, "")
    }


def truth(value: object) -> bool:
    """Whether an option is on: also ``1``, ``"yes"``, ``"on"`` and ``"true"``."""
    if isinstance(value, str):
        return value.strip().lower() in ("true", "yes", "on", "1")
    return bool(value)


def words(value: object) -> list[str]:
    """An option that is a list or a text parted by commas, as a list."""
    if value is None:
        return []
    if isinstance(value, (list, tuple)):
        return [str(each).strip() for each in value]
    return [part.strip() for part in str(value).split(",") if part.strip()]
