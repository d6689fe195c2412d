"""Who this minion is: an id that others have too, or that was another machine's."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

from saltlite.doctor.finding import Finding, error, warning
from saltlite.doctor.minion.facts import MinionFacts

NAME: Final = "identity"
ABOUT: Final = "an id of localhost, an id kept from a machine that this one was copied of"
LIMIT_S: Final = 20.0

MACHINE_ID: Final = "etc/machine-id"
KEPT_ID: Final = "etc/salt/minion_id"


def look(facts: MinionFacts) -> Iterator[Finding]:
    """Look at the id, where it came from, and at the machine's own id."""
    config, root = facts.config, facts.config.paths.root_dir
    minion = config.identity.id
    if minion == "localhost":
        yield error(
            "the id is localhost, as that of any machine without a name",
            config.paths.conf_file,
            f"id: NAME in {config.paths.conf_file}, or hostnamectl set-hostname NAME",
        )
    kept = os.path.join(root, KEPT_ID)
    if "id" not in config.source and facts.machine.file(kept) is not None:
        name, _took_s = facts.machine.own_name()
        if name.partition(".")[0].lower() != minion.partition(".")[0].lower():
            yield warning(
                f"the id {minion} was kept when the machine had that name; it is {name} now",
                kept,
                f"if it is a copy or was renamed: rm {kept}, and restart the minion; the new id's "
                "key has to be accepted",
            )
    machine_id = os.path.join(root, MACHINE_ID)
    found = facts.machine.size_bytes(machine_id)
    if found == 0:
        what = "the machine has no id of its own: copies cannot be told apart"
        yield warning(what, machine_id, "systemd-machine-id-setup")
