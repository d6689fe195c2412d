"""``salt-syndic``: the daemon's command line. Source: docs/syndic.md; docs/cli.md."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from saltlite.cli.version import answer_version
from saltlite.errors import NoSuchUser, SaltliteError

if TYPE_CHECKING:
    import optparse

    from saltlite.cli.options import CommandParser
    from saltlite.syndic.config import SyndicConfig

log = logging.getLogger(__name__)

EX_CANNOT_START = 1
EX_NO_USER = 67


def main(argv: Sequence[str] | None = None) -> int:
    """Run the syndic; the exit code is 1, after one line, if it cannot start."""
    arguments = sys.argv[1:] if argv is None else argv
    if answer_version("salt-syndic", arguments):
        return 0
    from saltlite.cli import logs
    from saltlite.cli.command import read_words

    options, _ = read_words(_build_parser(), arguments)
    config = _load_config(options)
    from saltlite import process

    if options.daemon:
        process.go_background()
    os.umask(0o077)
    try:
        log_file = config.master.syndic.syndic_log_file
        logs.prepare_for(config.user, log_file)
        logs.setup(config.master.log, console=not options.daemon, log_file=log_file, at_once=True)
        from saltlite.syndic.daemon import run

        return run(config)
    except SaltliteError as error:
        if options.daemon:  # nobody sees standard error any more
            log.critical("%s", error)
        sys.stderr.write(f"salt-syndic: {error}\n")
        return EX_NO_USER if isinstance(error, NoSuchUser) else EX_CANNOT_START


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
