"""What every file state asks of its arguments, and owners that have to be there."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from saltlite.errors import FunctionError
from saltlite.highstate.resource import Verdict
from saltlite.modules._file import owners


@dataclass(slots=True)
class Told:
    """What was said of a step when it was taken."""

    comment: str = ""
    changes: dict[str, Any] = field(default_factory=dict)


def failure(comment: str) -> Verdict:
    """A declaration that cannot be met."""
    return Verdict(result=False, comment=comment)


def misnamed(name: str, function: str) -> Verdict | None:
    """The complaint about a name that is empty or no absolute path."""
    if not name:
        return failure(f"Must provide name to file.{function}")
    if not os.path.isabs(os.path.expanduser(name)):
        return failure(f"Specified file {name} is not an absolute path")
    return None


def require_owners(user: Any, group: Any) -> None:
    """Raises FunctionError if there is no such user or group."""
    complaint = ""
    if user not in (None, "") and owners.user_id(user) == "":
        complaint = f"User {user} is not available "
    if group not in (None, "") and owners.group_id(group) == "":
        complaint += f"Group {group} is not available"
    if complaint:
        raise FunctionError(complaint)


@contextlib.contextmanager
def system_errors(prefix: str = "") -> Iterator[None]:
    """What the system refuses is the comment of the state."""
    try:
        yield
    except (OSError, UnicodeError) as error:
        raise FunctionError(f"{prefix}{error}") from error
