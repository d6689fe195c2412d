"""``salt-master``: the daemon's command line. Source: cli.md 2."""

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

EX_OK = 0
EX_CANNOT_START = 1


def main(argv: Sequence[str] | None = None) -> int:
    """Run the master; the exit code is 1, after one line, if it cannot start."""
    options, _arguments = _parser().parse_command(sys.argv[1:] if argv is None else argv)
    from saltlite.config.load import load_master

    config = load_config(load_master, options)
    from saltlite import process
    from saltlite.cli import logs

    if options.daemon:
        process.go_background()
    os.umask(0o077)
    try:
        logs.setup(config.log, console=not options.daemon)
        from saltlite.master.daemon import Master

        return Master(config, reload=logs.reopen).run()
    except SaltliteError as error:
        sys.stderr.write(f"salt-master: {error}\n")
        return EX_CANNOT_START


def _parser() -> CommandParser:
    parser = CommandParser(
        "salt-master", "%prog [options]", "The Salt Master, used to control the Salt Minions"
    )
    common_options(parser)
    daemon_options(parser, "/var/run/salt-master.pid")
    logging_options(parser, "/var/log/salt/master")
    return parser


if __name__ == "__main__":
    sys.exit(main())
