"""Names for mail: the table of aliases. The option ``aliases.file`` names another file.

Source: aliases(5); observed on Salt 3006.30.
"""

from __future__ import annotations

from saltlite.context import MinionContext
from saltlite.errors import FunctionError
from saltlite.providers import aliases as _table
from saltlite.providers import command, textfile
from saltlite.providers.command import CommandOptions

ALIASES_FILE = "/etc/aliases"


def _aliases_path(ctx: MinionContext) -> str:
    return str(ctx.config.extra.get("aliases.file") or ALIASES_FILE)


def _read_table(ctx: MinionContext) -> str:
    return textfile.load(ctx.host, _aliases_path(ctx)) or ""


def list_aliases(ctx: MinionContext) -> dict[str, str]:
    """All names and their targets.

    CLI Example:

        salt '*' aliases.list_aliases
    """
    return _table.parse(_read_table(ctx))


def get_target(ctx: MinionContext, alias: str) -> str:
    """The target of a name, empty if it has none.

    CLI Example:

        salt '*' aliases.get_target alias
    """
    return list_aliases(ctx).get(alias, "")


def has_target(ctx: MinionContext, alias: str, target: object) -> bool:
    """Whether this is the target of a name; of several (a list) the order does not matter.

    CLI Example:

        salt '*' aliases.has_target alias target
    """
    if target == "":
        raise FunctionError("target can not be an empty string")
    there = get_target(ctx, alias)
    if isinstance(target, (list, tuple)):
        return sorted(map(str, target)) == sorted(there.split(", "))
    return there == str(target)


def set_target(ctx: MinionContext, alias: str, target: object) -> bool:
    """Give a name this target, or these (a list).

    CLI Example:

        salt '*' aliases.set_target alias target
    """
    if alias == "":
        raise FunctionError("alias can not be an empty string")
    if target == "":
        raise FunctionError("target can not be an empty string")
    with textfile.hold(ctx, _aliases_path(ctx)):
        if get_target(ctx, alias) != target:
            _write_table(
                ctx, _table.with_target(_read_table(ctx), alias, _table.show_target(target))
            )
        return True


def rm_alias(ctx: MinionContext, alias: str) -> bool:
    """Take a name out of the table.

    CLI Example:

        salt '*' aliases.rm_alias alias
    """
    with textfile.hold(ctx, _aliases_path(ctx)):
        if get_target(ctx, alias):
            _write_table(ctx, _table.without(_read_table(ctx), alias))
        return True


def _write_table(ctx: MinionContext, text: str) -> None:
    """Replace the table, and have the mail server read it."""
    textfile.save(_aliases_path(ctx), text)
    if ctx.host.which("newaliases") is not None:
        command.run(ctx, ["newaliases"], CommandOptions(python_shell=False, ignore_retcode=True))
