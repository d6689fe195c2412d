"""``salt-syndic``: the daemon's command line. Source: docs/syndic.md; docs/cli.md."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from saltlite.cli.daemon import run_privately
from saltlite.cli.version import answer_version

if TYPE_CHECKING:
    import optparse

    from saltlite.cli.options import CommandParser
    from saltlite.syndic.config import SyndicConfig


def main(argv: Sequence[str] | None = None) -> int:
    """Run the syndic; the exit code is 1, after one line, if it cannot start."""
    arguments = sys.argv[1:] if argv is None else argv
    if answer_version("salt-syndic", arguments):
        return 0
    from saltlite.cli.command import read_words

    options, _ = read_words(_build_parser(), arguments)
    config = _load_config(options)
    console = not options.daemon
    return run_privately(
        "salt-syndic", lambda: _run_syndic(config, console=console), in_background=options.daemon
    )


def _run_syndic(config: SyndicConfig, *, console: bool) -> int:
    from saltlite.cli import logs

    log_file = config.master.syndic.syndic_log_file
    logs.prepare_for(config.user, log_file)
    logs.setup(config.master.log, console=console, log_file=log_file, at_once=True)
    from saltlite.syndic.daemon import run

    return run(config)


def _load_config(options: optparse.Values) -> SyndicConfig:
    from saltlite.cli.options import load_config
    from saltlite.syndic.config import load_syndic

    # On the command line they are the syndic's; in the file those names are the master's.
    given = {
        "syndic_pidfile": options.pidfile,
        "syndic_log_file": options.log_file,
        "syndic_user": options.user,
    }
    options.pidfile = options.log_file = options.user = None
    own = {name: value for name, value in given.items() if value is not None}
    return load_config(load_syndic, options, own)


def _build_parser() -> CommandParser:
    from saltlite.cli.options import daemon_parser

    return daemon_parser("syndic", "salt-syndic joins the master here to masters above it.")


if __name__ == "__main__":
    sys.exit(main())
