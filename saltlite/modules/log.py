"""Write lines into the minion's log, mostly from within templates."""

from __future__ import annotations

import logging
from collections.abc import Callable

from saltlite.core.factories import name_function

_log = logging.getLogger(__name__)


def _make_logger(name: str, what: str) -> Callable[[object], bool]:
    """Make the function that writes a line with the logger's method of the same name."""

    def write_line(message: object) -> bool:
        getattr(_log, name)("%s", message)
        return True

    text = f"""A line of level {what}.

    CLI Example:

        salt '*' log.{name} 'a message'
    """
    return name_function(write_line, name, text)


debug = _make_logger("debug", "``debug``")
info = _make_logger("info", "``info``")
warning = _make_logger("warning", "``warning``")
error = _make_logger("error", "``error``")
critical = _make_logger("critical", "``critical``")
exception = _make_logger("exception", "``error``, with the traceback if there is one")
