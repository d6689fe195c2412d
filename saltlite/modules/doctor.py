"""Look at this minion, and name each cause with the command that mends it. Not in Salt.

Source: docs/doctor.md.
"""

from __future__ import annotations

from typing import Any

from saltlite.context import MinionContext

OUTPUTTERS = {"check": "doctor"}


def check(ctx: MinionContext, only: str = "", skip: str = "") -> dict[str, Any]:
    """Look at this minion, and say what is wrong, where, and which command mends it.

    Return a map: ``findings`` (each with ``severity``: note, warning or error; ``check``, ``what``,
    ``where``, ``mend``), ``fine`` (the checks without any), ``skipped``, ``seconds`` by check, and
    ``retcode``, which is also that of the job: 0 with nothing but notes, 1 with warnings, 2 with
    errors. Nothing is changed. ``salt-call doctor`` is the same, also if no master answers.

    only
        These checks, with commas between them.

    skip
        All but these.

    CLI Example:

        salt '*' doctor.check
        salt-call --local doctor only=ports,key
    """
    from saltlite.doctor.minion import CHECKS
    from saltlite.doctor.minion.facts import MinionFacts
    from saltlite.doctor.run import examine

    view = ctx.master_view() if ctx.master_view is not None else None
    pillar = ctx.pillar if isinstance(ctx.pillar, dict) else {}
    report = examine(CHECKS, MinionFacts(ctx.config, view, pillar), only=only, skip=skip)
    ctx.retcode = report["retcode"]
    return report
