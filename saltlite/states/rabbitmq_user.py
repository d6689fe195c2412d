"""Users of a RabbitMQ broker. Comments observed on Salt 3006.30."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass, field
from saltlite.highstate.resource import Declared, Resource, Step, Verdict
from saltlite.modules import rabbitmq
from saltlite.states._fact import Fact

_RIGHTS = ("configure", "write", "read")


def present(
    name: str,
    password: str | None = None,
    force: bool = False,
    tags: Any = None,
    perms: Any = (),
    runas: str | None = None,
) -> Declared:
    """A user with these tags and permissions; ``password`` is set for a new one.

    ``force`` sets it for one that is there and has another, too. ``perms`` is a list
    of ``{vhost: [configure, write, read]}``.
    """
    rights: dict[str, list[str]] = {}
    for each in perms or ():
        if not isinstance(each, Mapping):
            return Verdict(result=False, comment="perms: a list of {vhost: [conf, write, read]}")
        for vhost, three in each.items():
            if not isinstance(three, (list, tuple)) or len(three) != len(_RIGHTS):
                said = f"perms: {vhost} needs three texts: configure, write and read"
                return Verdict(result=False, comment=said)
            rights[str(vhost)] = [str(one) for one in three]
    words = [tags] if isinstance(tags, str) else [str(tag) for tag in tags or ()]
    return RabbitmqUser(
        name=str(name),
        password=None if password is None else str(password),
        force=bool(force),
        tags=tuple(sorted(words)),
        rights=rights,
        runas=runas,
    )


def absent(name: str, runas: str | None = None) -> Fact:
    """No such user."""
    return Fact(
        holds=lambda ctx: not ctx.follow(rabbitmq.user_exists, name, runas),
        make=lambda ctx: ctx.follow(rabbitmq.delete_user, name, runas),
        intent=f"The user '{name}' will be removed.",
        report=f"The user '{name}' was removed.",
        known=f"The user '{name}' is not present.",
        told={"name": {"old": name, "new": ""}},
    )


@dataclass(frozen=True, slots=True)
class UserStatus:
    """A user as the broker knows it. ``fits``: the password is the declared one."""

    exists: bool
    fits: bool = False
    tags: tuple[str, ...] = ()
    rights: Mapping[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RabbitmqUser(Resource[UserStatus]):
    """A user, its password, tags and permissions."""

    name: str
    password: str | None = field(repr=False)
    force: bool
    tags: tuple[str, ...]
    rights: Mapping[str, list[str]]
    runas: str | None

    def read(self, ctx: MinionContext) -> UserStatus:
        users = ctx.follow(rabbitmq.list_users, self.runas)
        if self.name not in users:
            return UserStatus(exists=False)
        fits = not self.force or self.password is None
        if not fits:
            fits = ctx.follow(rabbitmq.check_password, self.name, str(self.password), self.runas)
        found = (
            ctx.follow(rabbitmq.list_user_permissions, self.name, self.runas) if self.rights else {}
        )
        return UserStatus(
            exists=True,
            fits=fits,
            tags=tuple(sorted(tag for tag in users[self.name] if tag)),
            rights={vhost: [its[one] for one in _RIGHTS] for vhost, its in found.items()},
        )

    def plan(self, now: UserStatus) -> Sequence[Step]:
        steps = [] if now.exists else [self._plan_adding()]
        if now.exists and not now.fits:
            steps.append(self._plan_password())
        if self.tags and self.tags != now.tags:
            steps.append(self._plan_tags(now))
        wrong = {vhost: to for vhost, to in self.rights.items() if now.rights.get(vhost) != to}
        return [*steps, *([self._plan_rights(now, wrong)] if wrong else [])]

    def _plan_adding(self) -> Step:
        return Step(
            would=f"User '{self.name}' is set to be created.",
            did=f"'{self.name}' was configured.",
            changes={"user": {"old": "", "new": self.name}},
            run=lambda ctx: ctx.follow(rabbitmq.add_user, self.name, self.password, self.runas),
        )

    def _plan_password(self) -> Step:
        return Step(
            would=f"The password of '{self.name}' is set to be changed.",
            did=f"The password of '{self.name}' was set.",
            changes={"password": {"old": "", "new": "Set password."}},
            run=lambda ctx: ctx.follow(
                rabbitmq.change_password, self.name, str(self.password), self.runas
            ),
        )

    def _plan_tags(self, now: UserStatus) -> Step:
        return Step(
            would=f"The tags of '{self.name}' are set to be changed.",
            did=f"The tags of '{self.name}' were set.",
            changes={"tags": {"old": list(now.tags), "new": list(self.tags)}},
            run=lambda ctx: ctx.follow(
                rabbitmq.set_user_tags, self.name, list(self.tags), self.runas
            ),
        )

    def _plan_rights(self, now: UserStatus, wrong: Mapping[str, list[str]]) -> Step:
        def run(ctx: MinionContext) -> None:
            for vhost, (conf, write, read) in wrong.items():
                ctx.follow(
                    rabbitmq.set_permissions, vhost, self.name, conf, write, read, self.runas
                )

        old = {vhost: now.rights.get(vhost, "") for vhost in wrong}
        return Step(
            would=f"The permissions of '{self.name}' are set to be changed.",
            did=f"The permissions of '{self.name}' were set.",
            changes={"perms": {"old": old, "new": dict(wrong)}},
            run=run,
        )

    def comment_unchanged(self, now: UserStatus) -> str:
        return f"User '{self.name}' already exists."
