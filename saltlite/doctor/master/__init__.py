"""What ``salt-run doctor`` looks at: one file for each check, in the order of the report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from saltlite.doctor.master import disk, files, options, ports
from saltlite.doctor.master.facts import MasterFacts
from saltlite.doctor.run import Check

CHECKS: Final[Sequence[Check[MasterFacts]]] = (ports, disk, files, options)
