"""``syslog``: sends returns to the system's log.

Options ``syslog.level`` (``LOG_INFO``), ``syslog.facility`` (``LOG_USER``), ``syslog.tag``
(``salt-minion``) and ``syslog.options`` (a list such as ``[LOG_PID]``). Source:
docs/modules.md#what-a-file-finds.
"""

from __future__ import annotations

import logging
import syslog
from collections.abc import Mapping
from typing import Final

from saltlite.core.jsontext import pack_json
from saltlite.jobs.returner_context import ReturnerContext, options

log = logging.getLogger(__name__)

DEFAULTS: Final = {
    "level": "LOG_INFO",
    "facility": "LOG_USER",
    "tag": "salt-minion",
    "options": [],
}
LEVELS: Final = {
    "LOG_EMERG": syslog.LOG_EMERG,
    "LOG_ALERT": syslog.LOG_ALERT,
    "LOG_CRIT": syslog.LOG_CRIT,
    "LOG_ERR": syslog.LOG_ERR,
    "LOG_WARNING": syslog.LOG_WARNING,
    "LOG_NOTICE": syslog.LOG_NOTICE,
    "LOG_INFO": syslog.LOG_INFO,
    "LOG_DEBUG": syslog.LOG_DEBUG,
}
FACILITIES: Final = {
    "LOG_KERN": syslog.LOG_KERN,
    "LOG_USER": syslog.LOG_USER,
    "LOG_MAIL": syslog.LOG_MAIL,
    "LOG_DAEMON": syslog.LOG_DAEMON,
    "LOG_AUTH": syslog.LOG_AUTH,
    "LOG_LPR": syslog.LOG_LPR,
    "LOG_NEWS": syslog.LOG_NEWS,
    "LOG_UUCP": syslog.LOG_UUCP,
    "LOG_CRON": syslog.LOG_CRON,
    "LOG_SYSLOG": syslog.LOG_SYSLOG,
    **{f"LOG_LOCAL{number}": (16 + number) << 3 for number in range(8)},
}
FLAGS: Final = {
    "LOG_PID": syslog.LOG_PID,
    "LOG_CONS": syslog.LOG_CONS,
    "LOG_NDELAY": syslog.LOG_NDELAY,
}


def returner(ctx: ReturnerContext, ret: Mapping[str, object]) -> None:
    """Send one return as JSON; an option with an unknown word is a line in the log instead."""
    wanted = options(ctx, "syslog", ret, DEFAULTS)
    level = _look_up_word(LEVELS, "level", wanted["level"])
    facility = _look_up_word(FACILITIES, "facility", wanted["facility"])
    flags = [_look_up_word(FLAGS, "options", one) for one in wanted["options"]]
    if level is None or facility is None or None in flags:
        return
    logoption = 0
    for flag in flags:
        logoption |= flag or 0
    syslog.openlog(str(wanted["tag"]), logoption)
    syslog.syslog(level | facility, pack_json(dict(ret)))
    syslog.closelog()


def _look_up_word(words: Mapping[str, int], option: str, word: object) -> int | None:
    found = words.get(str(word))
    if found is None:
        log.error("syslog.%s: %r is not known; the return was not sent", option, word)
    return found
