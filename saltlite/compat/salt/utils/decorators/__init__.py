"""``salt.utils.decorators``."""

from __future__ import annotations

import functools
import inspect
import logging
import shlex
import subprocess
import time
from collections.abc import Callable
from typing import Any

from saltlite.compat.salt.exceptions import CommandExecutionError
from saltlite.compat.salt.utils.versions import _find_release
from saltlite.compat.salt.version import __saltstack_version__

log = logging.getLogger(__name__)


class Depends:
    """``@depends("yaml", fallback_function=f)``: a function that is there only with what it needs.

    A name must have a true value in the globals of the function's file, once that has been
    executed; the loader asks :func:`unmet` for it. With ``retcode`` or ``nonzero_retcode`` the
    names are commands, which must end so. ``params`` counts for nothing, as in Salt. Source:
    observed on Salt 3006.30.
    """

    def __init__(self, *dependencies: Any, **kwargs: Any) -> None:
        self.dependencies = dependencies
        self.fallback: Callable[..., Any] | None = kwargs.get("fallback_function")
        self.retcode: int | None = kwargs.get("retcode")
        self.nonzero: bool | None = kwargs.get("nonzero_retcode")

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, marked with what it needs."""
        needs = [*getattr(function, "__salt_depends__", []), self]
        vars(function)["__salt_depends__"] = needs
        return function

    def is_met(self, names: dict[str, Any]) -> bool:
        """Whether all is there, in the globals ``names``."""
        return all(self._is_met(each, names) for each in self.dependencies)

    def _is_met(self, dependency: object, names: dict[str, Any]) -> bool:
        if isinstance(dependency, bool):
            return dependency
        if self.retcode is None and self.nonzero is None:
            return isinstance(dependency, str) and bool(names.get(dependency))
        return self._ends_as_wanted(_retcode_of(str(dependency)))

    def _ends_as_wanted(self, code: int | None) -> bool:
        """Whether a command with that retcode, ``None`` for one that cannot run, is what it needs.

        One that cannot run counts as one that fails.
        """
        if self.retcode is not None:
            return code == self.retcode
        return bool(self.nonzero) is (code != 0)


def _retcode_of(command: str) -> int | None:
    """How a command ends, which is run without a shell; ``None`` if it cannot be run."""
    try:
        done = subprocess.run(
            shlex.split(command), capture_output=True, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, ValueError) as error:
        log.debug("the command %r of a dependency does not run: %s", command, error)
        return None
    return done.returncode


depends = Depends


def unmet(function: Callable[..., Any], names: dict[str, Any]) -> Depends | None:
    """The first need of a function that is not there; ``None`` if it may run."""
    needs: list[Depends] = getattr(function, "__salt_depends__", [])
    return next((need for need in needs if not need.is_met(names)), None)


def memoize(func: Callable[..., Any]) -> Callable[..., Any]:
    """Remember what a function gave for the same arguments."""
    known: dict[Any, Any] = {}

    @functools.wraps(func)
    def remembered(*args: Any, **kwargs: Any) -> Any:
        key = (tuple(map(str, args)), tuple(sorted((k, str(v)) for k, v in kwargs.items())))
        if key not in known:
            known[key] = func(*args, **kwargs)
        return known[key]

    return remembered


def timing(function: Callable[..., Any]) -> Callable[..., Any]:
    """Log how long a function took."""

    @functools.wraps(function)
    def timed(*args: Any, **kwargs: Any) -> Any:
        begin = time.monotonic()
        value = function(*args, **kwargs)
        log.log(15, "Function %s took %.5f seconds", function.__name__, time.monotonic() - begin)
        return value

    return timed


def ensure_unicode_args(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as it is: arguments are text."""
    return function


def is_deprecated(
    globals: dict[str, Any],
    version: object,
    with_successor: str | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Mark a function that will be gone in a release."""

    def mark(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def deprecated(*args: Any, **kwargs: Any) -> Any:
            return _warn_deprecated(function, version, with_successor)(*args, **kwargs)

        return deprecated

    return mark


def with_deprecated(
    globals: dict[str, Any],
    version: object,
    with_name: str | None = None,
    policy: int = 1,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Mark a function that has an older one beside it; the new one runs."""
    return lambda function: function


def _warn_deprecated(
    function: Callable[..., Any], version: object, successor: str | None
) -> Callable[..., Any]:
    release = _find_release(version.lower() if isinstance(version, str) else version)
    advice = f" Please use '{successor}' instead." if successor else ""
    if __saltstack_version__ >= release:
        raise CommandExecutionError(
            f"The lifetime of the function '{function.__name__}' expired.{advice}"
        )
    log.warning(
        "The function '%s' is deprecated and will expire in version '%s'.%s",
        function.__name__,
        release.string,
        advice,
    )
    return function


def allow_one_of(*allowed_args: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let at most one of these arguments be given."""
    return _check_count(allowed_args, at_least=0)


def require_one_of(*required_args: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let exactly one of these arguments be given."""
    return _check_count(required_args, at_least=1)


def _check_count(
    names: tuple[str, ...], at_least: int
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def mark(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            from saltlite.compat.salt.exceptions import SaltInvocationError

            bound = inspect.signature(function).bind(*args, **kwargs).arguments
            given = [name for name in names if bound.get(name)]
            if not at_least <= len(given) <= 1:
                raise SaltInvocationError(
                    f"Only one of the following is allowed: {', '.join(names)}"
                )
            return function(*args, **kwargs)

        return checked

    return mark


def identical_signature_wrapper(
    original_function: Callable[..., Any], wrapped_function: Callable[..., Any]
) -> Callable[..., Any]:
    """A function in the place of another, with its name and arguments."""
    return functools.wraps(original_function)(wrapped_function)


def state(*args: Any, **kwargs: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The function as it is."""
    return lambda function: function
