"""Which distribution this is: the ``os*`` and ``lsb_distrib_*`` grains."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any

from saltlite.core.dataclasses import dataclass
from saltlite.core.fields import read_fields
from saltlite.core.lazyregex import regex
from saltlite.core.numbers import is_digits
from saltlite.grains.programs import Programs
from saltlite.host import Host

PATHS = ("/etc/os-release", "/usr/lib/os-release")

LSB_PATH = "/etc/lsb-release"
"""Where a distribution has this file, what it says goes before os-release."""

UNKNOWN = "n/a"

_LSB = regex(r"(DISTRIB_(?:ID|RELEASE|CODENAME|DESCRIPTION))=['\"]?([\w\s.-]+)")

_OS_NAMES = {
    "Alibaba Cloud Linux": "Alinux",
    "Amazon Linux AMI": "Amazon",
    "KDE neon": "KDE neon",
    "Linux Mint": "Mint",
    "Oracle Linux Server": "OEL",
    "Pop!_OS": "Pop",
    "SLED": "SUSE",
    "SLES": "SUSE",
    "Scientific Linux": "ScientificLinux",
    "openSUSE Leap": "SUSE",
    "openSUSE Tumbleweed": "SUSE",
}
"""Salt's ``os`` for a NAME that the general rule does not turn into it."""

_FAMILIES = {
    "Debian": "Ubuntu|Mint|Raspbian|Kali|Devuan|Pop|Deepin|TurnKey|Trisquel|Linaro|Mendel|Cumulus"
    "|OSMC|antiX|elementary OS|KDE neon",
    "RedHat": "Fedora|CentOS|CentOS Stream|Amazon|Rocky|AlmaLinux|CloudLinux|OEL|ScientificLinux"
    "|XenServer|XCP-ng|ALT|Alinux|VMware Photon OS",
    "Suse": "SUSE|SLES_SAP|openSUSE",
    "Arch": "Manjaro|EndeavourOS",
    "Gentoo": "Funtoo",
}
_FAMILY_OF = {name: family for family, names in _FAMILIES.items() for name in names.split("|")}

_WHOLE_RELEASE = ("Ubuntu", "Pop")
"""Their fingerprint has the whole release, not only the first number."""

_NAMED_BY_OS = ("Debian", "Raspbian")
"""Their fingerprint has ``os``, not the full name."""

_CODENAME_IN_VERSION = ("almalinux", "rocky")


@dataclass(frozen=True, slots=True, kw_only=True)
class OsRelease:
    """The entries of an os-release file that grains are made of. Source: os-release(5)."""

    id: str = ""
    name: str = ""
    pretty_name: str = "Linux"
    version: str = ""
    version_codename: str | None = None
    version_id: str = ""


def read(host: Host) -> dict[str, Any]:
    """The grains of this machine."""
    text = next((found for path in PATHS if (found := host.read_text(path)) is not None), "")
    release = parse_os_release(text)
    lsb = parse_lsb_release(host.read_text(LSB_PATH) or "")
    if lsb:
        return os_grains(release, lsb.get("lsb_distrib_release") or _full_version(release), lsb)
    return os_grains(release, _other_version(host, release))


def _other_version(host: Host, release: OsRelease) -> str | None:
    """The version from a file of the distribution's own, where os-release has no good one."""
    if _is_centos(release):
        return parse_centos_release(host.read_text("/etc/centos-release") or "")
    if release.id == "debian" and not release.version_id:
        return (host.read_text("/etc/debian_version") or "").strip() or None
    return None


def parse_lsb_release(text: str) -> dict[str, str]:
    """The ``lsb_distrib_*`` grains that the file gives; none without an id.

    A value ends, as Salt reads it, before the first character that is not usual in names. Source:
    observed on Salt 3006.30 with the directories of tests/cases/data/grains/etc.
    """
    found = {}
    for line in text.splitlines():
        match = _LSB.match(line)
        if match:
            found[f"lsb_{match.group(1).lower()}"] = match.group(2).rstrip()
    return found if "lsb_distrib_id" in found else {}


def _full_version(release: OsRelease) -> str | None:
    """The version, with all its parts where VERSION has more of them than VERSION_ID."""
    number = release.version_id
    match = re.match(r"[\d.]+", release.version)
    return match.group() if match and match.group().startswith(number) else number or None


def _is_centos(release: OsRelease) -> bool:
    return release.name == "CentOS Linux"


def parse_os_release(text: str) -> OsRelease:
    """The entries of an os-release file. Source: os-release(5)."""
    entries = {}
    for line in text.splitlines():
        name, equals, value = line.strip().partition("=")
        if equals and name.strip().isupper():
            entries[name.strip().lower()] = _unquote(value)
    return read_fields(OsRelease, entries)


_QUOTING = frozenset("\"'\\")


def _unquote(value: str) -> str:
    # Most are words, or a text between double quotes: no lexer is loaded for those.
    inner = value[1:-1] if len(value) > 1 and value[0] == value[-1] == '"' else value
    if _QUOTING.isdisjoint(inner) and (inner != value or not any(map(str.isspace, value))):
        return inner
    try:
        return " ".join(shlex.split(value))
    except ValueError:
        return value.strip("\"'")


def parse_centos_release(text: str) -> str | None:
    """``7.9.2009`` of ``CentOS Linux release 7.9.2009 (Core)``."""
    match = re.search(r"release ([\d.]+)", text)
    return match.group(1) if match else None


def os_grains(
    release: OsRelease, version: str | None = None, lsb: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The grains for the entries of os-release; ``version`` goes before ``VERSION_ID``.

    ``lsb`` are the grains of :func:`parse_lsb_release`, if there is such a file.
    """
    full_name = release.name.strip() or "Linux"
    os_name = os_of(full_name)
    number = version or release.version_id or UNKNOWN
    shown_name = "Leap" if full_name == "openSUSE Leap" else full_name
    info = release_info(number)
    major = info[0] if isinstance(info[0], int) else ""
    if lsb:
        codename = _lsb_codename_or_other(release, lsb)
    else:
        lsb = _lsb_of_release(release, full_name)
        codename = _find_codename(os_name, release, lsb["lsb_distrib_codename"])
    return {
        "os": os_name,
        "os_family": _FAMILY_OF.get(os_name, os_name),
        "osfullname": shown_name,
        "oscodename": codename,
        "osrelease": number,
        "osrelease_info": info,
        "osmajorrelease": major,
        "osfinger": _build_osfinger(os_name, shown_name, number),
        **lsb,
    }


def _lsb_of_release(release: OsRelease, full_name: str) -> dict[str, str]:
    return {
        "lsb_distrib_id": full_name,
        "lsb_distrib_release": "" if _is_centos(release) else release.version_id,
        "lsb_distrib_codename": _lsb_codename(release),
    }


def _lsb_codename_or_other(release: OsRelease, lsb: Mapping[str, str]) -> str:
    return (
        lsb.get("lsb_distrib_codename")
        or release.version_codename
        or _in_parentheses(release.version)
        or UNKNOWN
    )


def os_of(full_name: str) -> str:
    """Salt's ``os`` for the NAME of a distribution.

    Source: observed on Salt 3006.30 with the files of tests/cases/data/grains/os-release.
    """
    if full_name in _OS_NAMES:
        return _OS_NAMES[full_name]
    if full_name.startswith("Red Hat Enterprise Linux"):
        return "RedHat"
    return re.sub(r"(?i) (GNU/)?Linux\b", "", full_name)


def _lsb_codename(release: OsRelease) -> str:
    if release.version_codename is not None:
        return release.version_codename
    pretty = release.pretty_name
    if release.id in _CODENAME_IN_VERSION:
        return _in_parentheses(release.version) or pretty
    return pretty


def _find_codename(os_name: str, release: OsRelease, lsb_codename: str) -> str:
    if os_name == "RedHat":
        return _in_parentheses(release.version) or lsb_codename.strip()
    return lsb_codename.strip()


def _in_parentheses(text: str) -> str:
    match = re.search(r"\(([^)]+)\)", text)
    return match.group(1) if match else ""


def release_info(number: str) -> list[int | str]:
    """``[22, 4]`` of ``22.04``; parts that are no numbers stay text."""
    return [int(part) if is_digits(part) else part for part in number.split(".")]


def _build_osfinger(os_name: str, full_name: str, number: str) -> str:
    name = os_name if os_name in _NAMED_BY_OS else full_name
    return f"{name}-{number if os_name in _WHOLE_RELEASE else number.partition('.')[0]}"


def architecture(host: Programs, os_family: str, machine: str) -> str:
    """``osarch``: what the distribution's packages call this machine's architecture."""
    if os_family == "Debian" and host.which("dpkg"):
        return host.run(["dpkg", "--print-architecture"]).stdout.strip() or machine
    if os_family in ("RedHat", "Suse") and host.which("rpm"):
        return host.run(["rpm", "--eval", "%{_host_cpu}"]).stdout.strip() or machine
    return machine
