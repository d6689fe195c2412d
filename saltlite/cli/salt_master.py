"""``salt-master``: the daemon's command line. Source: docs/command-line.md#exit-codes."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from saltlite.cli.config_child import read_aside, remake_master
from saltlite.cli.daemon import run_privately
from saltlite.errors import ConfigError, SaltliteError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from saltlite.cli.options import CommandParser
    from saltlite.config.master import MasterConfig
    from saltlite.engine_context import EngineContext
    from saltlite.master.run_requests import RunOutcome, RunRequest
    from saltlite.reactor.render import ReactionRenderer

log = logging.getLogger(__name__)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the master; the exit code is 1, after one line, if it cannot start."""
    arguments = sys.argv[1:] if argv is None else argv
    config, options = read_aside(lambda: _read_config(arguments), remake_master)
    from saltlite.cli import regexes

    regexes.match_outside()
    return run_privately(
        "salt-master", lambda: _run_master(config, options), in_background=options["daemon"]
    )


def _run_master(config: MasterConfig, options: Mapping[str, Any]) -> int:
    from saltlite.cli import logs

    logs.prepare_for(config.process.user, config.log.log_file)
    logs.setup(config.log, console=not options["daemon"], at_once=True)
    logs.write_kept(options["kept"])
    _warn_of_unread(config)
    from saltlite.master.daemon import Master

    return Master(
        config,
        execute=_execute_run,
        make_renderer=_make_renderer,
        engine_context=_engine_context,
        reload=lambda: _reload_logs(options),
    ).run()


def _execute_run(config: MasterConfig, request: RunRequest) -> RunOutcome:
    """Run a runner or wheel function, in a process of the master's that does nothing else."""
    from saltlite.cli.runs import execute

    return execute(config, request)


def _make_renderer(config: MasterConfig) -> ReactionRenderer:
    """What renders the files of reactions, in a process of the master's that does nothing else."""
    from saltlite.cli.runs import reaction_renderer

    return reaction_renderer(config)


def _engine_context(config: MasterConfig, name: str) -> AbstractContextManager[EngineContext]:
    """What an engine of the master may reach, in the process of that engine."""
    from saltlite.cli.runs import engine_context

    return engine_context(config, name)


def _warn_of_unread(config: MasterConfig) -> None:
    from saltlite.config.known import list_needless, without_effect

    warning = without_effect(config.source, "master")
    if warning:
        log.warning("%s", warning)
    for line in list_needless(config.source):
        log.info("%s", line)


def _read_config(arguments: Sequence[str]) -> tuple[MasterConfig, dict[str, Any]]:
    """The configuration under the command line's options; runs in a child of its own."""
    from saltlite.cli import logs
    from saltlite.cli.command import read_words
    from saltlite.cli.options import load_config, overrides

    options, _ = read_words(_build_parser(), arguments)
    values = {
        "daemon": options.daemon,
        "config_dir": options.config_dir,
        "overrides": overrides(options),
    }
    config = load_config(_load_config, options)
    return config, {**values, "kept": logs.early_records()}


def _load_config(config_dir: str, given: Mapping[str, object]) -> MasterConfig:
    from saltlite.config.load import load_master

    config = load_master(config_dir, given, daemon=True)
    if config.extra.get("git_pillar_verify_config") is not False:
        _check_git_pillar(config)
    return config


def _check_git_pillar(config: MasterConfig) -> None:
    """Raise ConfigError for an entry of ``ext_pillar: git`` that is none, as Salt's master does."""
    wanted = [one["git"] for one in config.pillar.ext_pillar if "git" in one]
    if not wanted:
        return
    from saltlite.pillar.sources import git

    try:
        for entries in wanted:
            git.check(entries)
    except SaltliteError as error:
        raise ConfigError(f"git: {error}", option="ext_pillar") from error


def _reload_logs(options: Mapping[str, Any]) -> None:
    """On SIGHUP: open the log files anew, at the level that the configuration has now.

    A configuration that is wrong now is refused as a whole.
    """
    from saltlite.cli import logs
    from saltlite.config.load import load_master

    try:
        config = load_master(options["config_dir"], options["overrides"])
    except ConfigError as error:
        logs.reopen()
        log.error("The configuration is not read again: %s", error)
        return
    logs.setup(config.log, console=not options["daemon"])


def _build_parser() -> CommandParser:
    from saltlite.cli.options import daemon_parser

    return daemon_parser(
        "master", "salt-master publishes jobs to minions and collects their returns."
    )


if __name__ == "__main__":
    sys.exit(main())
