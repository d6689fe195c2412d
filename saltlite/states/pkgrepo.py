"""Where packages come from: sources of apt, repositories of dnf and zypper.

Comments are Salt's. Source: modules.md 3; observed on Salt 3006.30 (Debian).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from saltlite.context import MinionContext
from saltlite.errors import FunctionError, FunctionUnavailable
from saltlite.highstate.resource import Declared, Resource, Step, Verdict
from saltlite.providers.pkg import Repositories, provider
from saltlite.providers.pkg.requests import truth

_MIND = (
    " This may cause pkg states to behave differently than stated if this action is repeated"
    " without test=True, due to the differences in the configured repositories."
)
_TOLD = ("architectures", "comps", "disabled", "line", "signedby")
_BOOLEANS = {"true": "1", "yes": "1", "on": "1", "false": "0", "no": "0", "off": "0"}


@dataclass(frozen=True, slots=True)
class Now:
    """A source, and what it would be; ``wrong``: why it cannot be."""

    there: Mapping[str, Any] = field(default_factory=dict)
    wanted: Mapping[str, Any] = field(default_factory=dict)
    wrong: str = ""

    def changes(self) -> dict[str, Any]:
        """The values that differ."""
        return {
            key: {"old": self.there.get(key), "new": value}
            for key, value in self.wanted.items()
            if self.there.get(key) != value
        }


@dataclass(frozen=True, kw_only=True)
class Source(Resource[Now]):
    """A source of packages that is configured."""

    name: str
    options: Mapping[str, Any]
    refresh: bool
    clean_file: bool = False

    def read(self, ctx: MinionContext) -> Now:
        """Look at the sources."""
        try:
            return self._of_apt(ctx) if _is_apt(ctx) else self._of_others(ctx)
        except FunctionError as error:
            return Now(wrong=f"Failed to configure repo '{self.name}': {error}")

    def _of_apt(self, ctx: MinionContext) -> Now:
        from saltlite.providers.pkg.apt_repos import planned

        there, wanted = planned(ctx, self.name, self.options)
        return Now(_told(there), _told(wanted))

    def _of_others(self, ctx: MinionContext) -> Now:
        there = ctx.functions.call("pkg.get_repo", self.name)
        known = {key: _text(value) for key, value in there.items()}
        return Now(known, {key: _text(value) for key, value in self.options.items()})

    def plan(self, now: Now) -> Sequence[Step] | Verdict:
        """Configure it."""
        if now.wrong:
            return Verdict(result=False, comment=now.wrong)
        if now.there and not now.changes():
            return []
        return [
            Step(
                would=f"Package repo '{self.name}' would be configured.{_MIND}",
                did=f"Configured package repo '{self.name}'",
                run=self._configure,
                changes=now.changes() if now.there else {"repo": self.name},
            )
        ]

    def _configure(self, ctx: MinionContext) -> None:
        call, file = ctx.functions.call, self.options.get("file")
        if self.clean_file and file and ctx.host.exists(str(file)):
            call("file.remove", str(file))
        try:
            call("pkg.mod_repo", self.name, **{**self.options, "refresh": False})
        except FunctionError as error:
            raise FunctionError(f"Failed to configure repo '{self.name}': {error}") from error
        if self.refresh:
            call("pkg.refresh_db")

    def settled(self, now: Now) -> str:
        """It is configured so."""
        return f"Package repo '{self.name}' already configured"

    def unmet(self, after: Now, left: Sequence[Step]) -> str:
        """It was configured and is not so."""
        return f"Failed to configure repo '{self.name}'"


@dataclass(frozen=True, kw_only=True)
class NoSource(Resource[bool]):
    """A source of packages that is not configured."""

    name: str
    refresh: bool

    def read(self, ctx: MinionContext) -> bool:
        """Whether it is there."""
        found = ctx.functions.call("pkg.get_repo", self.name)
        return bool(found) and (not _is_apt(ctx) or _shares(found, self.name))

    def plan(self, now: bool) -> Sequence[Step] | Verdict:
        """Remove it."""
        if not now:
            return []
        return [
            Step(
                would=f"Package repo '{self.name}' will be removed.{_MIND}",
                did=f"Removed repo {self.name}",
                run=self._remove,
                changes={"repo": self.name},
            )
        ]

    def _remove(self, ctx: MinionContext) -> None:
        ctx.functions.call("pkg.del_repo", self.name, refresh=False)
        if self.refresh:
            ctx.functions.call("pkg.refresh_db")

    def settled(self, now: bool) -> str:
        """It is not there."""
        return f"Package repo {self.name} is absent"

    def unmet(self, after: bool, left: Sequence[Step]) -> str:
        """It is still there."""
        return f"Failed to remove repo {self.name}"


def _shares(source: Mapping[str, Any], line: str) -> bool:
    """Whether a source of apt has one of the components in a line; others may stay."""
    from saltlite.providers.pkg.apt_sources import parse_line

    wanted = parse_line(line)
    components = set(wanted.components) if wanted else set()
    return not components or bool(components & set(source.get("comps", ())))


def _told(source: Mapping[str, Any]) -> dict[str, Any]:
    found = {key: source[key] for key in _TOLD if key in source}
    if "line" in found:
        found["line"] = str(found["line"]).strip()
    return found


def _text(value: Any) -> str:
    """A value as a repository's file has it."""
    if isinstance(value, bool):
        return "1" if value else "0"
    text = " ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
    return _BOOLEANS.get(text.strip().lower(), text.strip())


def _is_apt(ctx: MinionContext) -> bool:
    from saltlite.providers.pkg.apt import Apt

    return isinstance(provider(ctx), Apt)


def _refusal(ctx: MinionContext, given: Mapping[str, Any]) -> Verdict | None:
    try:
        able = isinstance(provider(ctx), Repositories)
    except FunctionUnavailable:
        able = False
    if not able:
        said = "Repo management not implemented on this platform"
        return Verdict(result=False, comment=said)
    lacking = [name for name in ("ppa", "copr", "consolidate") if given.get(name)]
    if lacking:
        said = f"saltlite cannot configure repositories with {', '.join(lacking)}"
        return Verdict(result=False, comment=said)
    return None


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
    nothing else in ``file`` if the source has to be configured.
    """
    if "enabled" in kwargs and "disabled" in kwargs:
        return Verdict(result=False, comment="Only one of enabled/disabled is allowed")
    refused = _refusal(ctx, {**kwargs, "ppa": ppa, "copr": copr})
    if refused:
        return refused
    refresh = truth(kwargs.pop("refresh", kwargs.pop("refresh_db", True)))
    clean_file = truth(kwargs.pop("clean_file", False))
    options = {key: value for key, value in kwargs.items() if not key.startswith("__")}
    if _is_apt(ctx):
        options["aptkey"] = aptkey
        if "enabled" in options:
            options["disabled"] = not truth(options.pop("enabled"))
    else:
        options = _for_ini(name, options)
    return Source(name=name, options=options, refresh=refresh, clean_file=clean_file)


def _for_ini(name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a repository in a file of dnf or zypper, by their names there."""
    given = dict(options)
    named = given.pop("humanname", given.pop("name", name))
    if "disabled" in given:
        given["enabled"] = not truth(given.pop("disabled"))
    return {"enabled": True, **given, "name": named}


def absent(ctx: MinionContext, name: str, **kwargs: Any) -> Declared:
    """A source of packages is not configured."""
    refused = _refusal(ctx, kwargs)
    if refused:
        return refused
    return NoSource(name=name, refresh=truth(kwargs.get("refresh", True)))
