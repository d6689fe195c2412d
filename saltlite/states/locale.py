"""Locales: the one that the machine uses, and those that are there."""

from __future__ import annotations

from saltlite.modules import locale
from saltlite.states._fact import Fact


def system(name: str) -> Fact:
    """The locale of the machine."""
    name = str(name)
    return Fact(
        holds=lambda ctx: ctx.follow(locale.get_locale) == name,
        make=lambda ctx: ctx.follow(locale.set_locale, name),
        intent=f"System locale {name} needs to be set",
        report=f"Set system locale {name}",
        known=f"System locale {name} already set",
        told={"locale": name},
        failed="Failed to set system locale",
    )


def present(name: str) -> Fact:
    """A locale that can be used; it is generated if it is not there."""
    name = str(name)
    return Fact(
        holds=lambda ctx: ctx.follow(locale.avail, name),
        make=lambda ctx: ctx.follow(locale.gen_locale, name),
        intent=f"Locale {name} needs to be generated",
        report=f"Generated locale {name}",
        known=f"Locale {name} is already present",
        told={"locale": name},
        failed=f"Failed to generate locale {name}",
    )
