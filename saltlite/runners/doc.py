"""``doc.*``: documentation of what can be called."""

from __future__ import annotations

from collections.abc import Mapping

from saltlite.runner_context import RunnerContext


def execution(ctx: RunnerContext) -> dict[str, str]:
    """Collect the documentation of execution functions from all minions that answer.

    CLI Example:

        salt-run doc.execution
    """
    found: dict[str, str] = {}
    answers = ctx.local.cmd("*", "sys.doc", timeout=ctx.config.jobs.timeout)
    for docs in answers.values():
        if isinstance(docs, Mapping):
            found |= {str(name): str(text) for name, text in docs.items()}
    return dict(sorted(found.items()))


def runner() -> dict[str, str]:
    """Return the documentation of all runners.

    CLI Example:

        salt-run doc.runner
    """
    from saltlite.loader.master_functions import docs

    return docs()


def wheel() -> dict[str, str]:
    """Return the documentation of all wheel functions.

    CLI Example:

        salt-run doc.wheel
    """
    from saltlite.loader.master_functions import wheel_docs

    return wheel_docs()
