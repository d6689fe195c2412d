"""Judge the names of options: misspelt ones, and those that nothing obeys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from saltlite.config.known import OTHER_OPTIONS, is_without_effect, nearest
from saltlite.config.schema import OptionSource, option_name, options
from saltlite.doctor.finding import Finding, note, warning


def judge_options(
    sources: Mapping[str, OptionSource],
    extra: Iterable[str],
    sections: Mapping[str, type[Any]],
    others: Mapping[str, type[Any]],
    role: str,
) -> Iterator[Finding]:
    """Look at each option that is set.

    ``extra`` are those that the daemon does not know, ``others`` the sections of the other daemon.
    """
    known, of_others, unknown = _list_names(sections), _list_names(others), set(extra)
    for name, source in sorted(sources.items()):
        if is_without_effect(name, role):
            yield warning(
                f"{name} is set, but saltlite does not obey it",
                str(source),
                f"remove {name} (docs/differences.md says what is there instead)",
            )
        elif name in unknown and name not in OTHER_OPTIONS:
            yield from _judge_unknown(name, str(source), known, of_others)


def _list_names(sections: Mapping[str, type[Any]]) -> set[str]:
    return {option_name(field) for section in sections.values() for field in options(section)}


def _judge_unknown(
    name: str, where: str, known: set[str], of_others: set[str]
) -> Iterator[Finding]:
    if name in of_others:
        yield note(f"{name} is an option of the other daemon, and has no effect here", where)
        return
    near = nearest(name, known)
    if near is not None:
        mend = f"write {near} in place of {name}"
        yield warning(f"there is no option {name}: did you mean {near}?", where, mend)
    # With a dot it is the setting of a module: mysql.host.
    elif "." not in name:
        yield note(f"{name} is no option of Salt's; only modules of your own read it", where)
