"""``salt.utils.versions``: versions compared, and warnings about what will go."""

from __future__ import annotations

import itertools
import operator
import re
import warnings
from collections.abc import Callable
from functools import total_ordering
from typing import Any

from saltlite.compat.salt import version as salt_version
from saltlite.compat.salt.version import SaltStackVersion
from saltlite.core.numbers import is_digits

_PARTS = re.compile(r"(\d+|[a-z]+|\.)")


@total_ordering
class LooseVersion:
    """A version of numbers and letters, in the order that most expect."""

    def __init__(self, vstring: object = None) -> None:
        self.vstring = "" if vstring is None else str(vstring)
        parts = (part for part in _PARTS.split(self.vstring) if part and part != ".")
        self.version: list[Any] = [int(part) if is_digits(part) else part for part in parts]

    def parse(self, vstring: str) -> None:
        """Become another version."""
        LooseVersion.__init__(self, vstring)

    def __str__(self) -> str:
        return self.vstring

    def __repr__(self) -> str:
        return f"{type(self).__name__} ('{self.vstring}')"

    def __hash__(self) -> int:
        return hash(self.vstring)

    def __eq__(self, other: object) -> bool:
        return _compare_versions(self, _as_version(other)) == 0

    def __lt__(self, other: object) -> bool:
        return _compare_versions(self, _as_version(other)) < 0


class StrictVersion(LooseVersion):
    """A version of two or three numbers."""

    def __init__(self, vstring: object = None) -> None:
        if vstring is not None and not re.fullmatch(r"\d+\.\d+(\.\d+)?([ab]\d+)?", str(vstring)):
            raise ValueError(f"invalid version number '{vstring}'")
        super().__init__(vstring)


def _as_version(value: object) -> LooseVersion:
    return value if isinstance(value, LooseVersion) else LooseVersion(str(value))


def _compare_versions(first: LooseVersion, second: LooseVersion) -> int:
    """-1, 0 or 1. Where a number meets letters, the number is later: ``1.0.1`` after ``1.0rc``."""
    for left, right in itertools.zip_longest(first.version, second.version):
        if left == right:
            continue
        if left is None or right is None:
            return -1 if left is None else 1
        if isinstance(left, int) is isinstance(right, int):
            return -1 if left < right else 1
        return -1 if isinstance(left, str) else 1
    return 0


def version_cmp(pkg1: str, pkg2: str, ignore_epoch: bool = False) -> int | None:
    """-1, 0 or 1: whether the first version is before, the same as, or after the second."""
    first, second = (
        re.sub(r"^\d+:", "", str(each)) if ignore_epoch else str(each) for each in (pkg1, pkg2)
    )
    return _compare_versions(LooseVersion(first), LooseVersion(second))


_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "=": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    ">": operator.gt,
}


def compare(
    ver1: str = "",
    oper: str = "==",
    ver2: str = "",
    cmp_func: Callable[..., int | None] | None = None,
    ignore_epoch: bool = False,
) -> bool:
    """Whether ``ver1 oper ver2`` holds."""
    if oper not in _OPERATORS:
        return False
    found = (cmp_func or version_cmp)(ver1, ver2, ignore_epoch=ignore_epoch)
    return found is not None and _OPERATORS[oper](found, 0)


def warn_until(
    version: object,
    message: str,
    category: type[Warning] = DeprecationWarning,
    stacklevel: int | None = None,
    _version_info_: object = None,
    _dont_call_warnings: bool = False,
) -> None:
    """Warn of what will be gone in a release.

    Raises:
        RuntimeError: that release is there.
    """
    release = _find_release(version)
    if salt_version.__saltstack_version__ >= release:
        raise RuntimeError(
            f"The warning triggered is expired since release {release.string}: {message}"
        )
    if not _dont_call_warnings:
        warnings.warn(message.format(version=release.string), category, stacklevel or 2)


def kwargs_warn_until(kwargs: Any, version: object, **options: Any) -> None:
    """Warn of keyword arguments that will be gone in a release; raises as ``warn_until``."""
    names = sorted(name for name in kwargs if not str(name).startswith("__"))
    if names:
        warn_until(version, f"The following arguments will go: {', '.join(names)}")


def warn_until_date(date: object, message: str, *args: Any, **kwargs: Any) -> None:
    """Warn of what will be gone on a day."""
    warnings.warn(message.format(date=date, today=""), DeprecationWarning, 2)


def _find_release(version: object) -> SaltStackVersion:
    if isinstance(version, SaltStackVersion):
        return version
    if isinstance(version, str):
        return SaltStackVersion.from_name(version) if version.isalpha() else (
            SaltStackVersion.parse(version)
        )  # fmt: skip
    return SaltStackVersion(*(version if isinstance(version, (tuple, list)) else (version,)))
