"""Repositories that are known by a short name: PPAs of Launchpad, projects of COPR.

``ppa:owner/archive`` is for Ubuntu and what is made from it, ``copr:owner/project`` for dnf.
Source: add-apt-repository(1), dnf-copr(8), Launchpad's API; commands observed on Salt 3006.30.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Protocol

from saltlite.core.lazyregex import regex
from saltlite.errors import CommandError, FunctionError
from saltlite.providers.pkg import apt_keys, apt_repos, provider
from saltlite.providers.pkg.apt_sources import AptSource
from saltlite.providers.pkg.options import SourceOptions
from saltlite.providers.pkg.tools import act, complaint

if TYPE_CHECKING:
    from saltlite.context import MinionContext
    from saltlite.providers.pkg.dnf import Dnf

UBUNTU = ("Ubuntu", "Mint", "neon", "Pop", "elementary OS")
"""The grain ``os`` of systems whose packages fit those of a PPA."""

HOSTS = ("ppa.launchpad.net", "ppa.launchpadcontent.net", "private-ppa.launchpad.net")
TOOLS = ("apt-add-repository", "add-apt-repository")
KEYSERVER = "keyserver.ubuntu.com"
COPR_HUB = "copr.fedorainfracloud.org"

_SHORT = regex(r"(?P<kind>ppa|copr):(?P<owner>[@~]?[\w.+-]+)/(?P<name>[\w.+-]+)$")


class Shortcut(Protocol):
    """A repository that is not named by its address."""

    def get(self) -> dict[str, Any]:
        """What it is now, ``{}`` if it is not there or not used."""

    def check(self) -> None:
        """Raise FunctionError if it could not be configured for want of a program."""

    def make(self, options: SourceOptions) -> dict[str, Any]:
        """Configure it; what it is then. Raises FunctionError."""

    def remove(self) -> str:
        """Remove it; a sentence about it. Raises FunctionError if it is not there."""


def is_short(repo: str) -> bool:
    """Whether a name is meant to be one of these, well-formed or not."""
    return repo.startswith("ppa:") or (repo.startswith("copr:") and "/" in repo)


def shortcut(ctx: MinionContext, repo: str) -> Shortcut | None:
    """The repository of a short name; ``None`` for any other, and where there are none such.

    Raises:
        FunctionError: the name is not formed as one.
    """
    from saltlite.providers.pkg.apt import Apt
    from saltlite.providers.pkg.dnf import Dnf

    if not is_short(repo):
        return None
    back_end, kind = provider(ctx), repo.partition(":")[0]
    ubuntu = isinstance(back_end, Apt) and ctx.grains.get("os") in UBUNTU
    if not (ubuntu if kind == "ppa" else isinstance(back_end, Dnf)):
        return None
    match = _SHORT.match(repo)
    if match is None:
        raise FunctionError(f"{repo!r} is not formed as {kind}:owner/name")
    owner, name = match.group("owner", "name")
    return Copr(ctx, back_end, owner, name) if isinstance(back_end, Dnf) else Ppa(ctx, owner, name)


def ppa_key(ctx: MinionContext, repo: str) -> str:
    """The fingerprint of a PPA's key, as Launchpad tells.

    Raises:
        FunctionError: the name is not that of a PPA, or Launchpad tells no key.
    """
    match = _SHORT.match(repo)
    if match is None or not repo.startswith("ppa:"):
        raise FunctionError(f"{repo!r} is not formed as ppa:owner/name")
    return Ppa(ctx, *match.group("owner", "name")).fingerprint()


class Ppa:
    """A personal package archive."""

    def __init__(self, ctx: MinionContext, owner: str, name: str) -> None:
        self.ctx, self.owner, self.name = ctx, owner.lstrip("~"), name

    def get(self) -> dict[str, Any]:
        """The source that is in use, whoever wrote it."""
        return next((each.as_map() for each in self._find_entries() if not each.disabled), {})

    def _find_entries(self) -> list[AptSource]:
        ours = re.compile(
            rf"https?://(?:[^@/]+@)?(?:{'|'.join(map(re.escape, HOSTS))})"
            rf"/{re.escape(self.owner)}/{re.escape(self.name)}/ubuntu/?$"
        )
        found = apt_repos.entries(self.ctx)
        return [each for each in found if ours.match(each.uri) and each.kind == "deb"]

    def check(self) -> None:
        """Nothing is needed: without Ubuntu's program it is done here."""

    def make(self, options: SourceOptions) -> dict[str, Any]:
        """By Ubuntu's own program; without it the source and its key are written here.

        ``keyid`` saves a question to Launchpad, ``keyserver`` is Ubuntu's, ``dist`` this release,
        unless they are given.
        """
        tool = next((name for name in TOOLS if self.ctx.host.which(name)), None)
        if tool is None or options.dist:
            self._write_source(options)
            return self.get()
        done = act(self.ctx, [tool, "-y", f"ppa:{self.owner}/{self.name}"])
        if done.exit_code != 0:
            raise FunctionError(
                f"Unable to add PPA '{self.owner}/{self.name}'. '{tool}' exited with status"
                f" {done.exit_code}: '{complaint(done)[0]}'"
            )
        return self.get()

    def _write_source(self, options: SourceOptions) -> None:
        dist = str(options.dist or self.ctx.grains.get("oscodename") or "")
        place = f"/etc/apt/sources.list.d/{self.owner}-{self.name}-{dist}.list"
        ring = f"{apt_keys.KEYRINGS}/{self.owner}-{self.name}.gpg"
        keyids = options.keyid or [self.fingerprint()]
        server = str(options.keyserver or KEYSERVER)
        apt_keys.receive(self.ctx, server, keyids, ring)
        line = f"deb [signed-by={ring}] https://{HOSTS[1]}/{self.owner}/{self.name}/ubuntu"
        file = str(options.file or place)
        asked = SourceOptions(file=file, disabled=False)
        apt_repos.mod_repo(self.ctx, f"{line} {dist} main", asked)

    def fingerprint(self) -> str:
        """The key of an archive, as Launchpad tells."""
        url = f"https://launchpad.net/api/1.0/~{self.owner}/+archive/ubuntu/{self.name}"
        told = self.ctx.functions.call("http.query", url, decode=True, decode_type="json")
        found = told.get("dict", {}).get("signing_key_fingerprint") if "dict" in told else None
        if not found:
            reason = told.get("error") or "it tells no key"
            raise FunctionError(f"Launchpad was asked for the key of the PPA: {reason}")
        return str(found)

    def remove(self) -> str:
        """All sources of it."""
        found = self._find_entries()
        if not found:
            said = f"Repo ppa:{self.owner}/{self.name} doesn't exist in the sources.list(s)"
            raise FunctionError(said)
        return "".join(apt_repos.del_repo(self.ctx, each.line()) for each in found)


class Copr:
    """A project that is built by COPR."""

    def __init__(self, ctx: MinionContext, back_end: Dnf, owner: str, name: str) -> None:
        self.ctx, self.back_end, self.project = ctx, back_end, f"{owner}/{name}"
        owner = f"group_{owner[1:]}" if owner.startswith("@") else owner
        self.id = f"copr:{COPR_HUB}:{owner}:{name}"

    def get(self) -> dict[str, Any]:
        """The repository, if it is enabled."""
        found = self.back_end.get_repo(self.id, {})
        return found if found.get("enabled", "1") == "1" else {}

    def check(self) -> None:
        """The plug-in has to be there."""
        if {"dnf-plugins-core", "dnf5-plugins"}.isdisjoint(self.back_end.list_installed()):
            raise FunctionError("dnf-plugins-core must be installed to use COPR")
        if self.ctx.host.which("dnf") is None:
            raise CommandError(["dnf"], None, "dnf is not there")

    def make(self, options: SourceOptions) -> dict[str, Any]:
        """By the plug-in of dnf."""
        self.check()
        done = act(self.ctx, ["dnf", "copr", "enable", self.project, "-y"])
        if done.exit_code != 0:
            raise FunctionError(
                f"Unable to add COPR '{self.project}'. 'dnf' exited with status"
                f" {done.exit_code}: '{complaint(done)[0]}'"
            )
        return self.get()

    def remove(self) -> str:
        """The repository, and its file."""
        return str(self.back_end.del_repo(self.id, {}))
