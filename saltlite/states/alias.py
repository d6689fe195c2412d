"""Names for mail: who gets what is sent to them. Source: observed on Salt 3006.30."""

from __future__ import annotations

from saltlite.modules import aliases
from saltlite.states._fact import Fact


def present(name: str, target: object) -> Fact:
    """The name ``name`` with a target, or a list of them."""
    return Fact(
        holds=lambda ctx: ctx.follow(aliases.has_target, name, target),
        make=lambda ctx: ctx.follow(aliases.set_target, name, target),
        intent=f"Alias {name} -> {target} is set to be added",
        report=f"Set email alias {name} -> {target}",
        known=f"Alias {name} already present",
        told={"alias": name},
    )


def absent(name: str) -> Fact:
    """No such name."""
    return Fact(
        holds=lambda ctx: not ctx.follow(aliases.get_target, name),
        make=lambda ctx: ctx.follow(aliases.rm_alias, name),
        intent=f"Alias {name} is set to be removed",
        report=f"Removed alias {name}",
        known=f"Alias {name} already absent",
        told={"alias": name},
    )
