"""What functions of this minion give."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from saltlite.context import BeaconContext
from saltlite.core.dataclasses import dataclass
from saltlite.core.fields import read_fields
from saltlite.providers.watch import settings


@dataclass(frozen=True, slots=True)
class SaltMonitorOptions:
    """The configuration of this beacon."""

    salt_fun: Any = None


@dataclass(frozen=True, slots=True)
class CallArguments:
    """The arguments of one function, where they are named as such."""

    args: Any = ()
    kwargs: Any = None


def validate(config: Mapping[str, object]) -> tuple[bool, str]:
    """Check the configuration of this beacon."""
    if "salt_fun" not in config:
        return False, "Configuration for salt_monitor beacon requires salt_fun."
    try:
        for name, _, _ in _read_calls(read_fields(SaltMonitorOptions, config).salt_fun):
            if "." not in name:
                return False, f"Configuration for salt_monitor beacon: {name} is no function."
    except ValueError as error:
        return False, f"Configuration for salt_monitor beacon: {error}."
    return settings.VALID


def beacon(ctx: BeaconContext, config: Mapping[str, object]) -> list[dict[str, Any]]:
    """Call the functions; tell what those give that give something."""
    wanted = read_fields(SaltMonitorOptions, config).salt_fun
    found = []
    for name, args, kwargs in _read_calls(wanted):
        value = ctx.minion.functions.call(name, *args, **kwargs)
        if value or isinstance(wanted, str):
            event: dict[str, Any] = {"salt_fun": name, "ret": value}
            event |= {"args": args} if args else {}
            found.append(event | ({"kwargs": kwargs} if kwargs else {}))
    return found


def _read_calls(given: Any) -> Iterator[tuple[str, list[Any], dict[str, Any]]]:
    """Name, positional and keyword arguments of each call.

    Raises:
        ValueError: it cannot be understood.
    """
    for each in [given] if isinstance(given, (str, Mapping)) else given:
        if isinstance(each, str):
            yield each, [], {}
        elif isinstance(each, Mapping):
            for name, arguments in each.items():
                yield str(name), *_read_arguments(str(name), arguments)
        else:
            raise ValueError(f"{each!r:.80} is no function")


def _read_arguments(name: str, given: object) -> tuple[list[Any], dict[str, Any]]:
    if given is None:
        return [], {}
    if isinstance(given, Mapping):
        if set(given) - {"args", "kwargs"}:
            raise ValueError(f"only args and kwargs are allowed under {name}")
        arguments = read_fields(CallArguments, given)
        return list(arguments.args or ()), settings.map_of(arguments.kwargs)
    if not isinstance(given, (list, tuple)):
        raise ValueError(f"the arguments of {name} must be a list or a map")
    keywords = [each for each in given if isinstance(each, Mapping)]
    return [each for each in given if not isinstance(each, Mapping)], settings.map_of(keywords)
