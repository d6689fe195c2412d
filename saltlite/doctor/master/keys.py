"""Keys that wait, that were refused, and that two minions have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from saltlite.doctor.finding import Finding, error, list_names, note, warning
from saltlite.doctor.master.facts import MasterFacts

NAME: Final = "keys"
ABOUT: Final = "keys that wait or were rejected, ids that are taken, one key under two ids"
LIMIT_S: Final = 20.0


def look(facts: MasterFacts) -> Iterator[Finding]:
    """Look at the keys of each state."""
    keys = facts.ctx.keys
    waiting, rejected = keys.list("minions_pre"), keys.list("minions_rejected")
    if waiting:
        mend = f"compare salt-key -f {waiting[0]} with the minion's, then: salt-key -a {waiting[0]}"
        yield note(f"{len(waiting)} keys wait to be accepted", list_names(waiting), mend)
    if rejected:
        yield note(
            f"{len(rejected)} keys are rejected: these minions are not let in",
            list_names(rejected),
            f"salt-key -d {rejected[0]}, if it shall come again",
        )
    for minion in keys.list("minions_denied"):
        yield warning(
            "another machine wants in under this id, or this one has made a new key",
            minion,
            f"if it is the same machine: salt-key -d {minion}, restart its minion, salt-key -a "
            f"{minion}; if not, give the other one an id of its own",
        )
    pems = {one: keys.key(one, "minions") or "" for one in facts.ctx.accepted()}
    yield from judge_equal_keys(pems)


def judge_equal_keys(pems: Mapping[str, str]) -> Iterator[Finding]:
    """Find ids with the same key: images that were copied with a minion's key in them."""
    owners: dict[str, list[str]] = {}
    for minion, pem in pems.items():
        if pem.strip():
            owners.setdefault("".join(pem.split()), []).append(minion)
    for minions in owners.values():
        if len(minions) > 1:
            yield error(
                f"{len(minions)} minions have the same key: one can read what the other is told",
                list_names(sorted(minions)),
                f"on the copy: rm /etc/salt/pki/minion/minion.pem, restart its minion; here: "
                f"salt-key -d {sorted(minions)[-1]}, then salt-key -a",
            )
