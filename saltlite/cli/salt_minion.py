"""``salt-minion``: the daemon's command line. Source: cli.md 1.3."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from saltlite.cli.options import (
    CommandParser,
    common_options,
    daemon_options,
    load_config,
    logging_options,
)
from saltlite.errors import SaltliteError

EX_CANNOT_START = 1


def main(argv: Sequence[str] | None = None) -> int:
    """Run the minion; the exit code is 1, after one line, if it cannot start."""
    options, _arguments = _parser().parse_command(sys.argv[1:] if argv is None else argv)
    from saltlite.config.load import load_minion

    config = load_config(load_minion, options)
    from saltlite.cli import logs
    from saltlite.minion import daemon
    from saltlite.minion.process import Setup

    setup = Setup(config, config.identity.id, os.umask(0o077))

    def start_logging() -> None:
        logs.setup(config.log, console=not options.daemon)

    try:
        return daemon.run(setup, background=options.daemon, start_logging=start_logging)
    except SaltliteError as error:
        sys.stderr.write(f"salt-minion: {error}\n")
        return EX_CANNOT_START


def _parser() -> CommandParser:
    parser = CommandParser(
        "salt-minion",
        "%prog [options]",
        "The Salt Minion, receives commands from a remote Salt Master",
    )
    common_options(parser)
    daemon_options(parser, "/var/run/salt-minion.pid")
    logging_options(parser, "/var/log/salt/minion")
    return parser


if __name__ == "__main__":
    sys.exit(main())
