"""What every file state asks of its arguments, and owners that have to be there."""

from __future__ import annotations

import codecs
import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from saltlite.core.dataclasses import dataclass
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Verdict
from saltlite.providers.file import paths, permissions
from saltlite.providers.file.permissions import DesiredPermissions


def failure(comment: str) -> Verdict:
    """A declaration that cannot be met."""
    return Verdict(result=False, comment=comment)


def explain_bad_name(name: str, function: str) -> Verdict | None:
    """The complaint about a name that is empty or no absolute path."""
    if not name:
        return failure(f"Must provide name to file.{function}")
    if not os.path.isabs(os.path.expanduser(name)):
        return failure(f"Specified file {name} is not an absolute path")
    return None


@dataclass(frozen=True, slots=True)
class Encoding:
    """How the text of a file is written, and what is done about new letters that do not fit.

    What is in the file already has to be of the encoding: it is not to be lost.
    """

    name: str = "utf-8"
    errors: str = "strict"

    @classmethod
    def check(cls, name: object, errors: object) -> Encoding:
        """From a state's arguments; raises FunctionError for those that Python does not know."""
        errors = str(errors or "strict")
        try:
            codecs.lookup_error(errors)
            return cls(codecs.lookup(str(name or "utf-8")).name, errors)
        except LookupError as error:
            raise FunctionError(str(error)) from error


def owner_of(user: object, kwargs: Mapping[str, object]) -> Any:
    """The user of a state, which Salt also takes as ``owner``."""
    return kwargs.get("owner") if user is None else user


def primary_group(user: Any) -> Any:
    """The group of a user; our own if there is no such user, or it is given by its number."""
    import pwd

    try:
        return permissions.group_name(pwd.getpwnam(user).pw_gid)
    except (KeyError, TypeError):
        return permissions.group_name(os.getegid())


def require_owners(user: object, group: object) -> None:
    """Raises FunctionError if there is no such user or group."""
    complaint = ""
    if user not in (None, "") and permissions.user_id(user) == "":
        complaint = f"User {user} is not available "
    if group not in (None, "") and permissions.group_id(group) == "":
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


@contextlib.contextmanager
def expressions() -> Iterator[None]:
    """What is no regular expression is named in the comment of the state."""
    try:
        yield
    except re.error as error:
        raise FunctionError(f"{error.pattern!r} is no regular expression: {error}") from error


def ensure_folder(name: str, missing: str, wanted: DesiredPermissions, *, makedirs: bool) -> None:
    """Have the directory that a path is in; raises FunctionError with ``missing``."""
    folder = os.path.dirname(name.rstrip("/"))
    if os.path.isdir(folder):
        return
    if not makedirs:
        raise FunctionError(missing)
    require_owners(wanted.user, wanted.group)
    with system_errors():
        paths.make_folder(folder, wanted)
