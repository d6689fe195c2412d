"""Where packages come from: sources of apt, repositories of dnf and zypper.

Comments are Salt's. Source: docs/states-reference.md; observed on Salt 3006.30 (Debian).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass, field
from saltlite.core.fields import read_fields
from saltlite.core.keywords import own_keywords
from saltlite.errors import FunctionError, FunctionUnavailable, SaltliteError
from saltlite.highstate.resource import Declared, Resource, Step, Verdict
from saltlite.providers.pkg import ini_repos, provider
from saltlite.providers.pkg.names import truth
from saltlite.providers.pkg.options import SourceOptions
from saltlite.providers.pkg.protocol import Configuring
from saltlite.providers.pkg.shortcuts import UBUNTU, is_short, shortcut

_MIND = (
    " This may cause pkg states to behave differently than stated if this action is repeated"
    " without test=True, due to the differences in the configured repositories."
)
_AROUND = frozenset({"comments", "basedir", "file", "refresh", "gpgautoimport"})
"""What may be said of a repository besides the options in its file."""

_OF_APT = frozenset(
    {"aptkey", "comps", "consolidate", "dist", "key_text", "key_url", "keyid", "keyserver"}
)
"""Keywords for apt: in a declaration for several systems; no options of a ``.repo`` file."""

_THERE = "there"
_TOLD = ("architectures", "comps", "disabled", "line", "signedby")
_BOOLEANS = {"true": "1", "yes": "1", "on": "1", "false": "0", "no": "0", "off": "0"}


@dataclass(frozen=True, slots=True)
class RepoStatus:
    """A source, and what it would be; ``wrong``: why it cannot be.

    ``lacking`` is what is missing of its keys; no matter where nothing is to be changed.
    """

    there: Mapping[str, Any] = field(default_factory=dict)
    wanted: Mapping[str, Any] = field(default_factory=dict)
    wrong: str = ""
    lacking: str = ""

    def changes(self) -> dict[str, Any]:
        """The values that differ."""
        return {
            key: {"old": self.there.get(key), "new": value}
            for key, value in self.wanted.items()
            if self.there.get(key) != value
        }


@dataclass(frozen=True, kw_only=True)
class PackageSource(Resource[RepoStatus]):
    """A source of packages that is configured."""

    name: str
    options: Mapping[str, Any]
    refresh: bool
    clean_file: bool = False

    def read(self, ctx: MinionContext) -> RepoStatus:
        """Look at the sources."""
        try:
            return self._of_apt(ctx) if _is_apt(ctx) else self._of_others(ctx)
        except FunctionError as error:
            return RepoStatus(wrong=f"Failed to configure repo '{self.name}': {error}")

    def _of_apt(self, ctx: MinionContext) -> RepoStatus:
        from saltlite.providers.pkg.apt_repos import plan_repo

        asked = SourceOptions.of(self.options)
        there, wanted = plan_repo(ctx, self.name, asked)
        return RepoStatus(
            _show_source(there),
            _show_source(wanted),
            lacking=_lacking_keys(ctx, self.name, asked),
        )

    def _of_others(self, ctx: MinionContext) -> RepoStatus:
        there = dict(ctx.functions.call("pkg.get_repo", self.name))
        found = provider(ctx)
        if isinstance(found, Configuring):
            found.check_repo(self.name, self.options)
        comments = str(there.pop("comments", "")).splitlines()
        known = {key: _show_value(value) for key, value in there.items()}
        wanted = {
            key: _show_value(value) for key, value in self.options.items() if key not in _AROUND
        }
        missing = set(ini_repos.strip_comments(self.options.get("comments"))) - set(comments)
        if missing:
            known["comments"] = "\n".join(comments)
            wanted["comments"] = "\n".join(ini_repos.strip_comments(self.options["comments"]))
        gone = [key for key, value in wanted.items() if not value and key not in known]
        return RepoStatus(known, {key: value for key, value in wanted.items() if key not in gone})

    def plan(self, now: RepoStatus) -> Sequence[Step] | Verdict:
        """Configure it."""
        if now.wrong:
            return Verdict(result=False, comment=now.wrong)
        if now.there and not now.changes():
            return []
        if now.lacking:
            said = f"Failed to configure repo '{self.name}': {now.lacking}"
            return Verdict(result=False, comment=said)
        return [
            Step(
                would=f"Package repo '{self.name}' would be configured.{_MIND}",
                did=f"Configured package repo '{self.name}'",
                run=self._configure_source,
                changes=now.changes() if now.there else {"repo": self.name},
            )
        ]

    def _configure_source(self, ctx: MinionContext) -> None:
        call, file = ctx.functions.call, self.options.get("file")
        if self.clean_file and file and ctx.host.exists(str(file)):
            call("file.remove", str(file))
        try:
            call("pkg.mod_repo", self.name, **{**self.options, "refresh": False})
        except FunctionError as error:
            raise FunctionError(f"Failed to configure repo '{self.name}': {error}") from error
        if self.refresh:
            call("pkg.refresh_db")

    def comment_unchanged(self, now: RepoStatus) -> str:
        """It is configured so."""
        return f"Package repo '{self.name}' already configured"

    def unmet(self, after: RepoStatus, left: Sequence[Step]) -> str:
        """It was configured and is not so."""
        return f"Failed to configure repo '{self.name}'"


@dataclass(frozen=True, kw_only=True)
class Short(Resource[str]):
    """A PPA or a project of COPR that is in use. Read: why it cannot be, ``"there"``, or ``""``."""

    name: str
    repo: str
    options: Mapping[str, Any]
    refresh: bool

    def read(self, ctx: MinionContext) -> str:
        """Look at the sources."""
        try:
            short = shortcut(ctx, self.repo)
            if short is None:
                return f'cannot parse "ppa:" style repo definitions: {self.repo}'
            if ctx.functions.call("pkg.get_repo", self.repo):
                return _THERE
            short.check()
        except SaltliteError as error:
            return str(error)
        return ""

    def plan(self, now: str) -> Sequence[Step] | Verdict:
        """Configure it."""
        if now == _THERE:
            return []
        if now:
            return Verdict(result=False, comment=self._say_failed(now))
        return [
            Step(
                would=f"Package repo '{self.name}' would be configured.{_MIND}",
                did=f"Configured package repo '{self.name}'",
                run=self._configure_short,
                changes={"repo": self.repo},
            )
        ]

    def _say_failed(self, reason: object) -> str:
        return f"Failed to configure repo '{self.name}': {reason}"

    def _configure_short(self, ctx: MinionContext) -> None:
        try:
            ctx.functions.call("pkg.mod_repo", self.repo, **{**self.options, "refresh": False})
        except SaltliteError as error:
            raise FunctionError(self._say_failed(error)) from error
        if self.refresh:
            ctx.functions.call("pkg.refresh_db")

    def comment_unchanged(self, now: str) -> str:
        """It is in use."""
        return f"Package repo '{self.name}' already configured"

    def unmet(self, after: str, left: Sequence[Step]) -> str:
        """The program said nothing and did not do it."""
        return f"Failed to configure repo '{self.name}'"


@dataclass(frozen=True, kw_only=True)
class NoSource(Resource[bool]):
    """A source of packages that is not configured."""

    name: str
    refresh: bool
    keyid: str = ""

    def read(self, ctx: MinionContext) -> bool:
        """Whether it is there."""
        found = ctx.functions.call("pkg.get_repo", self.name)
        return bool(found) and (not _is_apt(ctx) or _shares_component(found, self.name))

    def plan(self, now: bool) -> Sequence[Step] | Verdict:
        """Remove it."""
        if not now:
            return []
        return [
            Step(
                would=f"Package repo '{self.name}' will be removed.{_MIND}",
                did=f"Removed repo {self.name}{f', and keyid {self.keyid}' if self.keyid else ''}",
                run=self._remove_source,
                changes={"repo": self.name, **({"keyid": self.keyid} if self.keyid else {})},
            )
        ]

    def _remove_source(self, ctx: MinionContext) -> None:
        ctx.functions.call("pkg.del_repo", self.name, refresh=False)
        if self.refresh:
            ctx.functions.call("pkg.refresh_db")
        if self.keyid and not ctx.functions.call("pkg.del_repo_key", keyid=self.keyid):
            said = f"Removed repo {self.name}, but failed to remove key {self.keyid}"
            raise FunctionError(said)

    def comment_unchanged(self, now: bool) -> str:
        """It is not there."""
        return f"Package repo {self.name} is absent"

    def unmet(self, after: bool, left: Sequence[Step]) -> str:
        """It is still there."""
        return f"Failed to remove repo {self.name}"


def _shares_component(source: Mapping[str, Any], line: str) -> bool:
    """Whether a source of apt has one of the components in a line; others may stay."""
    from saltlite.providers.pkg.apt_sources import parse_line

    wanted = parse_line(line)
    components = set(wanted.components) if wanted else set()
    return not components or bool(components & set(source.get("comps", ())))


def _lacking_keys(ctx: MinionContext, line: str, options: SourceOptions) -> str:
    """What is missing to trust the keys that come with a source of apt."""
    from saltlite.providers.pkg.apt_keys import ring_of

    if not (options.keyid or options.key_url or options.key_text):
        return ""
    if options.keyid and not options.keyserver:
        return "both keyserver and keyid options required."
    try:
        ring_of(ctx, line, options)
    except FunctionError as error:
        return str(error)
    return ""


def _show_source(source: Mapping[str, object]) -> dict[str, Any]:
    found = {key: source[key] for key in _TOLD if key in source}
    if "line" in found:
        found["line"] = str(found["line"]).strip()
    return found


def _show_value(value: object) -> str:
    """A value as a repository's file has it."""
    if isinstance(value, bool):
        return "1" if value else "0"
    text = "" if value is None else str(value)
    if isinstance(value, (list, tuple)):
        text = " ".join(map(str, value))
    text = " ".join(text.split())  # a list has a line for each in the file
    return _BOOLEANS.get(text.lower(), text)


def _is_apt(ctx: MinionContext) -> bool:
    from saltlite.providers.pkg.apt import Apt

    return isinstance(provider(ctx), Apt)


def _find_refusal(ctx: MinionContext, given: Mapping[str, object]) -> Verdict | None:
    try:
        able = isinstance(provider(ctx), Configuring)
    except FunctionUnavailable:
        able = False
    if not able:
        said = "Repo management not implemented on this platform"
        return Verdict(result=False, comment=said)
    if given.get("copr") and not _is_dnf(ctx):
        said = "copr needs dnf; the package manager of this machine is another"
        return Verdict(result=False, comment=said)
    return None


def _is_dnf(ctx: MinionContext) -> bool:
    from saltlite.providers.pkg.dnf import Dnf

    return isinstance(provider(ctx), Dnf)


def _short_name(name: str, ppa: object, copr: object) -> str:
    """The name of a repository: that of a PPA or a project of COPR if one is given."""
    given = f"ppa:{ppa}" if ppa else f"copr:{copr}" if copr else name
    return given.replace("ppa:ppa:", "ppa:", 1).replace("copr:copr:", "copr:", 1)


def managed(
    ctx: MinionContext,
    name: str,
    ppa: str | None = None,
    copr: str | None = None,
    aptkey: bool = True,
    **kwargs: Any,
) -> Declared:
    """A source of packages is configured.

    With apt ``name`` is its whole line; elsewhere a name, and keywords are the options of the
    repository. ``refresh`` (or ``refresh_db``) gets the lists afterwards. ``clean_file`` leaves
    nothing else in ``file`` if the source has to be configured; ``consolidate`` then moves those of
    all other files to apt's main one. ``ppa`` (``owner/archive``, Ubuntu) and ``copr``
    (``owner/project``, dnf) are repositories with a short name.
    """
    if "enabled" in kwargs and "disabled" in kwargs:
        return Verdict(result=False, comment="Only one of enabled/disabled is allowed")
    refused = _find_refusal(ctx, {**kwargs, "ppa": ppa, "copr": copr})
    if refused:
        return refused
    refresh = truth(kwargs.pop("refresh", kwargs.pop("refresh_db", True)))
    clean_file = truth(kwargs.pop("clean_file", False))
    options = own_keywords(kwargs)
    repo = _short_name(name, ppa if _is_apt(ctx) else None, copr)
    if is_short(repo):
        return Short(name=name, repo=repo, options=options, refresh=refresh)
    if _is_apt(ctx):
        options["aptkey"] = aptkey
        if "enabled" in options:
            options["disabled"] = not truth(options.pop("enabled"))
    else:
        options = _for_ini(name, options)
    return PackageSource(name=name, options=options, refresh=refresh, clean_file=clean_file)


def _for_ini(name: str, options: Mapping[str, object]) -> dict[str, Any]:
    """Options of a repository in a file of dnf or zypper, by their names there."""
    given = {key: value for key, value in options.items() if key not in _OF_APT}
    named = given.pop("humanname", given.pop("name", name))
    if "disabled" in given:
        given["enabled"] = not truth(given.pop("disabled"))
    return {"enabled": True, **given, "name": named}


@dataclass(frozen=True, slots=True)
class AbsentOptions:
    """The keywords of :func:`absent`."""

    ppa: Any = None
    copr: Any = None
    refresh: Any = True
    keyid: Any = None


def absent(ctx: MinionContext, name: str, **kwargs: Any) -> Declared:
    """A source of packages is not configured.

    ``ppa`` and ``copr`` are as in :func:`managed`. With ``keyid`` apt does not trust that key any
    more, once the source is gone.
    """
    refused = _find_refusal(ctx, kwargs)
    if refused:
        return refused
    ubuntu = _is_apt(ctx) and ctx.grains.get("os") in UBUNTU
    given = read_fields(AbsentOptions, kwargs)
    return NoSource(
        name=_short_name(name, given.ppa if ubuntu else None, given.copr),
        refresh=truth(given.refresh),
        keyid=str(given.keyid or "") if _is_apt(ctx) else "",
    )
