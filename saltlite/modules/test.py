"""Functions that prove that calling functions works.

They need nothing of the machine, so whatever is wrong with their answer is wrong on the way.
"""

from __future__ import annotations

import builtins
import hashlib
import logging
import random
import time
import traceback
from collections.abc import Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.keywords import without_job
from saltlite.errors import FunctionError, FunctionUnavailable

log = logging.getLogger(__name__)

OUTPUTTERS = {"outputter": "txt"}

_SALT_EXCEPTIONS = (
    "AuthenticationError",
    "CommandExecutionError",
    "CommandNotFoundError",
    "MinionError",
    "SaltException",
    "SaltInvocationError",
    "TimeoutError",
)
"""Those of Salt's own exceptions that functions raise; here they are all one."""

DEFAULT_RANDOM_SIZE = 9999999999


def ping() -> bool:
    """Answer ``True``: the minion is up and takes commands. Not an ICMP ping.

    CLI Example:

        salt '*' test.ping
    """
    return True


def true_() -> bool:
    """Answer ``True``.

    CLI Example:

        salt '*' test.true
    """
    return True


def false_() -> bool:
    """Answer ``False``.

    CLI Example:

        salt '*' test.false
    """
    return False


def echo(text: object) -> Any:
    """Give back what was given.

    CLI Example:

        salt '*' test.echo 'foo bar baz'
    """
    return text


def outputter(data: object) -> Any:
    """Give back what was given, to be shown as plain text.

    CLI Example:

        salt '*' test.outputter foobar
    """
    return data


def arg(*args: Any, **kwargs: Any) -> dict[str, Any]:
    """Show the arguments as they arrived, with what the minion adds about the job.

    CLI Example:

        salt '*' test.arg 1 "two" 3.1 txt="hello" wow='{a: 1, b: "hello"}'
    """
    return {"args": args, "kwargs": kwargs}


def arg_clean(*args: Any, **kwargs: Any) -> dict[str, Any]:
    """Show the arguments without what the minion adds.

    CLI Example:

        salt '*' test.arg_clean 1 "two" txt="hello"
    """
    return {"args": args, "kwargs": without_job(kwargs)}


def arg_repr(*args: Any, **kwargs: Any) -> dict[str, str]:
    """Show the arguments as Python writes them.

    CLI Example:

        salt '*' test.arg_repr 1 "two" txt="hello"
    """
    return {"args": repr(args), "kwargs": repr(kwargs)}


def arg_type(*args: Any, **kwargs: Any) -> dict[str, Any]:
    """Show the types of the arguments.

    CLI Example:

        salt '*' test.arg_type 1 'int'
    """
    return {
        "args": [str(type(value)) for value in args],
        "kwargs": {name: str(type(value)) for name, value in kwargs.items()},
    }


def kwarg(**kwargs: Any) -> dict[str, Any]:
    """Show the keyword arguments, with what the minion adds about the job.

    CLI Example:

        salt '*' test.kwarg num=1 txt="two"
    """
    return kwargs


def assertion(assertion: object) -> None:
    """Raise an AssertionError unless the argument counts as true.

    CLI Example:

        salt '*' test.assertion False
    """
    if not assertion:
        raise AssertionError


def exception(message: str = "Test Exception") -> None:
    """Raise an exception with this text.

    CLI Example:

        salt '*' test.exception 'Oh noes!'
    """
    raise Exception(message)


def raise_exception(name: str, *args: Any, **kwargs: Any) -> bool:
    """Raise one of Python's exceptions, or ``salt.exceptions.CommandExecutionError``.

    Answers ``False`` if there is no such exception.

    CLI Example:

        salt '*' test.raise_exception TypeError "An integer is required"
    """
    kind = _list_exceptions().get(name)
    if kind is None:
        log.error("No such exception: %s", name)
        return False
    raise kind(*args, **without_job(kwargs))


def _list_exceptions() -> dict[str, Any]:
    kinds: dict[str, Any] = {
        name: value
        for name, value in vars(builtins).items()
        if isinstance(value, type) and issubclass(value, Exception)
    }
    return kinds | {f"salt.exceptions.{name}": FunctionError for name in _SALT_EXCEPTIONS}


def retcode(ctx: MinionContext, code: int = 42) -> bool:
    """Answer ``True`` and end the job with this exit code.

    CLI Example:

        salt '*' test.retcode 42
    """
    ctx.retcode = code
    return True


def sleep(length: Any) -> bool:
    """Answer ``True`` after this many seconds.

    CLI Example:

        salt '*' test.sleep 20
    """
    time.sleep(int(length))
    return True


def rand_sleep(max: int = 60) -> bool:
    """Answer ``True`` after a random whole number of seconds.

    CLI Example:

        salt '*' test.rand_sleep 60
    """
    time.sleep(random.randint(0, int(max)))  # noqa: S311 - a delay, not a secret
    return True


def rand_str(
    ctx: MinionContext, size: int = DEFAULT_RANDOM_SIZE, hash_type: str | None = None
) -> str:
    """The former name of ``test.random_hash``."""
    return random_hash(ctx, size, hash_type)


def random_hash(
    ctx: MinionContext, size: int = DEFAULT_RANDOM_SIZE, hash_type: str | None = None
) -> str:
    """The hash of a random number below ``size``; the algorithm is ``hash_type`` of the minion.

    CLI Example:

        salt '*' test.random_hash hash_type=sha512
    """
    name = hash_type or ctx.config.files.hash_type
    if name not in hashlib.algorithms_guaranteed:
        raise FunctionError(f"no such hash type: {name}")
    number = random.SystemRandom().randint(0, int(size))
    return hashlib.new(name, str(number).encode()).hexdigest()


def collatz(start: Any) -> list[Any]:
    """The Collatz sequence from this number, and how many seconds it took.

    CLI Example:

        salt '*' test.collatz 3
    """
    begun = time.time()
    steps: list[float] = []
    number: float = int(start)
    while number != 1:
        steps.append(number)
        number = number * 3 + 1 if number % 2 else number / 2
    return [steps, time.time() - begun]


def fib(num: int) -> list[Any]:
    """The Fibonacci number at this place, and how many seconds it took.

    CLI Example:

        salt '*' test.fib 3
    """
    begun = time.time()
    first, second = 0, 1
    for _ in range(int(num)):
        first, second = second, first + second
    return [first, time.time() - begun]


def stack() -> str:
    """Where the minion's program is at this moment.

    CLI Example:

        salt '*' test.stack
    """
    return "".join(traceback.format_stack())


def conf_test(ctx: MinionContext) -> Any:
    """The option ``test.foo``, or ``unconfigured``.

    CLI Example:

        salt '*' test.conf_test
    """
    return ctx.functions.call("config.option", "test.foo") or "unconfigured"


def get_opts(ctx: MinionContext) -> dict[str, Any]:
    """The minion's options.

    CLI Example:

        salt '*' test.get_opts
    """
    from saltlite.config.opts import flat_opts

    return flat_opts(ctx.config)


def opts_pkg(ctx: MinionContext) -> dict[str, Any]:
    """The minion's options and grains in one map.

    CLI Example:

        salt '*' test.opts_pkg
    """
    return {**get_opts(ctx), "grains": dict(ctx.grains)}


def cross_test(ctx: MinionContext, func: str, args: Sequence[object] | None = None) -> Any:
    """Call another function from within this one.

    CLI Example:

        salt '*' test.cross_test test.echo args='[hello]'
    """
    return ctx.functions.call(func, *(args or ()))


def attr_call(ctx: MinionContext) -> Any:
    """Call ``grains.items`` from within this function.

    CLI Example:

        salt '*' test.attr_call
    """
    return ctx.functions.call("grains.items")


def try_(ctx: MinionContext, module: str, return_try_exception: bool = False, **kwargs: Any) -> Any:
    """Call a function; ``None`` if it raises, or the exception if that is asked for.

    CLI Example:

        salt '*' test.try module=test.echo text=hello
    """
    try:
        return ctx.functions.call(module, **without_job(kwargs))
    except FunctionUnavailable as error:
        return repr(KeyError(error.name)) if return_try_exception else None
    except Exception as error:
        log.debug("test.try: %s failed", module, exc_info=True)
        return repr(error) if return_try_exception else None


def provider(ctx: MinionContext, module: str) -> str:
    """Which file serves a module; empty if none does.

    CLI Example:

        salt '*' test.provider service
    """
    try:
        return ctx.functions.source(module).path
    except FunctionUnavailable:
        return ""


def providers(ctx: MinionContext) -> dict[str, str]:
    """The files that serve modules, and what each serves.

    CLI Example:

        salt '*' test.providers
    """
    modules = {name.partition(".")[0] for name in ctx.functions.names()}
    return {ctx.functions.source(module).path: module for module in sorted(modules)}


def module_report(ctx: MinionContext) -> dict[str, list[str]]:
    """Which functions and modules there are.

    CLI Example:

        salt '*' test.module_report
    """
    functions = ctx.functions.names()
    modules = sorted({name.partition(".")[0] for name in functions})
    return {
        "functions": functions,
        "function_attrs": [],
        "function_subs": functions,
        "modules": modules,
        "module_attrs": modules,
        "missing_attrs": [],
        "missing_subs": [],
    }


def not_loaded() -> list[str]:
    """Modules that are there but refused to be loaded; built-in ones never do.

    CLI Example:

        salt '*' test.not_loaded
    """
    return []


def deprecation_warning() -> bool:
    """Answer ``True`` and log that something is going to be removed.

    CLI Example:

        salt '*' test.deprecation_warning
    """
    log.warning("This is a test of a deprecation warning.")
    return True


def tty(*args: Any, **kwargs: Any) -> str:
    """Says that this function is ``cmd.tty`` now.

    CLI Example:

        salt '*' cmd.tty tty0 'This is a test'
    """
    return "ERROR: This function has been moved to cmd.tty"


def version() -> str:
    """The version of the minion.

    CLI Example:

        salt '*' test.version
    """
    from saltlite.version import SALT_COMPATIBLE

    return SALT_COMPATIBLE


def versions() -> str:
    """The same as ``test.versions_report``."""
    return versions_report()


def versions_report() -> str:
    """The versions of the minion and of what it uses, as text.

    CLI Example:

        salt '*' test.versions_report
    """
    sections = []
    for title, entries in versions_information().items():
        width = max(map(len, entries), default=0)
        lines = [
            f"{name:>{max(width, 14)}}: {value or 'Not Installed'}"
            for name, value in entries.items()
        ]
        sections.append("\n".join([f"{title}:", *lines]))
    return "\n \n".join(sections)


def versions_information() -> dict[str, dict[str, str | None]]:
    """The versions of the minion and of what it uses.

    CLI Example:

        salt '*' test.versions_information
    """
    import platform
    import sys
    from importlib import metadata

    from saltlite.version import SALT_COMPATIBLE, __version__

    def installed(name: str) -> str | None:
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            return None

    wanted = ("cryptography", "Jinja2", "msgpack", "PyYAML", "PyZMQ", "tornado")
    return {
        "Salt Version": {"Salt": SALT_COMPATIBLE, "saltlite": __version__},
        "Python Version": {"Python": sys.version.replace("\n", "")},
        "Dependency Versions": {name: installed(name) for name in wanted},
        "System Versions": {
            "machine": platform.machine(),
            "release": platform.release(),
            "system": platform.system(),
        },
    }
