"""The options of ``salt``. Source: docs/cli.md."""

from __future__ import annotations

from saltlite.cli import options as groups
from saltlite.cli.options import CommandParser


def build_parser() -> CommandParser:
    """All of them, with those that other commands have as well."""
    made = CommandParser(
        "salt",
        "%prog [options] '<target>' <function> [arguments]",
        "salt runs a function on all minions that the target names, at the same time, and shows "
        "what each of them returns.",
    )
    groups.common_options(made)
    groups.timeout_option(made, 5)
    _job_options(made)
    _batch_options(made)
    _show_options(made)
    groups.logging_options(made, "/var/log/salt/master")
    groups.target_options(made)
    groups.eauth_options(made)
    groups.output_options(made)
    return made


def _job_options(parser: CommandParser) -> None:
    add = parser.add_option
    add(
        "--module-executors",
        dest="module_executors",
        metavar="EXECUTOR_LIST",
        help="Set an alternative list of executors to override the one set in minion config.",
    )
    add(
        "--executor-opts",
        dest="executor_opts",
        metavar="EXECUTOR_OPTS",
        help="Set alternate executor options if supported by executor.",
    )
    groups.flag(
        parser,
        "--args-stdin",
        help="Read additional options and/or arguments from stdin, one per line.",
    )
    add(
        "--args-separator",
        dest="args_separator",
        default=",",
        help="Set the special argument used as a delimiter between command arguments of compound "
        "commands. Default: ','.",
    )
    add(
        "--no-parse",
        default="",
        metavar="argname1,argname2,...",
        help="Comma-separated list of named CLI arguments which should not be parsed as values.",
    )
    _return_options(parser)
    groups.flag(
        parser,
        "-d",
        "--doc",
        "--documentation",
        dest="doc",
        help="Return the documentation for the specified module or for all modules.",
    )
    groups.flag(parser, "--config-dump", help="Dump the master configuration values.")
    groups.flag(parser, "--preview-target", help="Show the minions expected to match a target.")
    groups.hard_crash_option(parser)


def _return_options(parser: CommandParser) -> None:
    add = parser.add_option
    add(
        "--return",
        dest="return_",
        default="",
        metavar="RETURNER",
        help="Set an alternative return method. The data is also sent to this returner.",
    )
    add(
        "--return_config",
        default="",
        metavar="RETURNER_CONF",
        help="The name of the returner's configuration to use.",
    )
    add(
        "--return_kwargs",
        metavar="RETURNER_KWARGS",
        help="Set any returner options at the command line, as a dictionary.",
    )
    add("--metadata", metavar="METADATA", help="Pass metadata into Salt, used to search jobs.")
    add(
        "--subset",
        type="int",
        default=0,
        help="Execute the routine on a random subset of the targeted minions.",
    )
    groups.flag(parser, "--start-event", help="Ask minions for an event when they begin.")


def _batch_options(parser: CommandParser) -> None:
    add = parser.add_option
    add(
        "-b",
        "--batch",
        "--batch-size",
        dest="batch",
        default="",
        help="Execute the salt job in batch mode, pass either the number of minions to batch at a "
        "time, or the percentage of minions to have running.",
    )
    add(
        "--batch-wait",
        type="float",
        default=0.0,
        help="Wait the specified time in seconds after each job before freeing its slot.",
    )
    add(
        "--batch-safe-limit",
        type="int",
        default=0,
        help="Execute the salt job in batch mode if the job would have executed on at least this "
        "many minions.",
    )
    add("--batch-safe-size", default="8", help="Batch size to use for those jobs.")
    groups.flag(parser, "--failhard", help="Stop batch execution upon first bad return.")


def _show_options(parser: CommandParser) -> None:
    groups.flag(
        parser, "-s", "--static", help="Return the data from minions as a group after all return."
    )
    groups.flag(parser, "-p", "--progress", help="Display a progress graph.")
    groups.flag(
        parser,
        "--stream",
        help="Show what a command prints (cmd.run and its kin) line by line while it runs, with "
        "the minion's id before each line, on standard error.",
    )
    groups.flag(
        parser, "--async", dest="async_", help="Run the salt command but don't wait for a reply."
    )
    groups.flag(parser, "-v", "--verbose", help="Turn on command verbosity, display jid.")
    groups.flag(
        parser, "--show-jid", help="Display jid without the additional output of --verbose."
    )
    groups.flag(parser, "--summary", help="Display salt execution summary information.")
    groups.flag(parser, "--hide-timeout", help="Hide minions that timeout.")
    groups.flag(
        parser,
        "--output-diff",
        dest="state_output_diff",
        help="Report only those states that have changed.",
    )
