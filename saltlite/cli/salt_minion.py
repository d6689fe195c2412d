"""``salt-minion``: the daemon's command line. Source: docs/cli.md."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from saltlite.cli.config_child import read_aside, remake_minion
from saltlite.cli.daemon import run_or_explain

if TYPE_CHECKING:
    from saltlite.cli.options import CommandParser
    from saltlite.config.minion import MinionConfig

log = logging.getLogger(__name__)

WORDS = frozenset({"-h", "--help", "--version", "-V", "--versions-report"})
"""Options that are answered at once, without a minion."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the minion; the exit code is 1, after one line, if it cannot start."""
    arguments = sys.argv[1:] if argv is None else argv
    asks = not WORDS.isdisjoint(arguments)
    config, options = read_aside(
        lambda: _read_config(arguments), remake_minion, (lambda: None) if asks else _load_modules
    )
    from saltlite.cli import logs, regexes
    from saltlite.minion import daemon
    from saltlite.minion.process import Setup

    regexes.match_outside()
    logs.prepare_for(config.process.user, config.log.log_file)
    setup = Setup(config, config.identity.id, os.umask(0o077))

    def start_logging() -> None:
        logs.setup(config.log, console=not options["daemon"])
        logs.write_kept(options["kept"])
        if options["unread"]:
            log.warning("%s", options["unread"])

    def run() -> int:
        return daemon.run(setup, background=options["daemon"], start_logging=start_logging)

    return run_or_explain("salt-minion", run)


def _load_modules() -> None:
    """Load what will be needed, while the configuration is being read."""
    import saltlite.cli.logs
    import saltlite.minion.daemon  # noqa: F401 - loading it is the point


def _read_config(arguments: Sequence[str]) -> tuple[MinionConfig, dict[str, Any]]:
    """The configuration under the command line's options; runs in a child of its own."""
    from functools import partial

    from saltlite.cli import logs
    from saltlite.cli.command import read_words
    from saltlite.cli.options import load_config
    from saltlite.config.known import without_effect
    from saltlite.config.load import load_minion

    options, _ = read_words(_build_parser(), arguments)
    config = load_config(partial(load_minion, daemon=True), options)
    unread = without_effect(config.source, "minion")
    return config, {"daemon": options.daemon, "unread": unread, "kept": logs.early_records()}


def _build_parser() -> CommandParser:
    from saltlite.cli.options import daemon_parser

    return daemon_parser("minion", "salt-minion runs the jobs that a master publishes.")


if __name__ == "__main__":
    sys.exit(main())
