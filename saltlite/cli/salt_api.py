"""``salt-api``: the daemon's command line. Source: docs/api.md; docs/command-line.md#exit-codes."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from saltlite.cli.daemon import run_privately
from saltlite.cli.version import answer_version
from saltlite.errors import ConfigError

if TYPE_CHECKING:
    import optparse

    from saltlite.api.sessions import LoginToken
    from saltlite.cli.options import CommandParser
    from saltlite.client.collect import ReturnStore
    from saltlite.config.master import MasterConfig

log = logging.getLogger(__name__)


def main(argv: Sequence[str] | None = None) -> int:
    """Run salt-api; the exit code is 1, after one line, if it cannot start."""
    arguments = sys.argv[1:] if argv is None else argv
    if answer_version("salt-api", arguments):
        return 0
    from saltlite.cli.command import read_words

    options, _ = read_words(_build_parser(), arguments)
    own_files = _own_files(options)
    config = _load_config(options, own_files)

    def run() -> int:
        return _run_api(config, console=not options.daemon, reload=reload)

    def reload() -> None:
        _reload_logs(options, own_files)

    return run_privately("salt-api", run, in_background=options.daemon)


def _run_api(config: MasterConfig, *, console: bool, reload: Callable[[], None]) -> int:
    from saltlite.cli import logs

    log_file = config.api.api_logfile
    logs.prepare_for(config.process.user, log_file)
    logs.setup(config.log, console=console, log_file=log_file, at_once=True)
    from saltlite.api.daemon import Api

    rights = partial(_list_rights, config)
    return Api(config, list_rights=rights, store=_open_store(config), reload=reload).run()


def _list_rights(
    config: MasterConfig, external_auth: Mapping[str, Any], token: LoginToken
) -> list[Any]:
    """What a login is told that it may do."""
    from saltlite.core.access import list_permissions

    kept = token.auth_list
    found = list_permissions(
        {} if kept is not None else external_auth,
        str(token.eauth),
        str(token.name),
        list(token.groups or []),
        list(kept or []),
        permissive=config.access.permissive_acl,
    )
    return list(found)


def _open_store(config: MasterConfig) -> Callable[[], ReturnStore]:
    """The job store, opened with the first need in each thread: SQLite serves one thread alone."""
    import threading

    kept = threading.local()

    def open_store() -> ReturnStore:
        store: ReturnStore | None = getattr(kept, "store", None)
        if store is None:
            from saltlite.cli.stores import open_jobs

            store = kept.store = open_jobs(config)
        return store

    return open_store


def _load_config(options: optparse.Values, own_files: Mapping[str, str]) -> MasterConfig:
    from saltlite.cli.options import load_config
    from saltlite.config.load import load_master

    return load_config(load_master, options, own_files)


def _own_files(options: optparse.Values) -> dict[str, str]:
    """The options that are the master's for the master, and here salt-api's own."""
    given = {"api_pidfile": options.pidfile, "api_logfile": options.log_file}
    options.pidfile = options.log_file = None
    return {name: value for name, value in given.items() if value is not None}


def _reload_logs(options: optparse.Values, own_files: Mapping[str, str]) -> None:
    """On SIGHUP: open the log files anew, at the level that the configuration has now."""
    from saltlite.cli import logs
    from saltlite.cli.options import overrides
    from saltlite.config.load import load_master

    try:
        config = load_master(options.config_dir, {**overrides(options), **own_files})
    except ConfigError as error:
        logs.reopen()
        log.error("The configuration is not read again: %s", error)
        return
    logs.setup(config.log, console=not options.daemon, log_file=config.api.api_logfile)


def _build_parser() -> CommandParser:
    from saltlite.cli.options import daemon_parser

    return daemon_parser("api", "salt-api serves the master's HTTP interface.")


if __name__ == "__main__":
    sys.exit(main())
