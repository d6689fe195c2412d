"""The sections that masters and minions share: what is logged and what is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from saltlite.config.schema import option
from saltlite.core.dataclasses import dataclass

LOG_LEVELS: Mapping[str, int] = {
    "all": 0,
    "garbage": 1,
    "trace": 5,
    "debug": 10,
    "profile": 15,
    "info": 20,
    "warning": 30,
    "error": 40,
    "critical": 50,
    "quiet": 1000,
}
"""Salt's level names and their numbers. Source: Salt's documentation, "Logging"."""

LOG_FILE_MODE = 0o640
"""Of a log file that is made."""

_LEVELS = tuple(LOG_LEVELS)
STATE_OUTPUTS = tuple(
    mode + suffix
    for mode in ("full", "terse", "mixed", "changes", "filter")
    for suffix in ("", "_id")
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class LogOptions:
    """What is logged, where to and how."""

    log_file: str = option(
        "/var/log/salt/master",
        "The log file; `file:///dev/log`, `udp://host:port` or `tcp://host:port` log to syslog.",
        rooted=True,
    )
    log_level: str = option("warning", "What goes to the console.", choices=_LEVELS)
    log_level_logfile: str | None = option(
        None, "What goes to the log file; without it, as `log_level`.", choices=_LEVELS
    )
    log_datefmt: str = option("%H:%M:%S", "Time on the console (strftime).")
    log_datefmt_console: str | None = option(None, "The same under its newer name; wins.")
    log_datefmt_logfile: str = option("%Y-%m-%d %H:%M:%S", "Time in the log file (strftime).")
    log_fmt_console: str = option(
        "[%(levelname)-8s] %(message)s",
        "A line on the console; `%(colorlevel)s` and `%(colormsg)s` are coloured.",
    )
    log_fmt_logfile: str = option(
        "%(asctime)s,%(msecs)03d%(offset)s [%(name)-17s:%(lineno)-4d][%(levelname)-8s]"
        "[%(process)d] %(message)s",
        "A line in the log file; `%(offset)s` is the time's distance from UTC (`+0200`).",
    )
    log_fmt_jid: str = option("[JID: %(jid)s]", "How a record's job id is shown, where it has one.")
    log_granular_levels: Mapping[str, Any] = option(
        {}, "Levels of single loggers: `{saltlite.channel: debug}`."
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class OutputOptions:
    """What commands show; every one can be set for a single call on the command line."""

    output: str | None = option(None, "The outputter; without it the function's own, or nested.")
    output_file: str | None = option(None, "Write the output here instead of to the terminal.")
    output_indent: int | None = option(None, "Indentation of JSON; negative for one line.")
    color: bool = option(True, "Colours on a terminal.")
    strip_colors: bool = option(
        False,
        "Drop colour codes that functions return.",
    )
    show_timeout: bool = option(True, "Show minions that did not return.")
    show_jid: bool = option(False, "Show the job id first.")
    cli_summary: bool = option(False, "Show counts at the end.")
    state_output: str = option("full", "How states are shown.", choices=STATE_OUTPUTS)
    state_verbose: bool = option(True, "Show clean states too.")
    state_output_diff: bool = option(False, "Show only states with changes, and those briefly.")
    state_output_pct: bool = option(False, "Show percentages in the summary.")
    state_compress_ids: bool = option(False, "Join states that have one id.")
    state_output_profile: bool = option(True, "Show when each state started and how long it took.")
    state_tabular: bool | str = option(False, "Show terse lines in columns.")
    state_output_exclude: Sequence[str] = option(
        [], "Results that `filter` hides: `'True'`, `'False'`, `'None'`."
    )
    state_output_terse: Sequence[str] = option([], "Results that `filter` shows in one line.")
