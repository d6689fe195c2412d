"""Write lines into the minion's log, mostly from within templates."""

from __future__ import annotations

import logging
from collections.abc import Callable

from saltlite.core.factories import name_function

_log = logging.getLogger(__name__)


def _make_logger(write: Callable[..., None], what: str) -> Callable[[object], bool]:
    """Make the function that writes a line with a method of the logger."""

    def write_line(message: object) -> bool:
        write("%s", message)
        return True

    name = write.__name__
    text = f"""A line of level {what}.

    CLI Example:

        salt '*' log.{name} 'a message'
    """
    return name_function(write_line, name, text)


debug = _make_logger(_log.debug, "``debug``")
info = _make_logger(_log.info, "``info``")
warning = _make_logger(_log.warning, "``warning``")
error = _make_logger(_log.error, "``error``")
critical = _make_logger(_log.critical, "``critical``")
exception = _make_logger(_log.exception, "``error``, with the traceback if there is one")
