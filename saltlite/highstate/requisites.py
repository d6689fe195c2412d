"""What requisites are: one table, and what is read off it.

A kind is a word that a declaration may say (``require``, ``onfail_any``). Beside the kinds there
are spellings that Salt takes and that mean nothing: ``require_all``, ``listen_any`` ... They are
arguments of the engine too, and no function gets them. Source: observed on Salt 3006.30.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from saltlite.core.dataclasses import dataclass
from saltlite.highstate.state_return import StateReturn


@dataclass(frozen=True, slots=True, eq=False)
class Demand:
    """What a requisite wants of a state that it names.

    ``is_met`` is asked in test runs too, where a result is ``None`` if something would change, and
    of states that have not run, whose return is empty.
    """

    is_met: Callable[[StateReturn], bool]


# None, which test runs say of a change to come, is as good as True.
SUCCESS: Final = Demand(lambda one: not one.has_failed)
FAILURE: Final = Demand(lambda one: one.result is not True)
"""What would change in a test run may fail in a real one, so it counts as failed there."""
CHANGES: Final = Demand(lambda one: one.has_changed)
FORESEEN: Final = Demand(lambda one: bool(one.changes) or one.result is None)
"""Asked of what a test of the other state says, before either runs."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Requisite:
    """A kind of requisite; there is one value of each, compared by identity.

    ``wants`` is what holds the state back as long as it is not so, of all states that are named or,
    with ``suffices_one``, of one of them; ``None`` holds nothing back.
    """

    name: str
    inverse: str = ""
    """The word by which a state gives another one this requisite."""
    wants: Demand | None = None
    suffices_one: bool = False
    settles_order: bool = False
    runs_first: bool = False
    """Whether the state runs before those that it names, not after them."""
    reacts: bool = False
    """Whether changes in what is named call ``mod_watch``, right after the state itself."""
    is_checked: bool = False
    """Whether high data are refused where it is no list, or two states name one another by it."""
    is_joined: bool = True
    """Whether ``extend`` adds to it; others are replaced."""
    may_lack: bool = False
    """Whether it may name what is not there."""
    is_dashed: bool = False
    """How it is drawn: dashed if the state runs only after the other one came to something."""


REQUIRE: Final = Requisite(
    name="require", inverse="require_in", wants=SUCCESS, settles_order=True, is_checked=True
)
REQUIRE_ANY: Final = Requisite(
    name="require_any", wants=SUCCESS, suffices_one=True, settles_order=True
)
# It holds a state back as require does; the difference is what happens afterwards.
WATCH: Final = Requisite(
    name="watch",
    inverse="watch_in",
    wants=SUCCESS,
    settles_order=True,
    reacts=True,
    is_checked=True,
)
WATCH_ANY: Final = Requisite(
    name="watch_any", wants=SUCCESS, suffices_one=True, settles_order=True, reacts=True
)
# One of them that would change something is reason enough to run before all of them.
PREREQ: Final = Requisite(
    name="prereq",
    inverse="prereq_in",
    wants=FORESEEN,
    suffices_one=True,
    settles_order=True,
    runs_first=True,
    is_checked=True,
)
# As in Salt one failure of several is enough, as it says; all are meant by onfail_all alone.
ONFAIL: Final = Requisite(
    name="onfail",
    inverse="onfail_in",
    wants=FAILURE,
    suffices_one=True,
    settles_order=True,
    is_dashed=True,
)
ONFAIL_ANY: Final = Requisite(
    name="onfail_any", wants=FAILURE, suffices_one=True, settles_order=True, is_dashed=True
)
ONFAIL_ALL: Final = Requisite(
    name="onfail_all", wants=FAILURE, settles_order=True, may_lack=True, is_dashed=True
)
# Here too: a service is to hear of one changed file of ten.
ONCHANGES: Final = Requisite(
    name="onchanges",
    inverse="onchanges_in",
    wants=CHANGES,
    suffices_one=True,
    settles_order=True,
    is_checked=True,
    is_dashed=True,
)
ONCHANGES_ANY: Final = Requisite(
    name="onchanges_any", wants=CHANGES, suffices_one=True, settles_order=True, is_dashed=True
)
LISTEN: Final = Requisite(name="listen", inverse="listen_in", is_dashed=True)
"""Heard after all states have run: it neither settles the order nor reacts in its turn."""
USE: Final = Requisite(name="use", inverse="use_in", is_joined=False)
"""Copies arguments while high data are made, and is nothing to a run."""
PREREQUIRED: Final = Requisite(name="prerequired")
"""What a state has that others want to run before, the other end of ``prereq``."""

KINDS: Final = (
    *(REQUIRE, REQUIRE_ANY, WATCH, WATCH_ANY, PREREQ),
    *(ONFAIL, ONFAIL_ANY, ONFAIL_ALL, ONCHANGES, ONCHANGES_ANY),
    *(LISTEN, USE, PREREQUIRED),
)
"""The table; in its order a chunk's requisites are read, and mistakes in them told."""

SETTLING: Final = tuple(kind for kind in KINDS if kind.settles_order)
"""What settles the order of states."""

GIVEN: Final = tuple(kind for kind in KINDS if kind.inverse)
"""What one state may give another; their other forms come of these words."""

TURNED: Final = {kind.inverse: kind for kind in GIVEN if kind is not LISTEN}
"""The words that are turned round in high data; ``listen_in`` is for the one who runs them."""

CHECKED: Final = frozenset(kind.name for kind in KINDS if kind.is_checked)

JOINED: Final = frozenset(
    f"{kind.name}{form}" for kind in GIVEN if kind.is_joined for form in ("", "_any", "_all")
) | {PREREQUIRED.name}
"""Arguments of declarations that ``extend`` adds to."""

SPELLINGS: Final = frozenset(
    f"{kind.name}{form}" for kind in GIVEN for form in ("", "_in", "_any", "_all")
)
"""All that counts as a requisite's name, also where it means nothing."""

OWN: Final = SPELLINGS | {
    *("state", "fun", "order", "onlyif", "unless", "creates", "check_cmd", "failhard", "retry"),
    *("parallel", "reload_modules", "reload_grains", "reload_pillar", "fire_event", "aggregate"),
    *("runas", "runas_password", "umask", "timeout", "saltenv", PREREQUIRED.name, "onfail_stop"),
    *("export", "noop"),
    *("__id__", "__sls__", "__env__", "__prereq__", "__prerequired__", "__reqs__", "__agg__"),
    *("__orchestration_jid__", "names"),
}
"""What the engine itself looks at. A function gets it only if it declares it."""
