"""Keys with which users may log in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.errors import FunctionError, SaltliteError
from saltlite.highstate.resource import Resource, Step, Verdict
from saltlite.modules import ssh
from saltlite.providers.ssh import keys
from saltlite.providers.ssh.keys import Authorized

_NO_HOME = (
    "Failed to add the ssh key. Is the home directory available, and/or does the key file exist?"
)
_INVALID = "Invalid public ssh key, most likely has spaces or invalid syntax"


def present(
    ctx: MinionContext,
    name: str,
    user: str,
    enc: str = "ssh-rsa",
    comment: str = "",
    source: str = "",
    options: object = None,
    config: str = ssh.AUTHORIZED,
    fingerprint_hash_type: str | None = None,
    __env__: str = "base",
    **kwargs: Any,
) -> AuthorizedKeys | Verdict:
    """A key may log in as ``user``; or all keys of the file ``source``.

    ``name`` is the key alone, or a whole line, whose parts win over ``enc``, ``comment`` and
    ``options``. ``config`` is the file as sshd would name it.
    """
    try:
        wanted = _wanted_keys(ctx, name, enc, comment, source, options, __env__)
    except SaltliteError as error:
        return Verdict(result=False, comment=str(error))
    return AuthorizedKeys(user=user, config=config, wanted=wanted, label=name if source else "")


def absent(
    ctx: MinionContext,
    name: str,
    user: str,
    enc: str = "ssh-rsa",
    comment: str = "",
    source: str = "",
    options: object = None,
    config: str = ssh.AUTHORIZED,
    fingerprint_hash_type: str | None = None,
    __env__: str = "base",
) -> NoKeys | Verdict:
    """A key may not log in as ``user``; or none of the file ``source``."""
    if source and _cache_source(ctx, source, __env__) is None:
        return Verdict(result=True, comment=f"{source} is not there: no keys to remove")
    try:
        unwanted = _wanted_keys(ctx, name, enc, comment, source, options, __env__)
    except SaltliteError as error:
        return Verdict(result=False, comment=str(error))
    names = tuple(each.key for each in unwanted)
    return NoKeys(user=user, config=config, unwanted=names, label=name if source else "")


def manage(
    ctx: MinionContext,
    name: str,
    ssh_keys: Sequence[str],
    user: str,
    enc: str = "ssh-rsa",
    comment: str = "",
    source: str = "",
    options: object = None,
    config: str = ssh.AUTHORIZED,
    fingerprint_hash_type: str | None = None,
    __env__: str = "base",
    **kwargs: Any,
) -> AuthorizedKeys | Verdict:
    """These keys, and no others, may log in as ``user``."""
    wanted = tuple(_parse_key(each, enc, comment, options) for each in ssh_keys)
    return AuthorizedKeys(user=user, config=config, wanted=wanted, label="", only=True)


def _wanted_keys(
    ctx: MinionContext,
    name: str,
    enc: str,
    comment: str,
    source: str,
    options: object,
    saltenv: str,
) -> tuple[Authorized, ...]:
    if not source:
        return (_parse_key(name, enc, comment, options),)
    text = _cache_source(ctx, source, saltenv)
    if text is None:
        raise FunctionError(f"Failed to add the ssh key. Source file {source} is missing")
    found = keys.parse_authorized(text)
    if not found:
        raise FunctionError(f"No keys detected in {source}. Is file properly formatted?")
    return tuple(found)


def _cache_source(ctx: MinionContext, source: str, saltenv: str) -> str | None:
    path = str(ctx.functions.call("cp.cache_file", source, saltenv) or "")
    return ctx.host.read_text(path) if path else None


def _parse_key(name: str, enc: str, comment: str, options: Any) -> Authorized:
    line = keys.parse_authorized_line(name) if " " in name.strip() else None
    listed = (options,) if isinstance(options, str) else tuple(map(str, options or ()))
    if line is not None:
        return Authorized(line.key, line.enc, line.comment or comment, line.options or listed)
    return Authorized(name.strip(), keys.kind_of(enc) or enc, comment or "", listed)


def _read_keys(ctx: MinionContext, user: str, config: str) -> Mapping[str, Any]:
    return ctx.follow(ssh.auth_keys, user, config)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorizedKeys(Resource[Mapping[str, Any]]):
    """Keys that may log in. ``label`` stands for them all in what is said, if they are a file's."""

    user: str
    config: str
    wanted: tuple[Authorized, ...]
    label: str
    only: bool = False

    def read(self, ctx: MinionContext) -> Mapping[str, Any]:
        return _read_keys(ctx, self.user, self.config)

    def plan(self, now: Mapping[str, object]) -> list[Step] | Verdict:
        for each in self.wanted:
            if problem := _find_problem(each):
                return Verdict(result=False, comment=problem)
        names = [each.key for each in self.wanted]
        extra = [key for key in now if key not in names] if self.only else []
        steps = [self._plan_removal(key) for key in extra]
        return steps + [
            self._plan_key(each, now) for each in self.wanted if not _is_there(each, now)
        ]

    def _plan_key(self, wanted: Authorized, now: Mapping[str, object]) -> Step:
        is_new = wanted.key not in now
        label, what = self.label or wanted.key, "added" if is_new else "updated"
        would = f"Key {wanted.key} for user {self.user} is set to be {what}"
        if self.label:
            would = f"Set to {'add' if is_new else 'update'}: {wanted.key}"
        return Step(
            would=would,
            did=f"The authorized host key {label} for user {self.user} was {what}",
            changes={label: "New" if is_new else "Updated"},
            run=partial(self._write_key, wanted=wanted),
        )

    def _write_key(self, ctx: MinionContext, wanted: Authorized) -> None:
        answer = ctx.follow(
            ssh.set_auth_key,
            self.user,
            wanted.key,
            wanted.enc,
            wanted.comment,
            list(wanted.options),
            self.config,
        )
        if answer == "fail":
            raise FunctionError(_NO_HOME)

    def _plan_removal(self, key: str) -> Step:
        return Step(
            would=f"{key} Key set for removal",
            did="Key removed",
            changes={key: "Key removed"},
            run=partial(ssh.rm_auth_key, user=self.user, key=key, config=self.config),
        )

    def comment_changed(
        self, before: Mapping[str, object], after: Mapping[str, object], steps: Sequence[Step]
    ) -> str:
        return "" if self.only else "\n".join(dict.fromkeys(step.did for step in steps))

    def comment_unchanged(self, now: Mapping[str, object]) -> str:
        names = [self.label] if self.label else [each.key for each in self.wanted]
        return "\n".join(
            f"The authorized host key {name} is already present for user {self.user}"
            for name in names
        )


def _find_problem(wanted: Authorized) -> str:
    """Why a key can never log in; nothing if it may."""
    if keys.kind_of(wanted.enc) is None:
        return f"Incorrect encryption key type '{wanted.enc}'."
    is_key = len(wanted.key.split()) == 1 and keys.fingerprint(wanted.key, "sha256") is not None
    return "" if is_key else _INVALID


def _is_there(wanted: Authorized, now: Mapping[str, Any]) -> bool:
    there = now.get(wanted.key)
    if there is None:
        return False
    kept = (there["enc"], there["comment"], tuple(there["options"]))
    return kept == (wanted.enc, wanted.comment, wanted.options)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoKeys(Resource[Mapping[str, Any]]):
    """Keys that may not log in."""

    user: str
    config: str
    unwanted: tuple[str, ...]
    label: str

    def read(self, ctx: MinionContext) -> Mapping[str, Any]:
        return _read_keys(ctx, self.user, self.config)

    def plan(self, now: Mapping[str, object]) -> list[Step]:
        return [self._plan_removal(key) for key in self.unwanted if key in now]

    def _plan_removal(self, key: str) -> Step:
        would = f"Key {key} for user {self.user} is set for removal"
        return Step(
            would=f"Set to remove: {key}" if self.label else would,
            did="Key removed",
            changes={self.label or key: "Removed"},
            run=partial(ssh.rm_auth_key, user=self.user, key=key, config=self.config),
        )

    def comment_changed(
        self, before: Mapping[str, object], after: Mapping[str, object], steps: Sequence[Step]
    ) -> str:
        return "Key removed"

    def comment_unchanged(self, now: Mapping[str, object]) -> str:
        return "Key not present"
