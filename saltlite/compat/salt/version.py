"""``salt.version``: the release of Salt that saltlite stands in for."""

from __future__ import annotations

from functools import total_ordering
from typing import Any

from saltlite.core.numbers import is_digits
from saltlite.version import SALT_COMPATIBLE

NAMES = {
    "boron": (2016, 3),
    "carbon": (2016, 11),
    "nitrogen": (2017, 7),
    "oxygen": (2018, 3),
    "fluorine": (2019, 2),
    "neon": (3000,),
    "sodium": (3001,),
    "magnesium": (3002,),
    "aluminium": (3003,),
    "silicon": (3004,),
    "phosphorus": (3005,),
    "sulfur": (3006,),
    "chlorine": (3007,),
    "argon": (3008,),
    "potassium": (3009,),
}
"""Names of releases that users' files still ask for."""

__version__ = SALT_COMPATIBLE
__version_info__ = tuple(int(part) for part in SALT_COMPATIBLE.split("."))


@total_ordering
class SaltStackVersion:
    """A release, to be compared."""

    NAMES = NAMES

    def __init__(self, *parts: int) -> None:
        self.info = tuple(parts)

    @classmethod
    def parse(cls, text: str) -> SaltStackVersion:
        """The release of that number."""
        numbers = [part for part in text.lstrip("v").replace("rc", ".").split(".") if part]
        return cls(*(int(part) for part in numbers if is_digits(part)))

    @classmethod
    def from_name(cls, name: str) -> SaltStackVersion:
        """The release of that name.

        Raises:
            ValueError: there is none.
        """
        if name.lower() not in NAMES:
            raise ValueError(f"Named version '{name}' is not known")
        return cls(*NAMES[name.lower()])

    @property
    def major(self) -> int:
        """The first number."""
        return self.info[0]

    @property
    def minor(self) -> int:
        """The second number."""
        return self.info[1] if len(self.info) > 1 else 0

    @property
    def string(self) -> str:
        """The numbers with dots between them."""
        return ".".join(str(part) for part in self.info)

    def __str__(self) -> str:
        return self.string

    def __eq__(self, other: object) -> bool:
        return self.info == _version_info(other)

    def __lt__(self, other: object) -> bool:
        return self.info < _version_info(other)

    def __hash__(self) -> int:
        return hash(self.info)


def _version_info(other: object) -> tuple[Any, ...]:
    if isinstance(other, SaltStackVersion):
        return other.info
    if isinstance(other, str):
        return SaltStackVersion.parse(other).info
    return tuple(other) if isinstance(other, (tuple, list)) else ()


__saltstack_version__ = SaltStackVersion(*__version_info__)
