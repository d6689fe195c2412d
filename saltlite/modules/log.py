"""Write lines into the minion's log, mostly from within templates."""

from __future__ import annotations

import logging

_log = logging.getLogger(__name__)


def debug(message: object) -> bool:
    """A line of level ``debug``.

    CLI Example:

        salt '*' log.debug 'a message'
    """
    _log.debug("%s", message)
    return True


def info(message: object) -> bool:
    """A line of level ``info``.

    CLI Example:

        salt '*' log.info 'a message'
    """
    _log.info("%s", message)
    return True


def warning(message: object) -> bool:
    """A line of level ``warning``.

    CLI Example:

        salt '*' log.warning 'a message'
    """
    _log.warning("%s", message)
    return True


def error(message: object) -> bool:
    """A line of level ``error``.

    CLI Example:

        salt '*' log.error 'a message'
    """
    _log.error("%s", message)
    return True


def critical(message: object) -> bool:
    """A line of level ``critical``.

    CLI Example:

        salt '*' log.critical 'a message'
    """
    _log.critical("%s", message)
    return True


def exception(message: object) -> bool:
    """A line of level ``error``, with the traceback if there is one.

    CLI Example:

        salt '*' log.exception 'a message'
    """
    _log.exception("%s", message)
    return True
