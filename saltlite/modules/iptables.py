"""The packet filter of the kernel, by ``iptables`` and ``ip6tables``."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Any

from saltlite import disk
from saltlite.context import MinionContext
from saltlite.errors import FunctionError, StoreError
from saltlite.host import Host
from saltlite.providers import command, textfile
from saltlite.providers.command import CommandOptions, Outcome
from saltlite.providers.firewall import rules

INTERNAL = ("default_file", "running")
"""Functions for states; nobody calls them by name."""

_NO_CHAIN = "Error: Chain needs to be specified"
_NO_RULE = "Error: Rule needs to be specified"
_NO_POSITION = "Error: Position needs to be specified or use append (-A)"


def version(ctx: MinionContext, family: str = "ipv4") -> str:
    """The version of the program.

    CLI Example:

        salt '*' iptables.version
    """
    words = _run_program(ctx, ["--version"], family).stdout.split()
    return words[1] if len(words) > 1 else ""


def build_rule(
    ctx: MinionContext,
    table: str = "filter",
    chain: str | None = None,
    command: str | None = None,
    position: object = "",
    full: object = None,
    family: str = "ipv4",
    **kwargs: Any,
) -> str:
    """The words of a rule from its options; with ``full`` the whole command.

    CLI Example:

        salt '*' iptables.build_rule match=state connstate=NEW jump=ACCEPT
    """
    rule = rules.rule_text(kwargs)
    if full not in (True, "True", "true"):
        return rule
    if not chain:
        return _NO_CHAIN
    if not command:
        return "Error: Command needs to be specified"
    flag = f"-{command}" if command in tuple("AIDCN") else f"--{command}"
    program = _find_program(ctx.host, family)
    return f"{program} --wait -t {table} {flag} {chain} {position or ''} {rule}"


def get_rules(ctx: MinionContext, family: str = "ipv4") -> dict[str, Any]:
    """The rules that hold now, by table and chain.

    CLI Example:

        salt '*' iptables.get_rules
    """
    return rules.parse_saved(running(ctx, family))


def get_saved_rules(
    ctx: MinionContext, conf_file: str | None = None, family: str = "ipv4"
) -> dict[str, Any]:
    """The rules in the file that is read at the start, by table and chain.

    CLI Example:

        salt '*' iptables.get_saved_rules
    """
    path = conf_file or default_file(ctx, family)
    text = textfile.load(ctx.host, path)
    if text is None:
        raise FunctionError(f"There is no file of saved rules {path}")
    return rules.parse_saved(text)


def get_policy(
    ctx: MinionContext, table: str = "filter", chain: str | None = None, family: str = "ipv4"
) -> str | None:
    """What happens to a packet that no rule of a chain decides; ``None`` without the chain.

    CLI Example:

        salt '*' iptables.get_policy filter INPUT
    """
    return _find_policy(get_rules(ctx, family), table, chain) if chain else _NO_CHAIN


def get_saved_policy(
    ctx: MinionContext,
    table: str = "filter",
    chain: str | None = None,
    conf_file: str | None = None,
    family: str = "ipv4",
) -> str | None:
    """The policy of a chain in the file that is read at the start.

    CLI Example:

        salt '*' iptables.get_saved_policy filter INPUT
    """
    return (
        _find_policy(get_saved_rules(ctx, conf_file, family), table, chain) if chain else _NO_CHAIN
    )


def _find_policy(tables: dict[str, Any], table: str, chain: str) -> str | None:
    found: str | None = tables.get(table, {}).get(chain, {}).get("policy")
    return found


def set_policy(
    ctx: MinionContext,
    table: str = "filter",
    chain: str | None = None,
    policy: str | None = None,
    family: str = "ipv4",
) -> str:
    """Say what happens to a packet that no rule of a chain decides; empty if that went well.

    CLI Example:

        salt '*' iptables.set_policy filter INPUT ACCEPT
    """
    if not chain:
        return _NO_CHAIN
    if not policy:
        return "Error: Policy needs to be specified"
    return _read_complaint(_run_program(ctx, ["-t", table, "-P", chain, policy], family))


def save(ctx: MinionContext, filename: str | None = None, family: str = "ipv4") -> str:
    """Write the rules that hold now to the file that is read at the start.

    CLI Example:

        salt '*' iptables.save /etc/sysconfig/iptables
    """
    path = filename or default_file(ctx, family)
    try:
        disk.make_dir(Path(os.path.dirname(path) or "/"), 0o755)
    except StoreError as error:
        raise FunctionError(str(error)) from error
    with textfile.hold(ctx, path):  # so that later rules are never replaced by earlier ones
        textfile.save(path, running(ctx, family))
    return f'Wrote 1 lines to "{path}"'


def check(
    ctx: MinionContext,
    table: str = "filter",
    chain: str | None = None,
    rule: str | None = None,
    family: str = "ipv4",
) -> bool | str:
    """Whether a chain has a rule.

    CLI Example:

        salt '*' iptables.check filter INPUT rule='-p tcp --dport 22 -j ACCEPT'
    """
    if not chain:
        return _NO_CHAIN
    if not rule:
        return _NO_RULE
    argv = ["-t", table, "-C", chain, *_split_rule(rule)]
    return _run_program(ctx, argv, family, quiet=True).retcode == 0


def check_chain(
    ctx: MinionContext, table: str = "filter", chain: str | None = None, family: str = "ipv4"
) -> bool | str:
    """Whether a table has a chain.

    CLI Example:

        salt '*' iptables.check_chain filter INPUT
    """
    return chain in get_rules(ctx, family).get(table, {}) if chain else _NO_CHAIN


def new_chain(
    ctx: MinionContext, table: str = "filter", chain: str | None = None, family: str = "ipv4"
) -> bool | str:
    """Make a chain; ``True``, or what the program says.

    CLI Example:

        salt '*' iptables.new_chain filter MINE
    """
    if not chain:
        return _NO_CHAIN
    return _read_complaint(_run_program(ctx, ["-t", table, "-N", chain], family)) or True


def delete_chain(
    ctx: MinionContext, table: str = "filter", chain: str | None = None, family: str = "ipv4"
) -> bool | str:
    """Remove an empty chain; ``True``, or what the program says.

    CLI Example:

        salt '*' iptables.delete_chain filter MINE
    """
    if not chain:
        return _NO_CHAIN
    return _read_complaint(_run_program(ctx, ["-t", table, "-X", chain], family)) or True


def append(
    ctx: MinionContext,
    table: str = "filter",
    chain: str | None = None,
    rule: str | None = None,
    family: str = "ipv4",
) -> bool | str:
    """Put a rule at the end of a chain that has it not yet; whether that was done.

    CLI Example:

        salt '*' iptables.append filter INPUT rule='-p tcp --dport 22 -j ACCEPT'
    """
    if not chain:
        return _NO_CHAIN
    if not rule:
        return _NO_RULE
    if check(ctx, table, chain, rule, family):
        return False
    return not _read_complaint(
        _run_program(ctx, ["-t", table, "-A", chain, *_split_rule(rule)], family)
    )


def insert(
    ctx: MinionContext,
    table: str = "filter",
    chain: str | None = None,
    position: object = None,
    rule: str | None = None,
    family: str = "ipv4",
) -> bool | str:
    """Put a rule at a place of a chain that has it not yet: empty, or what the program says.

    Places begin at 1; a negative one counts from the end.

    CLI Example:

        salt '*' iptables.insert filter INPUT position=3 rule='-p tcp --dport 22 -j ACCEPT'
    """
    if not chain:
        return _NO_CHAIN
    if not position:
        return _NO_POSITION
    if not rule:
        return _NO_RULE
    if check(ctx, table, chain, rule, family):
        return False
    place = _parse_position(position)
    if place < 0:
        there = get_rules(ctx, family).get(table, {}).get(chain, {}).get("rules", [])
        place = max(1, len(there) + 1 + place)
    return _read_complaint(
        _run_program(ctx, ["-t", table, "-I", chain, str(place), *_split_rule(rule)], family)
    )


def delete(
    ctx: MinionContext,
    table: str,
    chain: str | None = None,
    position: object = None,
    rule: str | None = None,
    family: str = "ipv4",
) -> str:
    """Remove a rule by its place or its words: empty, or what the program says.

    CLI Example:

        salt '*' iptables.delete filter INPUT position=3
    """
    if not chain:
        return _NO_CHAIN
    if position and rule:
        return "Error: Only specify a position or a rule, not both"
    if not position and not rule:
        return _NO_RULE
    words = [str(_parse_position(position))] if position else _split_rule(str(rule))
    return _read_complaint(_run_program(ctx, ["-t", table, "-D", chain, *words], family))


def flush(ctx: MinionContext, table: str = "filter", chain: str = "", family: str = "ipv4") -> str:
    """Remove all rules of a chain, or of a table: empty, or what the program says.

    CLI Example:

        salt '*' iptables.flush filter INPUT
    """
    return _read_complaint(
        _run_program(ctx, ["-t", table, "-F", *([chain] if chain else [])], family)
    )


def running(ctx: MinionContext, family: str = "ipv4") -> str:
    """The rules that hold now, as ``iptables-save`` tells them."""
    program = f"{_find_program(ctx.host, family)}-save"
    done = command.run(ctx, [program], CommandOptions(python_shell=False))
    if done.retcode != 0:
        raise FunctionError(f"{program} failed: {done.stderr}")
    return done.stdout + "\n"


def default_file(ctx: MinionContext, family: str = "ipv4") -> str:
    """The file that is read at the start, as this system has it.

    Raises:
        FunctionError: it is not known for this system.
    """
    system = ctx.grains.get("os_family")
    is_six = family == "ipv6"
    if system == "Debian":
        return "/etc/iptables/rules.v6" if is_six else "/etc/iptables/rules.v4"
    if system == "RedHat":
        return "/etc/sysconfig/ip6tables" if is_six else "/etc/sysconfig/iptables"
    if system == "Arch":
        return "/etc/iptables/ip6tables.rules" if is_six else "/etc/iptables/iptables.rules"
    if system == "Gentoo":
        return "/var/lib/ip6tables/rules-save" if is_six else "/var/lib/iptables/rules-save"
    if system == "Suse":
        return "/etc/sysconfig/scripts/SuSEfirewall2-custom"
    raise FunctionError(f"Saving iptables to file is not supported on {ctx.grains.get('os')}.")


def _find_program(host: Host, family: str) -> str:
    name = rules.PROGRAMS["ipv6" if family == "ipv6" else "ipv4"]
    path = host.which(name)
    if path is None:
        raise FunctionError(f"There is no program {name} on this machine")
    return path


def _run_program(
    ctx: MinionContext, words: list[str], family: str, *, quiet: bool = False
) -> Outcome:
    wait = [] if words == ["--version"] else ["--wait"]
    options = CommandOptions(python_shell=False, ignore_retcode=quiet)
    return command.run(ctx, [_find_program(ctx.host, family), *wait, *words], options)


def _read_complaint(done: Outcome) -> str:
    return "" if done.retcode == 0 else (done.stderr or done.stdout or f"code {done.retcode}")


def _split_rule(rule: str) -> list[str]:
    try:
        return shlex.split(rule)
    except ValueError as error:
        raise FunctionError(f"The rule {rule!r} cannot be split into words: {error}") from error


def _parse_position(position: Any) -> int:
    try:
        return int(position)
    except (TypeError, ValueError):
        raise FunctionError(f"The position of a rule is a number, not {position!r}") from None
