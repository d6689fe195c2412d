"""Hands one return to the returners that want it. Called after a job, on minions and salt-call."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from saltlite.errors import FunctionUnavailable
from saltlite.jobs.returner_context import ReturnerContext

log = logging.getLogger(__name__)


def returner_names(job_ret: object, option: object) -> list[str]:
    """The returners that a job's ``ret`` and the option ``return`` name, each once.

    Both are texts with commas between names, or lists.
    """
    found: list[str] = []
    for value in (job_ret, option):
        words = value.split(",") if isinstance(value, str) else value
        if isinstance(words, Iterable):
            found += [str(word).strip() for word in words]
    return [name for name in dict.fromkeys(found) if name]


def missing_returners(names: Iterable[str], config: object) -> list[str]:
    """Return the names that nothing here has; none where users have returners of their own.

    For a word at the start: those of users may come later, and are not read for this.
    """
    from saltlite.loader.catalogue import RETURNERS, has_custom_code

    if has_custom_code(config, RETURNERS.name):
        return []
    return [name for name in names if name not in RETURNERS]


def deliver(
    names: Iterable[str],
    ret: Mapping[str, object],
    ctx: ReturnerContext,
    *,
    note_had: Callable[[str], None] = lambda _name: None,
) -> None:
    """Call ``returner(ret)`` of each; one that fails is a line in the log, and the next goes on.

    ``ret`` has ``id``, ``jid``, ``fun``, ``fun_args``, ``return``, ``retcode``, ``success``, and
    ``ret_config`` and ``ret_kwargs`` where the job has them. ``note_had`` is told which returner
    needs the return no more: it was called, or has it on disk and tries its server.
    """
    for name in names:
        _give_to(name, ret, ctx, note_had)
        note_had(name)


def _give_to(
    name: str, ret: Mapping[str, object], ctx: ReturnerContext, note_had: Callable[[str], None]
) -> None:
    from saltlite.loader.returners import resolve

    try:
        returner = resolve(name, ctx)
        if returner.server is not None:
            returner.server.on_kept = partial(note_had, name)
        returner.call("returner", dict(ret))
    except FunctionUnavailable:
        log.error("Returner %s is not available; job %s was not given to it", name, ret["jid"])
    except Exception:
        log.exception("Returner %s failed with the return of job %s", name, ret["jid"])


def deliver_waiting(spools: Iterable[str], ctx: ReturnerContext) -> None:
    """Have returners try again to give their servers what waits in spools of these names.

    A spool is named after its returner, with more after a ``-``.
    """
    from saltlite.loader.returners import resolve

    for spool in spools:
        name = spool.partition("-")[0]
        try:
            server = resolve(name, ctx).server
            if server is not None:
                server.drain_again(spool)
        except FunctionUnavailable:
            log.error("Returner %s is not available; what waits for it stays", name)
        except Exception:
            log.exception("Returner %s failed with what waits for it", name)
