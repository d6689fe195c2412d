"""Access lists of files: who besides owner, group and others may do what.

``acl_type`` is ``user``, ``group``, ``mask`` or ``other``, after ``default:`` (``d:``) for what
files that are made in a directory will have. Answers observed on Salt 3006.30.
"""

from __future__ import annotations

from typing import Any

from saltlite.context import MinionContext
from saltlite.errors import CommandError, FunctionError
from saltlite.host import Host
from saltlite.providers import acl
from saltlite.providers.acl import AclEntry, Listed

_BITS = (("read", "r", 4), ("write", "w", 2), ("execute", "x", 1))


def version(ctx: MinionContext) -> str:
    """The version of ``getfacl``.

    CLI Example:

        salt '*' acl.version
    """
    program = ctx.host.which("getfacl")
    if program is None:
        raise CommandError(["getfacl"], None, "getfacl is not there")
    return ctx.host.run([program, "--version"]).stdout.split()[1]


def getfacl(ctx: MinionContext, *args: str, **kwargs: Any) -> dict[str, Any]:
    """The lists of files; ``recursive`` those of all below.

    CLI Example:

        salt '*' acl.getfacl /tmp/house/kitchen
        salt '*' acl.getfacl /tmp/house/kitchen recursive=True
    """
    found = acl.list_files(ctx.host, _split_paths(args), recursive=bool(kwargs.get("recursive")))
    return {each.path: _as_map(each) for each in found}


def _split_paths(given: tuple[str, ...]) -> list[str]:
    if not given:
        raise FunctionError("You need to specify at least one file or directory to work with!")
    return [str(path) for path in given]


def _as_map(listed: Listed) -> dict[str, Any]:
    comment = {"file": listed.path, "owner": listed.owner, "group": listed.group}
    if listed.flags:
        comment["flags"] = listed.flags
    shown: dict[str, Any] = {"comment": comment, **dict.fromkeys(acl.flags_of(listed), True)}
    for entry in listed.entries:
        place = shown.setdefault("defaults", {}) if entry.default else shown
        one = {listed.name_of(entry): _describe_permissions(entry)}
        place.setdefault(entry.kind, []).append(one)
    return shown


def _describe_permissions(entry: AclEntry) -> dict[str, Any]:
    has = {word: letter in entry.effective for word, letter, _ in _BITS}
    octal = sum(bit for word, _, bit in _BITS if has[word])
    return {"permissions": has, "octal": octal}


def modfacl(
    ctx: MinionContext,
    acl_type: str,
    acl_name: str = "",
    perms: str = "",
    *args: str,
    **kwargs: Any,
) -> bool:
    """Add an entry to the lists of files, or change it; with ``recursive`` of all below.

    CLI Example:

        salt '*' acl.modfacl user myuser rwx /tmp/house/kitchen
        salt '*' acl.modfacl default:group mygroup rx /tmp/house/kitchen recursive=True
    """
    entry = acl.spec(acl_type, str(acl_name), str(perms))
    return _change_acl(ctx.host, "-m", entry, args, kwargs)


def delfacl(
    ctx: MinionContext, acl_type: str, acl_name: str = "", *args: str, **kwargs: Any
) -> bool:
    """Take an entry out of the lists of files; with ``recursive`` of all below.

    CLI Example:

        salt '*' acl.delfacl user myuser /tmp/house/kitchen
    """
    entry = acl.spec(acl_type, str(acl_name))
    return _change_acl(ctx.host, "-x", entry, args, kwargs)


def wipefacls(ctx: MinionContext, *args: str, **kwargs: Any) -> bool:
    """Take all but owner, group and others out of the lists of files.

    CLI Example:

        salt '*' acl.wipefacls /tmp/house/kitchen
        salt '*' acl.wipefacls /tmp/house/kitchen recursive=True
    """
    return _change_acl(ctx.host, "-b", "", args, kwargs)


def _change_acl(
    host: Host, action: str, entry: str, given: tuple[str, ...], options: dict[str, Any]
) -> bool:
    recursive = bool(options.get("recursive"))
    done = acl.change(host, action, entry, _split_paths(given), recursive=recursive)
    if done.exit_code != 0:
        raise FunctionError(done.stderr.strip() or "setfacl failed")
    return True
