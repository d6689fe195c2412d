"""Public keys of GnuPG in somebody's keyring."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Declared, Resource, Step, Verdict
from saltlite.modules import gpg
from saltlite.providers.gpg import OWNER_TRUST, TRUST, UNKNOWN, Key, Keyring


def present(
    name: str,
    keys: object = None,
    user: str | None = None,
    keyserver: str | None = None,
    gnupghome: str | None = None,
    trust: str | None = None,
    **kwargs: Any,
) -> Declared:
    """The key ``name``, or ``keys``, in the keyring of ``user``; missing ones come from a server.

    ``trust`` is how far their owners are trusted: ``expired``, ``unknown``, ``not_trusted``,
    ``marginally``, ``fully`` or ``ultimately``.
    """
    if trust is not None and trust not in OWNER_TRUST:
        return Verdict(result=False, comment=f"Invalid trust level {trust}")
    return PresentKeys(
        wanted=_wanted_keys(name, keys), user=user, home=gnupghome, server=keyserver, trust=trust
    )


def absent(
    name: str,
    keys: object = None,
    user: str | None = None,
    gnupghome: str | None = None,
    **kwargs: Any,
) -> Declared:
    """No key ``name``, or none of ``keys``, in the keyring of ``user``."""
    return AbsentKeys(wanted=_wanted_keys(name, keys), user=user, home=gnupghome)


def _wanted_keys(name: str, keys: Any) -> tuple[str, ...]:
    if not keys:
        return (str(name),)
    return (keys,) if isinstance(keys, str) else tuple(str(key) for key in keys)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Keys(Resource[dict[str, Key | None]]):
    """Keys of a keyring, by the names that they are declared with."""

    wanted: tuple[str, ...]
    user: str | None
    home: str | None

    def ring(self, ctx: MinionContext) -> Keyring:
        return gpg.keyring(ctx, self.user, self.home)

    def read(self, ctx: MinionContext) -> dict[str, Key | None]:
        ring = self.ring(ctx)
        return {name: ring.find(name) for name in self.wanted}


@dataclass(frozen=True, slots=True, kw_only=True)
class PresentKeys(_Keys):
    """Keys that are there, and how far their owners are trusted."""

    server: str | None
    trust: str | None

    def plan(self, now: dict[str, Key | None]) -> Sequence[Step]:
        steps: list[Step] = []
        for name, key in now.items():
            steps += [self._plan_adding(name)] if key is None else []
            steps += self._plan_trust(name, key)
        return steps

    def _plan_adding(self, name: str) -> Step:
        def run(ctx: MinionContext) -> None:
            said = ctx.follow(gpg.receive_keys, self.server, [name], self.user, self.home)
            if self.ring(ctx).find(name) is None:
                raise FunctionError(f"{name}: {', '.join(said['message'])}")

        return Step(
            would=f"{name} would be added to GPG keychain",
            did=f"Added {name} to GPG keychain",
            changes={name: {"added": True}},
            run=run,
        )

    def _plan_trust(self, name: str, key: Key | None) -> list[Step]:
        if self.trust is None:
            return []
        level = self.trust
        old = None if key is None else TRUST.get(key.owner_trust, UNKNOWN)
        if old is not None and old.split()[0].lower() == level.split("_")[0]:
            return []

        def run(ctx: MinionContext) -> None:
            ring = self.ring(ctx)
            found = ring.find(name)
            if found is None:
                raise FunctionError(f"KeyID {name} not in GPG keychain")
            gpg.set_trust(ring, found, level)

        return [
            Step(
                would=f"Trust level for {name} would be set to {level}",
                did=f"Set trust level for {name} to {level}",
                changes={name: {"trust": level}},
                run=run,
            )
        ]

    def changes(self, before: object, after: object, steps: Sequence[Step]) -> dict[str, Any]:
        found: dict[str, dict[str, Any]] = {}
        for step in steps:
            for name, what in step.changes.items():
                found.setdefault(name, {}).update(what)
        return dict(found)

    def comment_unchanged(self, now: dict[str, Key | None]) -> str:
        return "\n".join(f"GPG Public Key {name} already in keychain" for name in now)


@dataclass(frozen=True, slots=True, kw_only=True)
class AbsentKeys(_Keys):
    """Keys that are not there."""

    def plan(self, now: dict[str, Key | None]) -> Sequence[Step]:
        return [self._plan_removal(name) for name, key in now.items() if key is not None]

    def _plan_removal(self, name: str) -> Step:
        def run(ctx: MinionContext) -> None:
            said = ctx.follow(gpg.delete_key, keyid=name, user=self.user, gnupghome=self.home)
            if not said["res"]:
                raise FunctionError(f"{name}: {said['message']}")

        return Step(
            would=f"{name} would be deleted from GPG keychain",
            did=f"Deleted {name} from GPG keychain",
            changes={name: {"deleted": True}},
            run=run,
        )

    def comment_unchanged(self, now: dict[str, Key | None]) -> str:
        return "\n".join(f"{name} not found in GPG keychain" for name in now)
