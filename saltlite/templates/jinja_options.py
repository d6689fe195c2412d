"""Jinja's options in the configuration, and the texts that Jinja would leave as they are.

Knows nothing of Jinja: who renders plain texts alone does not load it.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final

log = logging.getLogger(__name__)

MAX_CHARS = 64 * 1024 * 1024
"""How long a rendered template, a text or a list in it may be.

Source: docs/security.md#malformed-input.
"""

MARKS: Final = ("{{", "{%", "{#", "\r")
"""Without these, and with Jinja's own delimiters, a text is what it renders to."""

KEEPS_PLAIN: Final = frozenset({"trim_blocks", "lstrip_blocks", "autoescape"})
"""The options that change nothing of a text without marks."""

OLDER_OPTIONS: Final = (
    ("jinja_trim_blocks", "trim_blocks"),
    ("jinja_lstrip_blocks", "lstrip_blocks"),
)
"""Options that came before ``jinja_env``, and what they turn on."""

ALLOWED_OPTIONS: Final = frozenset(
    {
        "autoescape",
        "block_end_string",
        "block_start_string",
        "comment_end_string",
        "comment_start_string",
        "keep_trailing_newline",
        "line_comment_prefix",
        "line_statement_prefix",
        "lstrip_blocks",
        "newline_sequence",
        "trim_blocks",
        "variable_end_string",
        "variable_start_string",
    }
)
"""The options of Jinja that configuration may set; the others would be code."""


def read_options(sls: str, opts: Mapping[str, Any]) -> dict[str, Any]:
    """Jinja's options from ``jinja_sls_env``, ``jinja_env`` and the two older ones.

    ``sls`` is the SLS that a template is, ``""`` for one that is none.
    """
    options: dict[str, Any] = {}
    wanted = opts.get("jinja_sls_env" if sls else "jinja_env") or {}
    for name, value in wanted.items():
        if name in ALLOWED_OPTIONS:
            options[name] = value
        else:
            log.warning("jinja2 environment %s is not recognized", name)
    for old, name in OLDER_OPTIONS:
        if opts.get(old):
            options[name] = True
    return options


def is_plain(text: str, options: Mapping[str, object]) -> bool:
    """Whether there is nothing in a text for Jinja to do."""
    if not options.keys() <= KEEPS_PLAIN or len(text) > MAX_CHARS:
        return False
    return not any(mark in text for mark in MARKS)
