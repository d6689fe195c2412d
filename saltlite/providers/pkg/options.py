"""What may be said besides names when packages are installed, asked for or upgraded.

Made of keyword arguments where a function is called; a provider reads what it knows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from saltlite.core.dataclasses import dataclass
from saltlite.core.fields import read_fields
from saltlite.providers.pkg.names import truth, words

_READERS = {"bool": truth, "bool | None": truth, "Sequence[str]": words}


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageOptions:
    """Keywords of ``pkg.install`` and its kin. Those of one package manager are as it has them.

    ``fromrepo`` is a repository or, with apt, a release; yum and zypper take several.
    ``dist_upgrade`` and ``update_holds`` of ``None`` leave it to the package manager.
    """

    advisory_ids: Sequence[str] = ()
    fromrepo: object = None
    version: object = None
    ignore_epoch: bool = False
    reinstall: bool = False
    downloadonly: bool = False
    skip_verify: bool = False
    hold: bool = False
    update_holds: bool | None = None
    install_recommends: bool = True
    dist_upgrade: bool | None = None
    purge: bool = False
    # apt
    repo: object = None
    allow_downgrades: bool = False
    cache_valid_time: float | str | None = 0
    download_only: bool = False
    failhard: bool = False
    force_conf_new: bool = False
    force_yes: bool = False
    only_upgrade: bool = False
    # dnf, yum
    branch: str = ""
    check_update: bool = True
    disableexcludes: str = ""
    disablerepo: Sequence[str] = ()
    enablerepo: Sequence[str] = ()
    minimal: bool = False
    security: bool = False
    setopt: Sequence[str] = ()
    # pacman
    sysupgrade: bool = False
    # zypper
    force: bool = True
    no_recommends: bool = False

    @classmethod
    def of(cls, given: Mapping[str, object]) -> PackageOptions:
        """Of keyword arguments; Salt also spells one of them with a hyphen."""
        dist = {"dist_upgrade": given["dist-upgrade"]} if "dist-upgrade" in given else {}
        return read_fields(cls, {**dist, **given}, _READERS)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """Keywords of ``pkg.mod_repo`` that apt knows. ``disabled`` ``None`` leaves it as it is."""

    architectures: Sequence[str] = ()
    comments: object = None
    comps: Sequence[str] = ()
    consolidate: bool = False
    disabled: bool | None = None
    dist: object = None
    file: object = None
    refresh: bool = True
    signedby: object = None
    aptkey: bool = True
    keyid: Sequence[str] = ()
    keyserver: object = None
    key_text: object = None
    key_url: Sequence[str] = ()

    @classmethod
    def of(cls, given: Mapping[str, object]) -> SourceOptions:
        """Of keyword arguments; ``enabled`` is the other way to say ``disabled``."""
        off = {"disabled": not truth(given["enabled"])} if "enabled" in given else {}
        return read_fields(cls, {**off, **given}, _READERS)
