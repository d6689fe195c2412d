"""The SELinux context of a file: what functions that make files do not set."""

from __future__ import annotations

from typing import Any

from saltlite.errors import FunctionError

NOT_SET = (
    "selinux: the context of a file is not set by {0} here; declare it with"
    " selinux.fcontext_policy_present and selinux.fcontext_policy_applied"
)


def refuse_context(function: str, *parts: Any) -> None:
    """Refuse a wish for a context.

    Raises:
        FunctionError: one of its parts is given.
    """
    if any(parts):
        raise FunctionError(NOT_SET.format(function))
