"""Where compile errors are: Salt's sentences name an ID and an SLS, here come file and line.

The line is looked up in the file as it is written; an ID that only its template knows has none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from saltlite.core.lazyregex import regex
from saltlite.errors import SaltliteError
from saltlite.highstate.sls import SlsRef, StateTree

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
