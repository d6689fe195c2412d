"""Keys of hosts that users trust."""

from __future__ import annotations

from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Resource, Step, Verdict
from saltlite.modules import ssh
from saltlite.providers.ssh import keys

_NO_KIND = 'Required argument "enc" if using "key" argument.'
_RELATIVE = 'If not specifying a "user", specify an absolute "config".'


def present(
    name: str,
    user: str | None = None,
    fingerprint: str | None = None,
    key: str | None = None,
    port: object = None,
    enc: str | None = None,
    config: str | None = None,
    hash_known_hosts: bool = True,
    timeout: object = 5,
    fingerprint_hash_type: str | None = None,
) -> KnownHost | Verdict:
    """A host with this ``key``, or with what it shows if that has the ``fingerprint``.

    With both, the key counts.

    Without ``user`` it is known to all users. ``hash_known_hosts`` hides its name in the file.
    """
    if not user and config and not config.startswith("/"):
        return Verdict(result=False, comment=_RELATIVE)
    if key and not enc:
        return Verdict(result=False, comment=_NO_KIND)
    port = keys.other_port(port)
    if port and hash_known_hosts:
        return Verdict(result=False, comment=ssh.PORT_AND_HASH)
    return KnownHost(
        name=name,
        user=user,
        config=config or (ssh.KNOWN if user else ssh.GLOBAL_KNOWN),
        fingerprint=fingerprint,
        key=key,
        port=port,
        enc=enc,
        hashed=hash_known_hosts,
        timeout=timeout,
        hash_type=fingerprint_hash_type,
    )


def absent(name: str, user: str | None = None, config: str | None = None) -> UnknownHost | Verdict:
    """No key of a host."""
    if not user and config and not config.startswith("/"):
        return Verdict(result=False, comment=_RELATIVE)
    return UnknownHost(
        name=name, user=user, config=config or (ssh.KNOWN if user else ssh.GLOBAL_KNOWN)
    )


@dataclass(frozen=True, slots=True)
class HostStatus:
    """What is known of a host, and ``add``, ``update`` or ``exists``; or what is wrong."""

    entries: list[dict[str, Any]] | None
    needed: str
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownHost(Resource[HostStatus]):
    """A host that is trusted."""

    name: str
    user: str | None
    config: str
    fingerprint: str | None
    key: str | None
    port: Any
    enc: str | None
    hashed: bool
    timeout: Any
    hash_type: str | None

    def read(self, ctx: MinionContext) -> HostStatus:
        needed = ctx.follow(
            ssh.check_known_host,
            self.user,
            self.name,
            key=self.key,
            fingerprint=self.fingerprint,
            config=self.config,
            port=self.port,
            fingerprint_hash_type=self.hash_type,
        )
        if isinstance(needed, dict):
            return HostStatus(None, "", str(needed["error"]))
        return HostStatus(self._read_entries(ctx), str(needed))

    def _read_entries(self, ctx: MinionContext) -> list[dict[str, Any]] | None:
        return ctx.follow(
            ssh.get_known_host_entries, self.user, self.name, self.config, self.port, self.hash_type
        )

    def plan(self, now: HostStatus) -> list[Step] | Verdict:
        if now.problem:
            return Verdict(result=False, comment=now.problem)
        if now.needed == "exists":
            return []
        what = "added to" if now.needed == "add" else "updated in"
        step = Step(
            would=f"Key for {self.name} is set to be {what} {self.config}",
            did=f"{self.name}'s key saved to {self.config}",
            changes={"old": now.entries, "new": [self._declared_entry()]} if self.key else {},
            run=self._set_host,
        )
        return [step]

    def _declared_entry(self) -> dict[str, Any]:
        shown = {"hostname": self.name, "enc": self.enc, "key": self.key}
        return shown | ({"port": self.port} if self.port else {})

    def _set_host(self, ctx: MinionContext) -> None:
        answer = ctx.follow(
            ssh.set_known_host,
            self.user,
            self.name,
            fingerprint=self.fingerprint,
            key=self.key,
            port=self.port,
            enc=self.enc,
            config=self.config,
            hash_known_hosts=self.hashed,
            timeout=self.timeout,
            fingerprint_hash_type=self.hash_type,
        )
        if answer["status"] == "error":
            raise FunctionError(str(answer["error"]))

    def changes(self, before: HostStatus, after: HostStatus, steps: object) -> dict[str, Any]:
        new = [self._declared_entry()] if self.key else after.entries
        return {"old": before.entries, "new": new}

    def comment_changed(self, before: HostStatus, after: HostStatus, steps: object) -> str:
        saved = f"{self.name}'s key saved to {self.config}"
        return f"{saved} (key: {self.key})" if self.key else saved

    def comment_unchanged(self, now: HostStatus) -> str:
        return f"{self.name} already exists in {self.config}"


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownHost(Resource[HostStatus]):
    """A host that is not trusted."""

    name: str
    user: str | None
    config: str

    def read(self, ctx: MinionContext) -> HostStatus:
        user = None if self.config.startswith("/") else self.user  # a whole path needs none
        answer = ctx.follow(ssh.check_known_host, user, self.name, config=self.config)
        if isinstance(answer, dict):
            return HostStatus(None, "", str(answer["error"]))
        found = ctx.follow(ssh.get_known_host_entries, user, self.name, self.config)
        return HostStatus(found, str(answer))

    def plan(self, now: HostStatus) -> list[Step] | Verdict:
        if now.problem:
            return Verdict(result=False, comment=now.problem)
        step = Step(
            would=f"Key for {self.name} is set to be removed from {self.config}",
            changes={"old": now.entries, "new": None},
            run=self._remove_host,
        )
        return [step] if now.entries else []

    def _remove_host(self, ctx: MinionContext) -> None:
        answer = ctx.follow(ssh.rm_known_host, self.user, self.name, self.config)
        if answer["status"] == "error":
            raise FunctionError(answer["error"])

    def comment_changed(self, before: HostStatus, after: HostStatus, steps: object) -> str:
        return f"Key for {self.name} removed from {self.config}"

    def comment_unchanged(self, now: HostStatus) -> str:
        return "Host is already absent"
