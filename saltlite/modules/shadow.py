"""Passwords of the machine's users, and for how long they are good.

Hashes are never logged. ``root`` is another directory that takes the place of ``/``.
"""

from __future__ import annotations

import time
from typing import Any

from saltlite.context import MinionContext
from saltlite.errors import FunctionError
from saltlite.host import Host
from saltlite.providers import command, textfile
from saltlite.providers.accounts import files, shadow_utils
from saltlite.providers.accounts.files import Shadow
from saltlite.providers.command import CommandOptions

_NOBODY = dict.fromkeys(("name", "passwd", "lstchg", "min", "max", "warn", "inact", "expire"), "")
_DAY_S = 24 * 3600


def default_hash() -> str:
    """What stands in the place of a hash for a user without a password.

    CLI Example:

        salt '*' shadow.default_hash
    """
    return "!"


def info(ctx: MinionContext, name: str, root: str | None = None) -> dict[str, Any]:
    """The password entry of a user; every value is empty if there is none.

    Days are counted from 1970; -1 stands for what is not set.

    CLI Example:

        salt '*' shadow.info root
    """
    entry = _find_entry(ctx.host, name, root)
    if entry is None:
        return dict(_NOBODY)
    return {
        "name": entry.name,
        "passwd": entry.password,
        "lstchg": entry.changed,
        "min": entry.minimum,
        "max": entry.maximum,
        "warn": entry.warn,
        "inact": entry.inactive,
        "expire": entry.expire,
    }


def list_users(ctx: MinionContext, root: str | None = None) -> list[str]:
    """The names of all users that have an entry, sorted.

    CLI Example:

        salt '*' shadow.list_users
    """
    return sorted(entry.name for entry in files.shadows(ctx.host, root))


def gen_password(password: object, crypt_salt: str | None = None, algorithm: str = "sha512") -> str:
    """The hash of a password: ``sha512``, ``sha256``, ``blowfish``, ``md5`` or ``crypt``.

    CLI Example:

        salt '*' shadow.gen_password 'I_am_password'
        salt '*' shadow.gen_password 'I_am_password' crypt_salt='I_am_salt' algorithm=sha256
    """
    from saltlite.providers.accounts import hashes

    return hashes.hash_password(str(password), crypt_salt, algorithm)


def set_password(
    ctx: MinionContext, name: str, password: str, use_usermod: bool = False, root: str | None = None
) -> bool:
    """Give a user another password, as a hash; ``False`` if there is no such user.

    CLI Example:

        salt '*' shadow.set_password root '$1$UYCIxa628.9qXjpQCjM4a..'
    """
    if use_usermod:
        if files.user(ctx.host, str(name), root) is None:
            return False
        flags = ["-p", str(password)]
        _run_command(ctx, shadow_utils.change_user(flags, str(name), root))
        after = _find_entry(ctx.host, name, root)
        return after is not None and after.password == password
    return _write_password(ctx.host, str(name), str(password), root)


def _write_password(host: Host, name: str, password: str, root: str | None) -> bool:
    path = files.below(root, "/etc/shadow")
    if set(password) & {":", "\n"}:
        raise FunctionError("A password hash holds neither a colon nor a line feed")
    with files.lock_accounts(root):
        text = textfile.load(host, path)
        day = int(time.time() // _DAY_S)
        changed = None if text is None else files.with_password(text, name, password, day)
        if changed is None:
            return False
        textfile.save(path, changed)
    after = _find_entry(host, name, root)
    return after is not None and after.password == password


def del_password(ctx: MinionContext, name: str, root: str | None = None) -> bool:
    """Let a user log in without a password.

    CLI Example:

        salt '*' shadow.del_password username
    """
    _run_command(ctx, shadow_utils.change_password("-d", str(name), root))
    entry = _find_entry(ctx.host, name, root)
    return entry is not None and entry.password == ""


def lock_password(ctx: MinionContext, name: str, root: str | None = None) -> bool:
    """Make a user's password useless until it is unlocked.

    CLI Example:

        salt '*' shadow.lock_password username
    """
    entry = _find_entry(ctx.host, name, root)
    if entry is None:
        return False
    if entry.password.startswith("!"):
        return True
    _run_command(ctx, shadow_utils.change_password("-l", str(name), root))
    after = _find_entry(ctx.host, name, root)
    return after is not None and after.password.startswith("!")


def unlock_password(ctx: MinionContext, name: str, root: str | None = None) -> bool:
    """Make a locked password good again.

    CLI Example:

        salt '*' shadow.unlock_password username
    """
    entry = _find_entry(ctx.host, name, root)
    if entry is None:
        return False
    if not entry.password.startswith("!"):
        return True
    _run_command(ctx, shadow_utils.change_password("-u", str(name), root))
    after = _find_entry(ctx.host, name, root)
    return after is not None and not after.password.startswith("!")


def set_maxdays(ctx: MinionContext, name: str, maxdays: object, root: str | None = None) -> bool:
    """After how many days a password must be changed.

    CLI Example:

        salt '*' shadow.set_maxdays username 90
    """
    return _set_age(ctx, name, "maxdays", maxdays, root)


def set_mindays(ctx: MinionContext, name: str, mindays: object, root: str | None = None) -> bool:
    """For how many days a password may not be changed.

    CLI Example:

        salt '*' shadow.set_mindays username 7
    """
    return _set_age(ctx, name, "mindays", mindays, root)


def set_inactdays(
    ctx: MinionContext, name: str, inactdays: object, root: str | None = None
) -> bool:
    """How many days after its password ran out a user is locked.

    CLI Example:

        salt '*' shadow.set_inactdays username 7
    """
    return _set_age(ctx, name, "inactdays", inactdays, root)


def set_warndays(ctx: MinionContext, name: str, warndays: object, root: str | None = None) -> bool:
    """How many days before its password runs out a user is warned.

    CLI Example:

        salt '*' shadow.set_warndays username 7
    """
    return _set_age(ctx, name, "warndays", warndays, root)


def set_date(ctx: MinionContext, name: str, date: object, root: str | None = None) -> bool:
    """When the password was changed: days since 1970, or a date.

    CLI Example:

        salt '*' shadow.set_date username 0
    """
    return _run_command(ctx, shadow_utils.change_age("date", date, str(name), root))


def set_expire(ctx: MinionContext, name: str, expire: object, root: str | None = None) -> bool:
    """When the account runs out: days since 1970, or a date; -1 for never.

    CLI Example:

        salt '*' shadow.set_expire username -1
    """
    return _run_command(ctx, shadow_utils.change_age("expire", expire, str(name), root))


def _set_age(ctx: MinionContext, name: str, what: str, value: object, root: str | None) -> bool:
    before = _find_entry(ctx.host, name, root)
    if before is None:
        return False
    if _read_age(before, what) == value:
        return True
    _run_command(ctx, shadow_utils.change_age(what, value, str(name), root))
    after = _find_entry(ctx.host, name, root)
    return after is not None and _read_age(after, what) == value


def _read_age(entry: Shadow, what: str) -> int:
    ages = {
        "maxdays": entry.maximum,
        "mindays": entry.minimum,
        "inactdays": entry.inactive,
        "warndays": entry.warn,
    }
    return ages[what]


def _find_entry(host: Host, name: str, root: str | None) -> Shadow | None:
    entries = files.shadows(host, root)
    return next((entry for entry in entries if entry.name == str(name)), None)


def _run_command(ctx: MinionContext, argv: list[str]) -> bool:
    return command.run(ctx, argv, CommandOptions(python_shell=False)).retcode == 0
