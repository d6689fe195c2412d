"""``salt-run doctor``: look at the master from this process, and leave nothing behind.

A runner leaves an event and a record; what looks for faults must not need a store that takes one,
nor a master that hears the other. Source: docs/doctor.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from saltlite.errors import SaltliteError

if TYPE_CHECKING:
    from saltlite.config.master import MasterConfig

WORDS: Final = ("doctor", "doctor.check")
"""What the command may be called; the short one is no function, and not found otherwise."""


def examine_master(
    config: MasterConfig, args: Sequence[object], kwargs: Mapping[str, object]
) -> dict[str, Any]:
    """The report, with its outputter.

    Raises:
        SaltliteError: the arguments are wrong.
    """
    from saltlite.cli.runs import runner_context
    from saltlite.loader.master_functions import call, resolve, wrong_arguments

    with runner_context(config, lambda _line: None, reads_only=True) as ctx:
        runner = resolve("doctor.check", ctx)
        wrong = wrong_arguments(runner, args, kwargs)
        if wrong is not None:
            raise SaltliteError(f"salt-run doctor: {wrong}; it takes only= and skip=")
        report: dict[str, Any] = call(runner, args, kwargs)
        return report
