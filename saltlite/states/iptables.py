"""Rules, chains and policies of the kernel's packet filter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Action, Declared, Resource, Step, Verdict
from saltlite.modules import iptables
from saltlite.providers import textfile
from saltlite.providers.firewall.rules import without_counts


def append(
    ctx: MinionContext, name: str, table: str = "filter", family: str = "ipv4", **kwargs: Any
) -> Declared:
    """A rule at the end of a chain, or one that is anywhere in it already.

    ``chain``, ``jump``, ``match``, ``connstate``, ``dport`` ... are what the rule consists of;
    ``rules`` is a list of such maps, each with all that its rule needs. ``save`` also writes the
    file that is read at the start.
    """
    return _declare_rules(ctx, name, "A", {"table": table, "family": family, **kwargs})


def insert(
    ctx: MinionContext, name: str, table: str = "filter", family: str = "ipv4", **kwargs: Any
) -> Declared:
    """A rule at the place ``position`` of a chain, or one that is anywhere in it already.

    The other arguments are those of ``append``.
    """
    return _declare_rules(ctx, name, "I", {"table": table, "family": family, **kwargs})


def delete(
    ctx: MinionContext, name: str, table: str = "filter", family: str = "ipv4", **kwargs: Any
) -> Declared:
    """No such rule in a chain; with ``position`` the rule there is removed each time.

    The other arguments are those of ``append``.
    """
    return _declare_rules(ctx, name, "D", {"table": table, "family": family, **kwargs})


def chain_present(name: str, table: str = "filter", family: str = "ipv4") -> Chain:
    """A chain of a table."""
    return Chain(name=str(name), table=table, family=family, wanted=True)


def chain_absent(name: str, table: str = "filter", family: str = "ipv4") -> Chain:
    """No such chain; its rules go with it."""
    return Chain(name=str(name), table=table, family=family, wanted=False)


def set_policy(
    name: str,
    table: str = "filter",
    family: str = "ipv4",
    chain: str | None = None,
    policy: str | None = None,
    save: object = False,
    **kwargs: Any,
) -> Policy:
    """What happens to a packet that no rule of ``chain`` decides."""
    if not chain or not policy:
        raise FunctionError("iptables.set_policy needs a chain and a policy")
    place = ChainRef(table=table, chain=str(chain), family=family)
    return Policy(name=str(name), place=place, policy=str(policy), save=save)


def flush(
    name: str, table: str = "filter", family: str = "ipv4", chain: str = "", **kwargs: Any
) -> Flushed:
    """No rules in a chain, or in all chains of a table."""
    place = ChainRef(table=table, chain=str(chain), family=family)
    return Flushed(name=str(name), place=place)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainRef:
    """Where rules are; ``chain`` may be empty where all of the table is meant."""

    table: str
    chain: str
    family: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule: its words, and the whole command as it is shown."""

    name: str
    place: ChainRef
    words: str
    shown: str
    position: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleStatus:
    """Which of the rules are there, and whether the file says what holds (if it is asked for)."""

    there: tuple[bool, ...]
    is_saved: bool


def _declare_rules(
    ctx: MinionContext, name: str, letter: str, given: Mapping[str, Any]
) -> Declared:
    several = given.get("rules") or ()
    save = next((part["save"] for part in (given, *several) if part.get("save")), None)
    # Each of several rules stands for itself, as in Salt; only ``save`` is for all of them.
    alone = {"table": "filter", "family": "ipv4"}
    each = [{**alone, **part} for part in several] or [{"name": name, **given}]
    found = [_build_rule(ctx, letter, options) for options in each]
    many = bool(several)
    if letter != "D":
        return Rules(rules=tuple(found), letter=letter, save=save, many=many)
    if any(rule.position for rule in found):
        return _delete_by_place(found, save, many=many)
    return NoRules(rules=tuple(found), save=save, many=many)


def _build_rule(ctx: MinionContext, letter: str, options: Mapping[str, Any]) -> Rule:
    name, chain = str(options.get("name", "")), options.get("chain")
    if not chain:
        raise FunctionError(f"The rule {name} needs a chain")
    position = options.get("position")
    if letter == "I" and not position:
        raise FunctionError(f"The rule {name} needs a position, or is to be appended")
    place = ChainRef(table=options["table"], chain=str(chain), family=options["family"])
    given = {key: value for key, value in options.items() if key not in _PLACES}
    shown = ctx.follow(
        iptables.build_rule,
        place.table,
        place.chain,
        letter,
        position or "",
        True,
        place.family,
        **given,
    )
    words = ctx.follow(iptables.build_rule, **given)
    return Rule(name=name, place=place, words=words, shown=shown.strip(), position=position)


_PLACES = frozenset({"table", "chain", "position", "family", "name", "rules", "save", "full"})


def _read_rules(ctx: MinionContext, rules: Sequence[Rule], save: object) -> RuleStatus:
    there = tuple(
        ctx.follow(
            iptables.check, rule.place.table, rule.place.chain, rule.words, rule.place.family
        )
        is True
        for rule in rules
    )
    return RuleStatus(there=there, is_saved=not save or _is_saved(ctx, rules[0].place.family, save))


def _is_saved(ctx: MinionContext, family: str, save: object) -> bool:
    path = iptables.default_file(ctx, family) if save is True else str(save)
    text = textfile.load(ctx.host, path)
    return text is not None and without_counts(text) == without_counts(
        iptables.running(ctx, family)
    )


def _save_rules(ctx: MinionContext, family: str, save: object) -> str:
    return ctx.follow(iptables.save, None if save is True else str(save), family)


def _build_changes(rules: Sequence[Rule], *, many: bool) -> dict[str, Any]:
    """Salt's: the names, under a word that was never meant for them."""
    return {"locale": [rule.name for rule in rules] if many else rules[-1].name}


def _save_step(family: str, save: object) -> Step:
    what = "the rules" if save is True else f"the rules to {save}"
    return Step(
        would=f"Would save {what} for {family}",
        did=f"Saved {what} for {family}",
        changes={"saved": True if save is True else str(save)},
        run=partial(_save_rules, family=family, save=save),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules(Resource[RuleStatus]):
    """Rules that chains have. ``letter`` is the command of iptables that puts them there."""

    rules: tuple[Rule, ...]
    letter: str
    save: Any
    many: bool

    def read(self, ctx: MinionContext) -> RuleStatus:
        return _read_rules(ctx, self.rules, self.save)

    def plan(self, now: RuleStatus) -> list[Step]:
        missing = [rule for rule, there in zip(self.rules, now.there, strict=True) if not there]
        steps = [
            Step(
                would=self._say_rule(rule, "needs to be set"),
                did=self._say_done(rule),
                changes=_build_changes(missing[: count + 1], many=self.many),
                run=partial(self._put_rule, rule=rule, is_last=rule is missing[-1]),
            )
            for count, rule in enumerate(missing)
        ]
        if not steps and not now.is_saved:
            steps.append(_save_step(self.rules[0].place.family, self.save))
        return steps

    def _put_rule(self, ctx: MinionContext, rule: Rule, is_last: bool) -> None:
        at = rule.place
        if self.letter == "A":
            done = ctx.follow(iptables.append, at.table, at.chain, rule.words, at.family) is True
        else:
            given = (at.table, at.chain, rule.position, rule.words, at.family)
            done = ctx.follow(iptables.insert, *given) in ("", False)
        if not done:
            raise FunctionError(
                f"Failed to set iptables rule for {rule.name}.\n"
                f"Attempted rule was {rule.shown} for {at.family}"
            )
        if self.save and is_last:
            _save_rules(ctx, at.family, self.save)

    def _say_rule(self, rule: Rule, what: str) -> str:
        family = rule.place.family
        if self.letter == "A":
            return f"iptables rule for {rule.name} {what} ({rule.shown}) for {family}"
        return f"iptables rule for {rule.name} {what} for {family} ({rule.shown})"

    def _say_done(self, rule: Rule) -> str:
        family = rule.place.family
        if self.save:
            return f"Set and saved iptables rule {rule.name} for {family}\n{rule.shown}"
        return f"Set iptables rule for {rule.name} to: {rule.shown} for {family}"

    def comment_unchanged(self, now: RuleStatus) -> str:
        return "\n".join(self._say_rule(rule, "already set") for rule in self.rules)

    def would(self, now: RuleStatus, steps: Sequence[Step]) -> str:
        return "\n".join([*self._find_present(now), *(step.would for step in steps)])

    def comment_changed(self, before: RuleStatus, after: RuleStatus, steps: Sequence[Step]) -> str:
        return "\n".join([*self._find_present(before), *(step.did for step in steps)])

    def _find_present(self, now: RuleStatus) -> list[str]:
        pairs = zip(self.rules, now.there, strict=True)
        return [self._say_rule(rule, "already set") for rule, there in pairs if there]


@dataclass(frozen=True, slots=True, kw_only=True)
class NoRules(Resource[RuleStatus]):
    """Rules that chains do not have."""

    rules: tuple[Rule, ...]
    save: Any
    many: bool

    def read(self, ctx: MinionContext) -> RuleStatus:
        return _read_rules(ctx, self.rules, self.save)

    def plan(self, now: RuleStatus) -> list[Step]:
        found = [rule for rule, there in zip(self.rules, now.there, strict=True) if there]
        steps = [
            Step(
                would=self._say_rule(rule, "needs to be deleted"),
                did=_plan_deletion(rule, self.save),
                changes=_build_changes(found[: count + 1], many=self.many),
                run=partial(_delete_rule, rule=rule, save=self.save),
            )
            for count, rule in enumerate(found)
        ]
        if not steps and not now.is_saved:
            steps.append(_save_step(self.rules[0].place.family, self.save))
        return steps

    def _say_rule(self, rule: Rule, what: str) -> str:
        return f"iptables rule for {rule.name} {what} for {rule.place.family} ({rule.shown})"

    def comment_unchanged(self, now: RuleStatus) -> str:
        return "\n".join(self._say_rule(rule, "already absent") for rule in self.rules)


def _plan_deletion(rule: Rule, save: object) -> str:
    if save:
        return f"Deleted and saved iptables rule {rule.name} for {rule.place.family}\n{rule.shown}"
    return f"Delete iptables rule for {rule.name} {rule.shown}"


def _delete_rule(ctx: MinionContext, rule: Rule, save: object) -> None:
    at = rule.place
    words = None if rule.position else rule.words
    if ctx.follow(iptables.delete, at.table, at.chain, rule.position, words, at.family):
        raise FunctionError(
            f"Failed to delete iptables rule for {rule.name}.\nAttempted rule was {rule.shown}"
        )
    if save:
        _save_rules(ctx, at.family, save)


def _delete_by_place(rules: list[Rule], save: object, *, many: bool) -> Action:
    """Another rule is at that place afterwards: it is done each time."""

    def run(ctx: MinionContext) -> Verdict:
        done: list[Rule] = []
        for rule in rules:
            try:
                _delete_rule(ctx, rule, save)
            except FunctionError as error:
                changes = _build_changes(done, many=many) if done else {}
                return Verdict(result=False, comment=str(error), changes=changes)
            done.append(rule)
        comment = "\n".join(_plan_deletion(rule, save) for rule in rules)
        return Verdict(result=True, comment=comment, changes=_build_changes(rules, many=many))

    told = [
        f"iptables rule for {rule.name} needs to be deleted for {rule.place.family} ({rule.shown})"
        for rule in rules
    ]
    return Action(would="\n".join(told), run=run, changes=_build_changes(rules, many=many))


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain(Resource[bool]):
    """A chain that a table has, or with ``wanted`` false does not have."""

    name: str
    table: str
    family: str
    wanted: bool

    def read(self, ctx: MinionContext) -> bool:
        return ctx.follow(iptables.check_chain, self.table, self.name, self.family) is True

    def plan(self, now: bool) -> list[Step]:
        if now is self.wanted:
            return []
        what = f"iptables {self.name} chain in {self.table} table"
        verb, run = ("create", self._make_chain) if self.wanted else ("delete", self._remove_chain)
        needs = f"set for {self.family}" if self.wanted else f"removed {self.family}"
        return [
            Step(
                would=f"{what} needs to be {needs}",
                did=f"{what} {verb} success for {self.family}",
                changes={"locale": self.name},
                run=run,
            )
        ]

    def _make_chain(self, ctx: MinionContext) -> None:
        self._check_answer(
            ctx.follow(iptables.new_chain, self.table, self.name, self.family), "create"
        )

    def _remove_chain(self, ctx: MinionContext) -> None:
        ctx.follow(iptables.flush, self.table, self.name, self.family)
        self._check_answer(
            ctx.follow(iptables.delete_chain, self.table, self.name, self.family), "delete"
        )

    def _check_answer(self, said: bool | str, verb: str) -> None:
        if said is not True:
            raise FunctionError(
                f"Failed to {verb} {self.name} chain in {self.table} table: {said} "
                f"for {self.family}"
            )

    def comment_unchanged(self, now: bool) -> str:
        there = "already exist" if self.wanted else "already absent"
        return f"iptables {self.name} chain is {there} in {self.table} table for {self.family}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy(Resource[tuple[str | None, bool]]):
    """The policy of a chain; read is what it is, and whether the file says what holds."""

    name: str
    place: ChainRef
    policy: str
    save: Any

    def read(self, ctx: MinionContext) -> tuple[str | None, bool]:
        at = self.place
        policy = ctx.follow(iptables.get_policy, at.table, at.chain, at.family)
        return policy, not self.save or _is_saved(ctx, at.family, self.save)

    def plan(self, now: tuple[str | None, bool]) -> list[Step]:
        policy, is_saved = now
        if policy == self.policy:
            return [] if is_saved else [_save_step(self.place.family, self.save)]
        saved = " and saved" if self.save else ""
        step = Step(
            would=f"{self._say_policy()} needs to be set to {self.policy}",
            did=f"Set{saved} default policy for {self.place.chain} to {self.policy} "
            f"family {self.place.family}",
            changes={"locale": self.name},
            run=self._set_policy,
        )
        return [step]

    def _say_policy(self) -> str:
        at = self.place
        return f"iptables default policy for chain {at.chain} on table {at.table} for {at.family}"

    def _set_policy(self, ctx: MinionContext) -> None:
        at = self.place
        if ctx.follow(iptables.set_policy, at.table, at.chain, self.policy, at.family):
            raise FunctionError("Failed to set iptables default policy")
        if self.save:
            _save_rules(ctx, at.family, self.save)

    def comment_unchanged(self, now: tuple[str | None, bool]) -> str:
        return f"{self._say_policy()} already set to {self.policy}"


_TABLES = frozenset({"filter", "nat", "mangle", "raw", "security"})
"""The tables of the kernel; one that nobody has used is not among the rules that hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flushed(Resource[dict[str, Any]]):
    """A chain, or all of a table, without rules."""

    name: str
    place: ChainRef

    def read(self, ctx: MinionContext) -> dict[str, Any]:
        chains: dict[str, Any] = ctx.follow(iptables.get_rules, self.place.family).get(
            self.place.table, {}
        )
        return chains

    def plan(self, now: dict[str, Any]) -> list[Step] | Verdict:
        at = self.place
        if at.table not in _TABLES or (at.chain and at.chain not in now and now):
            return Verdict(result=False, comment="Failed to flush iptables rules")
        chains = [at.chain] if at.chain else list(now)
        if not any(now.get(chain, {}).get("rules") for chain in chains):
            return []
        step = Step(
            would=f"iptables rules in {self._say_flushed()} needs to be flushed",
            did=f"Flush iptables rules in {self._say_flushed()}",
            changes={"locale": self.name},
            run=self._flush_rules,
        )
        return [step]

    def _say_flushed(self) -> str:
        at = self.place
        return f"{at.table} table {at.chain} chain {at.family} family"

    def _flush_rules(self, ctx: MinionContext) -> None:
        at = self.place
        if ctx.follow(iptables.flush, at.table, at.chain, at.family):
            raise FunctionError("Failed to flush iptables rules")

    def comment_unchanged(self, now: dict[str, Any]) -> str:
        return f"There are no rules in {self._say_flushed()}"
