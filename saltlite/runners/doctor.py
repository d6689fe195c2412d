"""``doctor.*``: look at the master, and name each cause with the command that mends it.

Not in Salt. ``salt-run doctor`` is ``doctor.check`` without an event and without a record: it
changes nothing, and needs no master that runs. Source: docs/doctor.md.
"""

from __future__ import annotations

from typing import Any

from saltlite.runner_context import RunnerContext


def check(ctx: RunnerContext, only: str = "", skip: str = "", ask: str = "") -> dict[str, Any]:
    """Look at the master, and say what is wrong, where, and which command mends it.

    Return a map: ``findings`` (each with ``severity``: note, warning or error; ``check``, ``what``,
    ``where``, ``mend``), ``fine`` (the checks without any), ``skipped``, ``seconds`` by check, and
    ``retcode``, which is also the exit code: 0 with nothing but notes, 1 with warnings, 2 with
    errors. Nothing is changed and no minion is asked. ``docs/doctor.md`` lists the checks.

    only
        These checks, with commas between them.

    skip
        All but these.

    ask
        Compare the clocks of these minions (a glob) with the master's. This publishes a job, which
        is on record like any other.

    CLI Example:

        salt-run doctor
        salt-run doctor only=disk,ports
        salt-run doctor skip=pillar --out=json
        salt-run doctor only=clock ask='*'
    """
    from saltlite.doctor.master import CHECKS
    from saltlite.doctor.master.facts import MasterFacts
    from saltlite.doctor.run import examine

    facts = MasterFacts(ctx.config, ctx, ask=str(ask))
    report = examine(CHECKS, facts, only=only, skip=skip)
    return {"outputter": "doctor", "data": report}
