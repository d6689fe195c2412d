"""Users of the machine: who they are, which groups they are in, how their passwords age."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from saltlite import disk
from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass, field
from saltlite.core.numbers import is_digits
from saltlite.errors import FunctionError, StoreError
from saltlite.highstate.resource import Resource, Step, Verdict
from saltlite.modules import shadow, user
from saltlite.providers.accounts import files, hashes

_HIDDEN = "XXX-REDACTED-XXX"
_NOT_PERMITTED = (
    "- Changing {what} ({old} -> {new}) not permitted, set allow_{what}_change to True to force "
    "this change. Note that this will not change file ownership."
)
_AGES = {
    "date": "lstchg",
    "mindays": "min",
    "maxdays": "max",
    "inactdays": "inact",
    "warndays": "warn",
    "expire": "expire",
}
"""What a declaration calls the ages of a password, and ``shadow.info``."""

_SHADOW = ("min", "max", "warn", "inact", "expire")

_SETTERS: Mapping[str, Callable[..., object]] = {
    "uid": user.chuid,
    "gid": user.chgid,
    "shell": user.chshell,
    "fullname": user.chfullname,
    "roomnumber": user.chroomnumber,
    "workphone": user.chworkphone,
    "homephone": user.chhomephone,
    "other": user.chother,
    "date": shadow.set_date,
    "mindays": shadow.set_mindays,
    "maxdays": shadow.set_maxdays,
    "inactdays": shadow.set_inactdays,
    "warndays": shadow.set_warndays,
    "expire": shadow.set_expire,
}


def present(
    name: str,
    uid: object = None,
    gid: object = None,
    usergroup: bool | None = None,
    groups: object = None,
    optional_groups: object = None,
    remove_groups: bool = True,
    home: str | None = None,
    createhome: bool = True,
    persist_home: bool = False,
    password: str | None = None,
    hash_password: bool = False,
    enforce_password: bool = True,
    empty_password: bool = False,
    shell: str | None = None,
    unique: bool = True,
    system: bool = False,
    fullname: object = None,
    roomnumber: object = None,
    workphone: object = None,
    homephone: object = None,
    other: object = None,
    loginclass: str | None = None,
    date: object = None,
    mindays: object = None,
    maxdays: object = None,
    inactdays: object = None,
    warndays: object = None,
    expire: object = None,
    win_homedrive: str | None = None,
    win_profile: str | None = None,
    win_logonscript: str | None = None,
    win_description: str | None = None,
    nologinit: bool = False,
    allow_uid_change: bool = False,
    allow_gid_change: bool = False,
    password_lock: bool | None = None,
) -> User | Verdict:
    """A user with these attributes; what is not said stays as it is.

    ``groups`` are those besides the primary one, ``optional_groups`` too where they are there; with
    ``remove_groups`` it is in no others. ``password`` is a hash, or with ``hash_password`` what is
    to be hashed; ``enforce_password=False`` sets it only for a new user. ``gid`` is a number or a
    name; with ``usergroup`` it is the group of the same name, where there is one. Ages are days,
    ``date`` and ``expire`` days since 1970; 0 for ``expire`` is as if it were not given.
    """
    ages = (date, mindays, maxdays, inactdays, warndays, expire or None)
    gecos = (fullname, roomnumber, workphone, homephone, other)
    for text in map(str, gecos[:4]):
        if "," in text:  # it separates the fields of the entry; only the last may have one
            return Verdict(result=False, comment=f"Unsupported char ',' in {text}")
    declared = {
        "home": home or None,
        "shell": shell or None,
        **dict(zip(_AGES, ages, strict=True)),
        **{
            key: None if value is None else str(value)
            for key, value in zip(files.GECOS_FIELDS, gecos, strict=True)
        },
    }
    return User(
        name=str(name),
        uid=_parse_number(uid),
        gid=_parse_number(gid),
        values={key: value for key, value in declared.items() if value is not None},
        groups=None if groups is None else _split_names(groups),
        optional=None if optional_groups is None else _split_names(optional_groups),
        remove_groups=remove_groups,
        home_moves=persist_home,
        password=Password(
            text="" if empty_password else password or None,
            hashed=not hash_password or empty_password,
            enforced=enforce_password,
            locked=password_lock,
        ),
        allowed=frozenset(["uid"] * allow_uid_change + ["gid"] * allow_gid_change),
        creation=AccountCreation(
            unique=unique,
            system=system,
            createhome=createhome,
            nologinit=nologinit,
            usergroup=usergroup,
            loginclass=loginclass,
        ),
    )


def absent(name: str, purge: bool = False, force: bool = False) -> NoUser:
    """No such user; ``purge`` takes the home along, ``force`` does so while it is logged in."""
    return NoUser(name=str(name), purge=purge, force=force)


def _parse_number(value: object) -> Any:
    return int(value) if isinstance(value, str) and is_digits(value) else value


def _split_names(given: Any) -> tuple[str, ...]:
    listed = given.split(",") if isinstance(given, str) else given
    return tuple(dict.fromkeys(str(each) for each in listed if each != ""))


@dataclass(frozen=True, slots=True, kw_only=True)
class Password:
    """A password as declared: ``None`` for any, empty for none; ``locked`` ``None`` for either."""

    text: str | None = field(repr=False)
    hashed: bool
    enforced: bool
    locked: bool | None

    def agrees(self, now: str) -> bool:
        """Whether the hash that is there is of this password."""
        bare = now.lstrip("!") if self.locked else now
        if self.text is None or (not self.enforced and now not in ("!", "!!", "*")):
            return True
        if self.hashed:
            return bare == self.text
        kind, salt = [*now.split("$"), "", "", ""][1:3]
        algorithm = {"6": "sha512", "5": "sha256", "1": "md5"}.get(kind)
        if algorithm is None or not salt:
            return False
        return hashes.hash_password(self.text, salt, algorithm) == bare

    def value(self) -> str:
        """The hash to write."""
        text = self.text or ""
        return text if self.hashed else shadow.gen_password(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountCreation:
    """What counts only where a user is made."""

    unique: bool
    system: bool
    createhome: bool
    nologinit: bool
    usergroup: bool | None
    loginclass: str | None


@dataclass(frozen=True, slots=True)
class Account:
    """A user as it is: ``user.info`` (empty without it), ``shadow.info``, the groups there are."""

    info: Mapping[str, Any]
    aging: Mapping[str, Any] = field(repr=False)
    groups: Mapping[str, int]
    has_home: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class User(Resource[Account]):
    """A user that is there. ``values`` are what can be compared one by one."""

    name: str
    uid: Any
    gid: Any
    values: Mapping[str, Any]
    groups: tuple[str, ...] | None
    optional: tuple[str, ...] | None
    remove_groups: bool
    home_moves: bool
    password: Password
    allowed: frozenset[str]
    creation: AccountCreation
    drawn: ClassVar[frozenset[str]] = frozenset({"uid", "gid", "groups", "home", "shell", "passwd"})

    def read(self, ctx: MinionContext) -> Account:
        info = ctx.follow(user.info, self.name)
        home = self.values.get("home") or info.get("home", "")
        return Account(
            info,
            ctx.follow(shadow.info, self.name),
            {each.name: each.gid for each in files.groups(ctx.host)},
            not home or ctx.host.is_dir(home),
        )

    def plan(self, now: Account) -> list[Step] | Verdict:
        missing = [name for name in self.groups or () if name not in now.groups]
        if not now.info:
            return [self._plan_pending(missing)] if missing else [self._plan_creation(now)]
        forbidden = self._find_forbidden(now)
        if forbidden:
            said = "Encountered error checking for needed changes. Additional info follows:\n\n"
            return Verdict(result=False, comment=said + "\n".join(forbidden))
        wrong = self._find_wrong(now)
        if missing:
            groups = wrong.pop("groups", [])
            return [self._plan_pending(missing, groups)]
        return [self._plan_change(now, what, value) for what, value in wrong.items()]

    def _plan_pending(self, missing: list[str], known: list[str] | None = None) -> Step:
        """The groups may come into being in the same run, which a test run must not rule out.

        ``known`` are those that are there, ``None`` for a user that is to be made.
        """
        names = ",".join(missing)
        told = f"User {self.name} set to be added (pending groups: {names})"
        if known is not None:
            told = f"groups: {known}\ngroups (pending creation): {names}"

        def fail(ctx: MinionContext) -> None:
            raise FunctionError(f"The following group(s) are not present: {names}")

        return Step(would=told, run=fail)

    def _find_gid(self, now: Account) -> Any:
        """The number of the primary group, ``None`` for any."""
        if now.info and self.creation.usergroup and self.name in now.groups:
            return now.groups[self.name]
        return now.groups.get(self.gid, self.gid) if isinstance(self.gid, str) else self.gid

    def _find_forbidden(self, now: Account) -> list[str]:
        gid = self._find_gid(now)
        wanted = {"uid": (self.uid, self.uid), "gid": (gid, gid if self.gid is None else self.gid)}
        return [
            _NOT_PERMITTED.format(what=what, old=now.info[what], new=said)
            for what, (value, said) in wanted.items()
            if value is not None and value != now.info[what] and what not in self.allowed
        ]

    def _find_wrong(self, now: Account) -> dict[str, Any]:
        """What is not as declared, and its right value."""
        ids = (("uid", self.uid), ("gid", self._find_gid(now)))
        wrong = {what: value for what, value in ids if value not in (None, now.info[what])}
        groups = self._find_groups(now)
        if groups is not None:
            wrong["groups"] = groups
        there = {**now.info, **{said: now.aging[key] for said, key in _AGES.items()}}
        wrong |= {what: value for what, value in self.values.items() if there[what] != value}
        if not now.has_home and self.creation.createhome:
            wrong["homeDoesNotExist"] = self.values.get("home") or now.info["home"]
        return wrong | self._wrong_password(str(now.aging["passwd"]))

    def _wrong_password(self, now: str) -> dict[str, Any]:
        wrong: dict[str, Any] = {}
        if not self.password.agrees(now):
            wrong["passwd" if self.password.text else "empty_password"] = self.password.text or True
        if self.password.locked is not None and self.password.locked != now.startswith("!"):
            wrong["password_lock"] = self.password.locked
        return wrong

    def _find_groups(self, now: Account) -> list[str] | None:
        """The groups besides the primary one, ``None`` if they are right."""
        gid = self._find_gid(now)
        primary_gid = now.info["gid"] if gid is None else gid
        primary = next((name for name, each in now.groups.items() if each == primary_gid), "")
        there = [name for name in now.info["groups"] if name != primary]
        optional = [name for name in self.optional or () if name in now.groups]
        known = [name for name in (*(self.groups or ()), *optional) if name in now.groups]
        keeps = not self.remove_groups or (self.groups is None and not optional)
        wanted = sorted({*known, *(there if keeps else [])} - {primary})
        # The old primary group is one that is kept, though nobody is listed in it.
        moves = keeps and primary_gid != now.info["gid"]
        return wanted if moves or wanted != sorted(there) else None

    def _plan_change(self, now: Account, what: str, value: object) -> Step:
        shown = _HIDDEN if what == "passwd" else value
        return Step(
            would=f"{what}: {shown}",
            changes=self._foresee_change(now, what, value),
            run=partial(self._set_value, what=what, value=value),
        )

    def _foresee_change(self, now: Account, what: str, value: Any) -> dict[str, Any]:
        if what in ("passwd", "empty_password", "password_lock"):
            return {"passwd": _HIDDEN}
        if what == "homeDoesNotExist":
            return {}
        if what == "groups":
            wanted_gid = self._find_gid(now)
            gid = now.info["gid"] if wanted_gid is None else wanted_gid
            primary = [name for name, each in now.groups.items() if each == gid]
            return {"groups": sorted({*value, *primary[:1]})}
        return {_AGES.get(what, what): value}

    def _set_value(self, ctx: MinionContext, what: str, value: Any) -> None:
        """Change one thing. What could not be is found when the user is looked at again."""
        if what == "home":
            ctx.follow(user.chhome, self.name, value, self.home_moves)
        elif what == "homeDoesNotExist":
            self._make_home(ctx, value)
        elif what == "groups":
            ctx.follow(user.chgroups, self.name, value, append=not self.remove_groups)
        elif what == "passwd":
            ctx.follow(shadow.set_password, self.name, self.password.value())
        elif what == "empty_password":
            ctx.follow(shadow.del_password, self.name)
        elif what == "password_lock":
            ctx.follow(shadow.lock_password if value else shadow.unlock_password, self.name)
        else:
            ctx.follow(_SETTERS[what], self.name, value)

    def _make_home(self, ctx: MinionContext, path: str) -> None:
        if ctx.host.is_dir(path):
            return
        try:
            account = ctx.host.account(self.name)
            disk.make_way(Path(path), owner=(account.uid, account.gid))
        except (OSError, LookupError, StoreError) as error:
            raise FunctionError(f"Unable to create {path}: {error}") from error

    def _plan_creation(self, now: Account) -> Step:
        gecos = dict.fromkeys(files.GECOS_FIELDS, "")
        known = {
            **gecos,
            **self.values,
            "uid": self.uid,
            "gid": self._find_gid(now),
            "name": self.name,
        }
        shown = {key: value for key, value in known.items() if value is not None}
        if not self.creation.createhome:
            shown["home"] = ""
        extra = {key: value for key, value in shown.items() if key in _AGES}
        return Step(
            would=f"User {self.name} set to be added",
            did=f"New user {self.name} created",
            changes={**shown, **extra, **self._password_shown()},
            run=partial(self._make_user, now=now),
        )

    def _password_shown(self) -> dict[str, str]:
        if self.password.text is None:
            return {}
        return {"password": _HIDDEN if self.password.text else ""}

    def _make_user(self, ctx: MinionContext, now: Account) -> None:
        gecos = {key: self.values[key] for key in files.GECOS_FIELDS if key in self.values}
        optional = [name for name in self.optional or () if name in now.groups]
        made = ctx.follow(
            user.add,
            self.name,
            uid=self.uid,
            gid=self._find_gid(now),
            groups=[*(self.groups or ()), *optional],
            home=self.values.get("home"),
            shell=self.values.get("shell"),
            **gecos,
            unique=self.creation.unique,
            system=self.creation.system,
            createhome=self.creation.createhome,
            nologinit=self.creation.nologinit,
            usergroup=self.creation.usergroup,
            loginclass=self.creation.loginclass,
        )
        if not made:
            raise FunctionError(f"Failed to create new user {self.name}")
        if self.password.text:
            ctx.follow(shadow.set_password, self.name, self.password.value())
        elif self.password.text == "":
            ctx.follow(shadow.del_password, self.name)
        if self.password.locked:
            ctx.follow(shadow.lock_password, self.name)
        for what in _AGES.keys() & self.values.keys():
            self._set_value(ctx, what, self.values[what])

    def comment_unchanged(self, now: Account) -> str:
        return f"User {self.name} is present and up to date"

    def would(self, now: Account, steps: Sequence[Step]) -> str:
        if not now.info:
            return steps[0].would
        lines = "".join(f"{step.would}\n" for step in steps)
        return f"The following user attributes are set to be changed:\n{lines}"

    def comment_changed(self, before: Account, after: Account, steps: Sequence[Step]) -> str:
        return steps[0].did if not before.info else f"Updated user {self.name}"

    def unmet(self, after: Account, left: Sequence[Step]) -> str:
        wrong = self._find_wrong(after)
        if "passwd" in wrong:
            wrong["passwd"] = _HIDDEN
        return f"These values could not be changed: {wrong}"

    def changes(self, before: Account, after: Account, steps: Sequence[Step]) -> dict[str, Any]:
        if not before.info:
            ages = {key: self.values[key] for key in _AGES if key in self.values}
            home = {} if self.creation.createhome else {"home": ""}
            return {**after.info, **home, **self._password_shown(), **ages} if after.info else {}
        changed = {key: value for key, value in after.info.items() if before.info[key] != value}
        kept = (*_SHADOW, "lstchg") if "date" in self.values else _SHADOW
        changed |= {key: after.aging[key] for key in kept if before.aging[key] != after.aging[key]}
        if before.aging["passwd"] != after.aging["passwd"]:
            changed["passwd"] = _HIDDEN
        return changed


@dataclass(frozen=True, slots=True)
class Leftover:
    """Whether a user is there, and a group of its name; the group goes if it was but his own."""

    is_there: bool
    has_group: bool
    is_own: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NoUser(Resource[Leftover]):
    """A user that is not there."""

    name: str
    purge: bool
    force: bool

    def read(self, ctx: MinionContext) -> Leftover:
        found = ctx.follow(user.info, self.name)
        group = files.group(self.name)
        is_own = bool(found) and group is not None and group.gid == found["gid"]
        return Leftover(bool(found), group is not None, is_own)

    def plan(self, now: Leftover) -> list[Step]:
        group = {f"{self.name} group": "removed"} if now.is_own else {}
        step = Step(
            would=f"User {self.name} set for removal",
            did=f"Removed user {self.name}",
            changes={self.name: "removed", **group},
            run=self._delete_user,
        )
        return [step] if now.is_there else []

    def _delete_user(self, ctx: MinionContext) -> None:
        if not ctx.follow(user.delete, self.name, self.purge, self.force):
            raise FunctionError(f"Failed to remove user {self.name}")

    def changes(self, before: Leftover, after: Leftover, steps: Sequence[Step]) -> dict[str, Any]:
        gone = before.has_group and not after.has_group
        group = {f"{self.name} group": "removed"} if gone else {}
        return {**group, self.name: "removed"}

    def comment_unchanged(self, now: Leftover) -> str:
        return f"User {self.name} is not present"
