"""``salt-master``: the daemon's command line. Source: cli.md 2."""

from __future__ import annotations

import logging
import optparse
import os
import sys
from collections.abc import Sequence

from saltlite.cli.options import (
    CommandParser,
    common_options,
    daemon_options,
    load_config,
    logging_options,
    overrides,
)
from saltlite.errors import ConfigError, SaltliteError

log = logging.getLogger(__name__)

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
        logs.setup(config.log, console=not options.daemon, at_once=True)
        from saltlite.master.daemon import Master

        return Master(config, reload=lambda: _reload_logs(options)).run()
    except SaltliteError as error:
        if options.daemon:  # nobody sees standard error any more
            log.critical("%s", error)
        sys.stderr.write(f"salt-master: {error}\n")
        return EX_CANNOT_START


def _reload_logs(options: optparse.Values) -> None:
    """On SIGHUP: open the log files anew, at the level that the configuration has now.

    A configuration that is wrong now is refused as a whole.
    """
    from saltlite.cli import logs
    from saltlite.config.load import load_master

    try:
        config = load_master(options.config_dir, overrides(options))
    except ConfigError as error:
        logs.reopen()
        log.error("The configuration is not read again: %s", error)
        return
    logs.setup(config.log, console=not options.daemon)


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
