"""Arguments that many functions of Salt share, as one value.

``cmd.run`` takes thirty arguments and nine other functions take nearly the same; all of ``git``
take who runs it and how. Such a *family* is a frozen dataclass that has the arguments as fields,
with Salt's names, order and defaults. A function takes the value, and its decorator says which of
the fields its callers give:

    @takes_options(GitOptions, "user password ignore_retcode")
    def list_tags(ctx: MinionContext, options: GitOptions, /, cwd: str) -> list[str]:

For its callers, for ``sys.argspec`` and for ``inspect.signature`` that is the function
``list_tags(ctx, cwd, user=None, password=None, ignore_retcode=False)``, by position or by name.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence

from saltlite.core.dataclasses import fields

TYPE_CHECKING = False  # typing would cost more than all else here
if TYPE_CHECKING:
    import inspect
    from types import FunctionType
    from typing import Any, NoReturn, TypeVar

    Result = TypeVar("Result")

REST = "kwargs"
"""A field of this name has, by name, what else callers gave: the family takes any keyword."""


def takes_options(
    family: type[Any], names: str = "*", *, without: str = "", **defaults: object
) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """Let a function take a family of options as one value, before its own arguments.

    ``names`` are Salt's, in Salt's order: fields of the family and, where they do not come first,
    arguments of the function. ``*`` stands for all fields but those in ``without``.
    ``defaults`` are those that the family has otherwise.
    """

    def decorate(function: Any) -> Callable[..., Result]:
        arguments = OptionArguments(function, family, names, without, defaults)
        call: Any
        # Two of them, since a wrapper that asked at each call would cost every call.
        # The loader fills in a context where the first argument is called so.
        if arguments.has_context:

            def call(ctx: Any, /, *args: Any, **kwargs: Any) -> Any:
                return arguments.call((ctx,), args, kwargs)

        else:

            def call(*args: Any, **kwargs: Any) -> Any:
                return arguments.call((), args, kwargs)

        functools.update_wrapper(call, function)
        call.option_arguments = call.__wrapped__ = arguments
        found: Callable[..., Result] = call
        return found

    return decorate


class OptionArguments:
    """What callers may give to a function with a family of options.

    The function has it as ``option_arguments``; Python finds it as ``__wrapped__`` and asks it for
    ``__signature__``. Nothing is looked up before the first call, since most functions of a module
    are never called.
    """

    def __init__(
        self,
        function: FunctionType,
        family: type[Any],
        names: str,
        without: str,
        defaults: Mapping[str, object],
    ) -> None:
        self.family = family
        self.function = function
        self._names = names
        self._without = without
        self._defaults = defaults

    @property
    def has_context(self) -> bool:
        """Whether the first argument is a context, which no caller gives."""
        return self.function.__code__.co_varnames[0] == "ctx"

    @functools.cached_property
    def names(self) -> Sequence[str]:
        """The arguments by position, without a context."""
        without = {REST, *self._without.split()}
        every = [one.name for one in fields(self.family) if one.name not in without]
        named: list[str] = []
        for name in self._names.split():
            named += every if name == "*" else [name]
        return (*[name for name in self._own if name not in named], *named)

    @functools.cached_property
    def options(self) -> Mapping[str, object]:
        """Those that are fields of the family, with their defaults."""
        own = set(self._own)
        known = {one.name: one.default for one in fields(self.family)}
        return {
            name: self._defaults.get(name, known[name]) for name in self.names if name not in own
        }

    @functools.cached_property
    def takes_any(self) -> bool:
        """Whether any other keyword may be given."""
        return self._has_rest or bool(self.function.__code__.co_flags & 0x08)

    @property
    def required(self) -> Sequence[str]:
        """The arguments that have no default."""
        own = self._own
        optional = {*own[len(own) - len(self.function.__defaults__ or ()) :], *self.options}
        return [name for name in self.names if name not in optional]

    def call(
        self, first: tuple[object, ...], args: Sequence[object], kwargs: dict[str, object]
    ) -> Any:
        """Call the function with what its callers gave; raises TypeError in Python's words."""
        given = dict(zip(self.names, args, strict=False))
        for name in kwargs:
            if name in given:
                self._refuse(f"got multiple values for argument '{name}'")
            if name == self._options_name and not (self.takes_any or name in self.options):
                self._refuse(f"got an unexpected keyword argument '{name}'")
        if len(args) > len(self.names):
            self._refuse(self._describe_too_many(len(first), len(args)))
        given |= kwargs
        values = {
            name: given.pop(name) if name in given else default
            for name, default in self.options.items()
        }
        # What is neither a field nor an argument is the family's rest, not the function's.
        if self._has_rest:
            own = {name: given.pop(name) for name in self._own if name in given}
            values[REST], given = given, own
        return self.function(*first, self.family(**values), **given)

    @property
    def __signature__(self) -> inspect.Signature:
        import inspect  # which takes longer to load than most functions take

        written = inspect.signature(self.function)
        own = written.parameters
        by_name = inspect.Parameter.POSITIONAL_OR_KEYWORD
        types = {one.name: one.type for one in fields(self.family)}
        found = [own["ctx"].replace(kind=by_name)] if self.has_context else []
        for name in self.names:
            if name in self.options:
                default, kind = self.options[name], types[name]
                found.append(inspect.Parameter(name, by_name, default=default, annotation=kind))
            else:
                found.append(own[name])
        if self._has_rest:
            found.append(inspect.Parameter(REST, inspect.Parameter.VAR_KEYWORD, annotation="Any"))
        elif self.takes_any:
            found.append(own[REST])
        return written.replace(parameters=found)

    @functools.cached_property
    def _own(self) -> Sequence[str]:
        """The arguments of the function itself."""
        code = self.function.__code__
        return code.co_varnames[code.co_posonlyargcount : code.co_argcount]

    @property
    def _options_name(self) -> str:
        code = self.function.__code__
        return code.co_varnames[code.co_posonlyargcount - 1]

    @functools.cached_property
    def _has_rest(self) -> bool:
        return any(one.name == REST for one in fields(self.family))

    def _describe_too_many(self, bound: int, given: int) -> str:
        least, most = bound + len(self.required), bound + len(self.names)
        takes = f"{most}" if least == most else f"from {least} to {most}"
        plural = "" if least == most == 1 else "s"
        were = "was" if bound + given == 1 else "were"
        return f"takes {takes} positional argument{plural} but {bound + given} {were} given"

    def _refuse(self, why: str) -> NoReturn:
        raise TypeError(f"{self.function.__qualname__}() {why}")


def select_options(family: type[Any], kwargs: Mapping[str, object]) -> dict[str, Any]:
    """Those of any keywords that a family has."""
    return {one.name: kwargs[one.name] for one in fields(family) if one.name in kwargs}
