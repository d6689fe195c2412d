"""Where in the SLS files a declaration, its argument or a compile error is: file and line.

A line is looked up in the file as it is written. A declaration whose ID only the template knows has
the line of an ID that may print it, or none; Salt's sentences name an ID and an SLS.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from saltlite.core.dataclasses import dataclass, field
from saltlite.core.lazyregex import regex
from saltlite.errors import SaltliteError
from saltlite.highstate.chunk import Chunk
from saltlite.highstate.sls import SlsRef, StateTree

SALT: Final = "salt://"


@dataclass(slots=True)
class Places:
    """Lines of declarations and their arguments in the SLS files."""

    tree: StateTree
    _texts: dict[SlsRef, tuple[str, list[str]]] = field(default_factory=dict)

    def of(self, chunk: Chunk, argument: str = "") -> tuple[str, int]:
        """The path of a chunk's file, and the line of its argument, else of its ID, else 0."""
        path, lines = self.text(SlsRef(str(chunk.sls), str(chunk.saltenv)))
        start = _line_of_id(lines, str(chunk.ident))
        if not start or not argument:
            return path, start
        return path, _line_of_argument(lines, start, argument) or start

    def of_function(self, chunk: Chunk) -> tuple[str, int]:
        """The path of a chunk's file, and the line that names its function, else of its ID."""
        path, lines = self.text(SlsRef(str(chunk.sls), str(chunk.saltenv)))
        start = _line_of_id(lines, str(chunk.ident))
        return path, _line_of_function(lines, start, chunk) if start else 0

    def text(self, place: SlsRef) -> tuple[str, list[str]]:
        """The path of an SLS below its root, and its lines."""
        if place not in self._texts:
            path = self.tree.file(place) or ""
            try:
                found = self.tree.read(path, place.saltenv) if path else None
            except SaltliteError:
                found = None
            self._texts[place] = path, found[1].splitlines() if found else []
        return self._texts[place]


_KEY = regex(r"""^(?P<indent>\s*)(?P<quote>['"]?)(?P<key>[^\s#-].*?)(?P=quote)\s*:(\s|$)""")
_PRINTED = regex(r"{{.*?}}")


def _line_of_id(lines: Sequence[str], ident: str) -> int:
    """The line of a declaration, from 1: as it is written, else one that may print it, else 0."""
    maybe = 0
    for number, line in enumerate(lines, 1):
        found = _KEY.match(line)
        bare = found["key"] if found else line.strip().strip("'\"")
        if bare == ident:
            return number
        if found and not maybe and "{{" in bare and _fits_printed(bare, ident):
            maybe = number
    return maybe


def _fits_printed(written: str, ident: str) -> bool:
    parts = [re.escape(part) for part in _PRINTED.split(written)]
    return any(parts) and re.fullmatch(".*".join(parts), ident, re.DOTALL) is not None


def _line_of_argument(lines: Sequence[str], start: int, argument: str) -> int:
    """The line of ``- argument:`` below a declaration; 0 if it is not written there."""
    written = re.compile(rf"""^\s*-\s+['"]?{re.escape(argument)}['"]?\s*(:|$)""")
    return next((number for number, line in _body(lines, start) if written.match(line)), 0)


def _line_of_function(lines: Sequence[str], start: int, chunk: Chunk) -> int:
    """The line of ``module.function:`` below a declaration, or of one of both; else ``start``."""
    names = "|".join(map(re.escape, (chunk.function, str(chunk.state))))
    written = re.compile(rf"""^\s+['"]?(?:{names})['"]?\s*(:|$)""")
    short = re.compile(rf"""^\s*-\s+['"]?{re.escape(str(chunk.fun))}['"]?\s*$""")
    at = next((number for number, line in _body(lines, start) if written.match(line)), 0)
    if not at or chunk.function in lines[at - 1]:
        return at or start
    # module, and the function in the list below it
    return next((number for number, line in _body(lines, at) if short.match(line)), at)


def _body(lines: Sequence[str], start: int) -> Iterator[tuple[int, str]]:
    """The lines below a declaration that are its own, with their numbers."""
    opening = _KEY.match(lines[start - 1])
    indent = len(opening["indent"]) if opening else 0
    for number in range(start, len(lines)):
        line = lines[number]
        found = _KEY.match(line)
        if found and len(found["indent"]) <= indent and "{%" not in line:
            return
        yield number + 1, line


# --- compile errors -------------------------------------------------------------------------------

_NAMED = regex(
    r"""\b(?:state|State|ID)[ ](?:is[ ])?(?P<quote>['"]?)(?P<id>.+?)(?P=quote),?[ ]
    (?:and[ ]is[ ]found[ ])?
    in[ ](?:SLS[ ])?['"]?(?:(?P<env>[\w-]+):)?(?P<sls>[\w./-]*\w)['"]?(?=[ .]|$)""",
    re.VERBOSE | re.MULTILINE,
)


def place_errors(tree: StateTree, errors: Sequence[str], saltenvs: Iterable[str]) -> list[str]:
    """``salt://path:line: error`` for each error that names an ID of an SLS."""
    envs = [*saltenvs, "base"]
    return [f"{place}: {error}" for error in errors if (place := _locate_error(tree, error, envs))]


def _locate_error(tree: StateTree, error: str, envs: Sequence[str]) -> str:
    named = _NAMED.search(error)
    if named is None:
        return ""
    # A sentence without an environment is of one of those that were asked for.
    for env in [named["env"]] if named["env"] else envs:
        path = tree.file(SlsRef(named["sls"], env))
        if path is not None:
            line = _find_line(_read_text(tree, path, env), named["id"])
            return f"salt://{path}:{line}" if line else f"salt://{path}"
    return ""


def _read_text(tree: StateTree, path: str, env: str) -> str:
    try:
        found = tree.read(path, env)
    except (OSError, SaltliteError):
        return ""
    return found[1] if found else ""


def _find_line(text: str, ident: str) -> int:
    """The line on which an ID is declared, from 1; 0 if it is not written like that."""
    # Keys in YAML may be quoted.
    declared = re.compile(rf"""\s*(?P<quote>['"]?){re.escape(ident)}(?P=quote)\s*(?::|$)""")
    return next((n for n, line in enumerate(text.splitlines(), 1) if declared.match(line)), 0)
