"""Read the command line and the configuration in a child, so that a daemon need not keep what for.

Parsing options and YAML takes two megabytes of modules and leftovers that a daemon never needs
again, but would hold in each of its processes for as long as it runs. So a child parses, checks,
complains and ends the command if it has to; the daemon gets the values alone.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, TypeVar

from saltlite.core.dataclasses import fields

Config = TypeVar("Config")

EX_SOFTWARE = 70
_VALUES, _NOT_PACKED = b"v", b"n"


def read_aside(
    read: Callable[[], tuple[Config, Mapping[str, Any]]],
    remake: Callable[[dict[str, Any], Mapping[str, Any], Mapping[str, Any]], Config],
    meanwhile: Callable[[], None] = lambda: None,
) -> tuple[Config, dict[str, Any]]:
    """The configuration that ``read`` gives, and a few plain values with it, without its footprint.

    ``remake`` makes a configuration of its sections' values, ``extra`` and ``source``; what can be
    done before that is done in ``meanwhile``. Where something does not pack (a date in an unknown
    option), it is read here after all.

    Raises:
        SystemExit: ``read`` ended the command, or could not be run.
    """
    code, answer = _in_a_child(lambda: _pack_config(*read()), meanwhile)
    if answer[:1] == _VALUES:
        from saltlite.transport.codec import unpack_bin

        plain: Any = unpack_bin(answer[1:])
        return remake(plain["sections"], plain["extra"], plain["source"]), plain["values"]
    if answer[:1] == _NOT_PACKED:
        config, values = read()
        return config, dict(values)
    raise SystemExit(code)


def remake_minion(
    sections: Mapping[str, object], extra: Mapping[str, object], source: Mapping[str, object]
) -> Any:
    """A MinionConfig of packed values."""
    from saltlite.config.minion import SECTIONS, MinionConfig

    return _rebuild(MinionConfig, SECTIONS, sections, extra, source)


def remake_master(
    sections: Mapping[str, object], extra: Mapping[str, object], source: Mapping[str, object]
) -> Any:
    """A MasterConfig of packed values."""
    from saltlite.config.master import SECTIONS, MasterConfig

    return _rebuild(MasterConfig, SECTIONS, sections, extra, source)


def _rebuild(
    kind: type[Any],
    kinds: Mapping[str, type[Any]],
    sections: Mapping[str, Any],
    extra: Mapping[str, Any],
    source: Mapping[str, Any],
) -> Any:
    from saltlite.config.schema import OptionSource

    made = {name: section(**sections[name]) for name, section in kinds.items()}
    return kind(
        **made, extra=extra, source={name: OptionSource(*place) for name, place in source.items()}
    )


def _in_a_child(work: Callable[[], bytes], meanwhile: Callable[[], None]) -> tuple[int, bytes]:
    """The child's exit code, and what ``work`` gave there."""
    sys.stdout.flush()
    sys.stderr.flush()
    read_fd, write_fd = os.pipe2(os.O_CLOEXEC)
    pid = os.fork()
    if pid == 0:
        os.close(read_fd)
        _work_and_leave(work, write_fd)
    os.close(write_fd)
    meanwhile()
    with os.fdopen(read_fd, "rb") as pipe:
        answer = pipe.read()
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return (EX_SOFTWARE if code < 0 else code), answer


def _work_and_leave(work: Callable[[], bytes], write_fd: int) -> NoReturn:
    code = EX_SOFTWARE
    try:
        answer = work()
        with os.fdopen(write_fd, "wb") as pipe:
            pipe.write(answer)
        code = 0
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    except BaseException:  # noqa: BLE001 - a child must never return into its parent's code
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _pack_config(config: Any, values: Mapping[str, object]) -> bytes:
    from saltlite.errors import WireError
    from saltlite.transport.codec import pack_bin

    sections = {
        field.name: _section_values(getattr(config, field.name))
        for field in fields(config)
        if field.name not in ("extra", "source")
    }
    source = {name: [place.path, place.line] for name, place in config.source.items()}
    plain = {"sections": sections, "extra": dict(config.extra), "source": source}
    try:
        return _VALUES + pack_bin({**plain, "values": dict(values)})
    except WireError:
        return _NOT_PACKED


def _section_values(section: Any) -> dict[str, Any]:
    return {field.name: getattr(section, field.name) for field in fields(section)}
