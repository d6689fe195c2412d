"""Whether the masters let this minion in, with the key that it has."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from saltlite.doctor.finding import Finding, error, note, unseen, warning
from saltlite.doctor.minion.facts import MinionFacts
from saltlite.errors import (
    ConfigError,
    KeyPending,
    KeyRejected,
    MasterFull,
    MasterUntrusted,
    RequestTimeout,
    SaltliteError,
)

if TYPE_CHECKING:
    from saltlite.context import MasterView

NAME: Final = "key"
ABOUT: Final = "whether the masters accept this minion's key, and are those that it knows"
LIMIT_S: Final = 30.0

ANSWER_S: Final = 8.0


def look(facts: MinionFacts) -> Iterator[Finding]:
    """Sign in at each master, and keep nothing of it; only with a key that is there already."""
    if facts.is_masterless or facts.view is None:
        yield unseen("there is no master to be reached")
        return
    path = os.path.join(facts.config.paths.pki_dir, "minion.pem")
    if facts.machine.file(path) is None:
        what = "this minion has no key yet: it makes one at its first start"
        yield note(what, path, "systemctl start salt-minion")
        return
    try:
        masters = facts.view.masters()
    except ConfigError:
        return  # the check of ports says so
    for host, port in masters:
        found = facts.machine.resolve(host)
        if found.addresses and not facts.machine.connect(found.addresses[0], port):
            yield from _sign_in(facts, facts.view, host, (found.addresses[0], port))


def _sign_in(
    facts: MinionFacts, view: MasterView, host: str, place: tuple[str, int]
) -> Iterator[Finding]:
    try:
        view.sign_in(*place, ANSWER_S)
    except SaltliteError as wrong:
        yield explain_refusal(wrong, facts, host)


def explain_refusal(wrong: SaltliteError, facts: MinionFacts, host: str) -> Finding:
    """What a master's answer means, and what an operator does."""
    minion = facts.config.identity.id
    pinned = os.path.join(facts.config.paths.pki_dir, "minion_master.pub")
    if isinstance(wrong, KeyPending):
        mend = f"on {host}: compare salt-key -f {minion} with salt-call --local key.finger here, "
        return error("the key waits to be accepted", minion, f"{mend}then: salt-key -a {minion}")
    if isinstance(wrong, KeyRejected):
        return error(
            "the key was rejected, or another machine has this id",
            minion,
            f"if this is the right one, on {host}: salt-key -d {minion}, restart the minion, "
            f"salt-key -a {minion}; if not, an id of its own: id in "
            f"{facts.config.paths.conf_file}",
        )
    if isinstance(wrong, MasterFull):
        return error("the master serves as many minions as it may", host, "a larger max_minions")
    if isinstance(wrong, MasterUntrusted) or pinned in str(wrong):
        return error(
            "the master's key is not the one that this minion knows",
            pinned,
            f"on {host}: salt-key -F master; if that is the right one: rm {pinned}, and restart "
            "the minion",
        )
    if isinstance(wrong, RequestTimeout):
        return error(
            f"the master is there, but did not answer within {ANSWER_S:g} s",
            host,
            "on the master: salt-run doctor only=workers",
        )
    return warning(f"signing in failed: {wrong}", host, "the master's log says more")
