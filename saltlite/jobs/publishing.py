"""A job that is published and waited for as ``saltutil.cmd`` and orchestrations want it.

In batches, on a subset, and with the minions that did not return where they are expected. Source:
observed on Salt 3006.30.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from saltlite.core.services import LocalCommands

NO_RETURN = "no_return"
"""The ``out`` of a minion that was given up."""


def publish(
    local: LocalCommands,
    tgt: str | list[str],
    fun: str,
    *,
    arg: Sequence[Any] = (),
    kwarg: Mapping[str, object] | None = None,
    tgt_type: str = "glob",
    ret: str = "",
    timeout: float | None = None,
    batch: int | str | None = None,
    subset: int | None = None,
    expect_minions: bool = False,
    failhard: bool = False,
    **options: Any,
) -> dict[str, dict[str, Any]]:
    """Full returns by minion: ``ret``, ``retcode``, ``jid``, ``out``.

    A minion that a list names, or with ``expect_minions`` any that was meant, and that did not
    return has ``{"ret": False, "failed": True}``. Without a batch the others are left out.

    Raises:
        MasterAbsent: no master runs here.
        MasterRefused: the master does not allow it.
        RequestTimeout: the master does not answer.
        UsageError: ``batch`` is neither a number nor a share.
    """
    if subset is not None:
        tgt, tgt_type = local.subset_of(tgt, fun, tgt_type, int(subset)), "list"
        if not tgt:
            return {}
    if isinstance(tgt, list):
        tgt_type = "list"
    common: dict[str, Any] = {
        "tgt_type": tgt_type, "ret": ret, "timeout": timeout, "kwarg": kwarg, **options
    }  # fmt: skip
    found: dict[str, dict[str, Any]] = {}
    if batch is not None:
        hard = {"batch": str(batch), "failhard": failhard, "full_return": True}
        for each in local.cmd_batch(tgt, fun, list(arg), **common, **hard):
            found.update(each)
        return found
    named = set(tgt if isinstance(tgt, list) else tgt.split(",")) if tgt_type == "list" else set()
    for each in local.cmd_cli(tgt, fun, list(arg), **common):
        for minion, full in each.items():
            if full.get("out") != NO_RETURN:
                found[minion] = full
            elif expect_minions or minion in named:
                found[minion] = {"ret": False, "failed": True, "jid": full.get("jid", "")}
    return found
