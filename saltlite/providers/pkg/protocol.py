"""What package managers can do, and what they are asked.

What every one can do is :class:`Packages`; the other protocols are features that some have
(``isinstance`` asks for them).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from saltlite.core.dataclasses import dataclass, field
from saltlite.providers.pkg.options import PackageOptions

NO_OPTIONS = PackageOptions()
"""What is done where nobody wants anything special."""

Versions = dict[str, list[str]]
"""Installed versions of each package; mostly one."""


@dataclass(frozen=True, slots=True)
class PackageRequest:
    """A package that was asked for. ``version`` ``None`` means any; it is exact, no condition.

    ``file`` is a package file on this machine instead.
    """

    name: str
    version: str | None = None
    file: str | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """What is to be done: ``install``, ``remove``, ``purge``, ``upgrade`` or ``autoremove``.

    A provider takes the ``options`` it knows. ``installed`` is what was there before.
    """

    action: str
    targets: Sequence[PackageRequest] = ()
    options: PackageOptions = NO_OPTIONS
    installed: Mapping[str, Sequence[str]] = field(default_factory=dict)


class Packages(Protocol):
    """What every package manager can do."""

    def list_installed(self, *, removed: bool = False, purge_desired: bool = False) -> Versions:
        """The installed packages; with ``removed`` those of which only configuration is left."""

    def available(self, names: Sequence[str], options: PackageOptions) -> dict[str, str]:
        """The version that would be installed of each name, ``""`` for none."""

    def list_offered(self, names: Sequence[str], options: PackageOptions) -> Versions:
        """All versions there are of each name (globs are possible), newest first."""

    def upgrades(self, options: PackageOptions) -> dict[str, str]:
        """The packages that an upgrade would change, and their new versions."""

    def refresh(self, options: PackageOptions) -> Any:
        """Get the lists of packages anew; Salt's answer for this package manager."""

    def change(self, change: Change) -> list[str]:
        """Do it; the complaints of commands that failed."""


@runtime_checkable
class Comparing(Protocol):
    """Knows the order of its versions and the architectures in its names."""

    def compare(self, first: str, second: str) -> int | None:
        """-1, 0, 1; ``None`` if they cannot be compared."""

    def normalize(self, name: str) -> str:
        """A package name without this machine's own architecture."""

    def parse_arch(self, name: str) -> dict[str, str | None]:
        """``{"name", "arch"}``."""


@runtime_checkable
class Holding(Protocol):
    """Can keep packages as they are."""

    def list_held(self) -> list[str]:
        """The packages that are held."""

    def hold(self, names: Sequence[str]) -> dict[str, Any]:
        """Hold them; Salt's answer for each."""

    def unhold(self, names: Sequence[str]) -> dict[str, Any]:
        """Let them go; Salt's answer for each."""


@runtime_checkable
class Opening(Protocol):
    """Can look into package files."""

    def file_version(self, path: str) -> str:
        """The version of the package in a file on this machine, ``""`` if there is none."""


@runtime_checkable
class Repositories(Protocol):
    """Can show where packages come from."""

    def list_repos(self, options: Mapping[str, object]) -> dict[str, Any]:
        """All of them, by the name that this package manager gives them."""

    def get_repo(self, repo: str, options: Mapping[str, object]) -> dict[str, Any]:
        """One of them, ``{}`` for none."""


@runtime_checkable
class Configuring(Repositories, Protocol):
    """Can change where packages come from, too."""

    def check_repo(self, repo: str, options: Mapping[str, object]) -> None:
        """Raise FunctionError if ``mod_repo`` would not do it."""

    def mod_repo(self, repo: str, options: Mapping[str, object]) -> dict[str, Any]:
        """Make or change one; what it is then."""

    def del_repo(self, repo: str, options: Mapping[str, object]) -> Any:
        """Remove one; Salt's sentence about it."""


@runtime_checkable
class Describing(Protocol):
    """Knows the files and the details of packages."""

    def files(self, names: Sequence[str]) -> tuple[dict[str, list[str]], list[str]] | str:
        """The files of each package and the complaints; or one sentence if there is no answer."""

    def owners(self, paths: Sequence[str]) -> dict[str, str]:
        """The package each path belongs to, ``""`` for none."""

    def info(self, names: Sequence[str], options: Mapping[str, object]) -> dict[str, Any]:
        """Details of installed packages, by Salt's names."""

    def show(self, names: Sequence[str], fields: Sequence[str]) -> dict[str, Any]:
        """Details of the versions that are offered."""
