"""Command-line options: the groups that Salt's commands share, and how they become configuration.

A command composes its parser from groups, adds what it has alone, and parses::

    parser = CommandParser("salt-key", "%prog [options]", "Manage the keys of minions.")
    common_options(parser)
    output_options(parser)
    logging_options(parser, "/var/log/salt/key", short=False)
    options, arguments = parser.parse_command(argv)
    config = load_config(load_master, options)

Messages, exit codes and destinations are Salt's. Source: docs/cli.md,
docs/command-line.md#exit-codes.
"""

from __future__ import annotations

import optparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, TypeVar

from saltlite.cli.version import version_line, versions_report
from saltlite.errors import ConfigError, UntrustedFile

EX_USAGE = 64
EX_GENERIC = 1

Config = TypeVar("Config")

LEVELS = (
    "all", "garbage", "trace", "debug", "profile", "info", "warning", "error", "critical", "quiet",
)  # fmt: skip
_LEVEL_HELP = f"One of {', '.join(repr(level) for level in LEVELS)}."

STATE_OUTPUTS = tuple(
    mode + suffix
    for mode in ("full", "terse", "mixed", "changes", "filter")
    for suffix in ("", "_id")
)


class AsciiOption(optparse.Option):
    """An option whose number, if it takes one, has ASCII digits."""

    def check_value(self, opt: str, value: str) -> Any:
        """The value as the option's type; raises optparse.OptionValueError."""
        if self.type in ("int", "float") and not value.isascii():
            raise optparse.OptionValueError(
                f"option {opt}: invalid {_NUMBER_WORDS[self.type]} value: {value!r}"
            )
        return super().check_value(opt, value)


_NUMBER_WORDS = {"int": "integer", "float": "floating-point"}


class CommandParser(optparse.OptionParser):
    """The option parser of one command; ``prog`` is its name, however it was started."""

    def __init__(self, prog: str, usage: str, description: str) -> None:
        self.command = prog
        super().__init__(
            option_class=AsciiOption,
            prog=prog,
            usage=usage,
            description=description,
            version=version_line(prog),
            epilog=f'You can find additional help about {prog} issuing "{prog} --help".',
        )

    def parse_command(
        self, argv: Sequence[str], environ: Mapping[str, str] | None = None
    ) -> tuple[optparse.Values, list[str]]:
        """Options and the other arguments. A Saltfile gives the options that were not given.

        Ends the process with 64 for a wrong option, with 0 for ``--help`` and ``--version``.
        """
        given, arguments = self.parse_args(list(argv), optparse.Values())
        environ = os.environ if environ is None else environ
        values = self.get_default_values()
        for name, value in self._from_saltfile(given, environ).items():
            setattr(values, name, value)
        for name, value in vars(given).items():
            setattr(values, name, value)
        return values, arguments

    def error(self, msg: str) -> NoReturn:
        """Say what is wrong with the options, and end with 64."""
        self.exit(EX_USAGE, f"{self.get_usage()}\n{self.command}: error: {msg}\n")

    def exit(self, status: int = 0, msg: str | None = None) -> NoReturn:
        """End the command, after a message on stderr."""
        if msg:
            sys.stderr.write(msg)
        raise SystemExit(status)

    # --- Saltfile ------------------------------------------------------------------------------

    def _from_saltfile(self, given: optparse.Values, environ: Mapping[str, str]) -> dict[str, Any]:
        path = self._find_saltfile(given, environ)
        if path is None or not self.has_option("--saltfile"):
            return {}
        from saltlite.config.files import read_file

        try:
            section = (read_file(path) or {}).get(self.command)
        except UntrustedFile as error:
            if self._find_saltfile_name(given, environ):
                self.exit(EX_GENERIC, f"{error}\n")
            sys.stderr.write(f"WARNING: not used: {error}\n")
            return {}
        except ConfigError as error:
            self.error(str(error))
        if section is None or not isinstance(section.value, dict):
            return {}
        options = {option.dest: option for option in self._all_options() if option.dest}
        return {
            name: self._convert_value(options[name], value)
            for name, value in section.value.items()
            if name in options and name != "saltfile"
        }

    @staticmethod
    def _find_saltfile_name(given: optparse.Values, environ: Mapping[str, str]) -> str | None:
        return getattr(given, "saltfile", None) or environ.get("SALT_SALTFILE")

    def _find_saltfile(self, given: optparse.Values, environ: Mapping[str, str]) -> str | None:
        named = self._find_saltfile_name(given, environ)
        if named:
            path = os.path.expanduser(named)
            if not os.path.isfile(path):
                self.error(f"Saltfile '{named}' does not exist.")
            return os.path.abspath(path)
        for path in ("Saltfile", os.path.expanduser("~/.salt/Saltfile")):
            if os.path.isfile(path):
                return os.path.abspath(path)
        return None

    def _all_options(self) -> list[optparse.Option]:
        grouped = [option for group in self.option_groups for option in group.option_list]
        return [*self.option_list, *grouped]

    def _convert_value(self, option: optparse.Option, value: object) -> Any:
        if option.action in ("store_true", "store_false") or option.type is None:
            return value
        try:
            return option.check_value(option.get_opt_string(), str(value))
        except optparse.OptionValueError as error:
            self.error(str(error))


def flag(parser: optparse.OptionContainer, *names: str, help: str, dest: str | None = None) -> None:
    """An option that is on or off, off unless given."""
    parser.add_option(*names, action="store_true", default=False, help=help, dest=dest)


def hard_crash_option(parser: CommandParser) -> None:
    """``--hard-crash``; :func:`saltlite.cli.command.run` obeys it."""
    flag(parser, "--hard-crash", help="Raise any original exception rather than exiting.")


ONE_METHOD = "You can only get documentation for one method at one time"


def common_options(parser: CommandParser, *, config_dir: str = "/etc/salt") -> None:
    """What every command has; ``--version`` and ``--help`` are there already."""
    parser.add_option(
        "-V", "--versions-report", action="callback", callback=_report_versions,
        help="Show program's dependencies version number and exit.",
    )  # fmt: skip
    parser.add_option(
        "--saltfile",
        help="Specify the path to a Saltfile. If not passed, one will be searched for in the "
        "current working directory.",
    )
    parser.add_option(
        "-c", "--config-dir",
        help=f"Pass in an alternative configuration directory. Default: '{config_dir}'.",
    )  # fmt: skip


def _report_versions(
    option: optparse.Option, opt: str, value: object, parser: optparse.OptionParser
) -> None:
    sys.stdout.write(versions_report() + "\n")
    raise SystemExit(0)


def logging_options(parser: CommandParser, log_file: str, *, short: bool = True) -> None:
    """``--log-level`` (``-l`` unless ``short`` is off), ``--log-file``, ``--log-file-level``."""
    group = parser.add_option_group(
        "Logging Options",
        "Logging options which override any settings defined on the configuration files.",
    )
    group.add_option(
        *(["-l"] if short else []), "--log-level", choices=LEVELS,
        help=f"Console logging log level. {_LEVEL_HELP} Default: 'warning'.",
    )  # fmt: skip
    group.add_option("--log-file", help=f"Log file path. Default: '{log_file}'.")
    group.add_option(
        "--log-file-level",
        dest="log_level_logfile",
        choices=LEVELS,
        help=f"Logfile logging log level. {_LEVEL_HELP} Default: 'warning'.",
    )


def output_options(parser: CommandParser) -> None:
    """How a command shows what it got."""
    group = parser.add_option_group("Output Options", "Configure your preferred output format.")
    group.add_option(
        "--out", "--output", dest="output",
        help=f"Print the output from the '{parser.command}' command using the specified outputter.",
    )  # fmt: skip
    group.add_option(
        "--out-indent", "--output-indent", dest="output_indent", type="int",
        help="Print the output indented by the provided value in spaces. Negative values disable "
        "indentation. Only applicable in outputters that support indentation.",
    )  # fmt: skip
    group.add_option(
        "--out-file", "--output-file", dest="output_file",
        help="Write the output to the specified file.",
    )  # fmt: skip
    flag(
        group, "--out-file-append", "--output-file-append", dest="output_file_append",
        help="Append the output to the specified file.",
    )  # fmt: skip
    flag(group, "--no-color", "--no-colour", dest="no_color", help="Disable all colored output.")
    flag(group, "--force-color", "--force-colour", dest="force_color", help="Force colored output.")
    group.add_option(
        "--state-output", "--state_output", dest="state_output",
        help="Override the configured state_output value for minion output. One of 'full', "
        "'terse', 'mixed', 'changes' or 'filter'. Default: 'none'.",
    )  # fmt: skip
    group.add_option(
        "--state-verbose", "--state_verbose", dest="state_verbose",
        help="Override the configured state_verbose value for minion output. Set to True or "
        "False. Default: none.",
    )  # fmt: skip


def daemon_parser(role: str, description: str) -> CommandParser:
    """The options of ``salt-master`` or ``salt-minion``."""
    parser = CommandParser(f"salt-{role}", "%prog [options]", description)
    common_options(parser)
    _daemon_options(parser, f"/var/run/salt-{role}.pid")
    logging_options(parser, f"/var/log/salt/{role}")
    return parser


def _daemon_options(parser: CommandParser, pidfile: str) -> None:
    """``--daemon``, ``--user``, ``--pid-file``, ``--disable-keepalive``."""
    name = parser.command
    parser.add_option("-u", "--user", help=f"Specify user to run {name}.")
    flag(parser, "-d", "--daemon", help=f"Run the {name} as a daemon.")
    parser.add_option(
        "--pid-file", dest="pidfile",
        help=f"Specify the location of the pidfile. Default: '{pidfile}'.",
    )  # fmt: skip
    flag(
        parser, "--disable-keepalive",
        help="Disable the automatic restart mechanism. Useful when a process manager handles "
        "restarts.",
    )  # fmt: skip


TARGET_FLAGS: Mapping[str, tuple[str, str, str]] = {
    "pcre": ("-E", "--pcre", "The target is a regular expression on the minions' ids."),
    "list": ("-L", "--list", "The target is a list of ids, separated by commas or blanks."),
    "grain": ("-G", "--grain", "The target is a grain and a glob: 'os:Arch*'."),
    "grain_pcre": ("-P", "--grain-pcre", "The target is a grain and a regular expression."),
    "nodegroup": ("-N", "--nodegroup", "The target is one of the predefined nodegroups."),
    "range": ("-R", "--range", "The target is a range expression; not supported."),
    "compound": (
        "-C",
        "--compound",
        "The target joins several of these: 'G@os:RedHat and webser* or E@database.*'.",
    ),
    "pillar": ("-I", "--pillar", "The target is a pillar key and a glob: 'role:production*'."),
    "pillar_pcre": ("-J", "--pillar-pcre", "The target is a pillar key and a regular expression."),
    "ipcidr": ("-S", "--ipcidr", "The target is an address or a subnet (CIDR)."),
}
"""Kinds of targets: flag, long flag, help. The destination is the kind."""


def target_options(
    parser: CommandParser, kinds: Sequence[str] = tuple(TARGET_FLAGS), *, hosts: bool = True
) -> None:
    """The flags that say what kind the target is, and ``--delimiter``."""
    group = parser.add_option_group("Target Options", "Target selection options.")
    if hosts:
        flag(
            group, "-H", "--hosts", dest="list_hosts",
            help="List the hosts of a roster; not supported.",
        )  # fmt: skip
    for kind in kinds:
        short, long, text = TARGET_FLAGS[kind]
        flag(group, short, long, dest=kind, help=text)
    more = parser.add_option_group(
        "Additional Target Options", "Additional options for minion targeting."
    )
    more.add_option(
        "--delimiter", default=":",
        help="Change the default delimiter for matching in multi-level data structures. "
        "Default: ':'.",
    )  # fmt: skip


def target_type(options: optparse.Values) -> str:
    """The kind of target that was asked for: the first given flag's, else ``glob``."""
    for kind in TARGET_FLAGS:
        if getattr(options, kind, False):
            return kind
    return "glob"


def eauth_options(parser: CommandParser, *, short: bool = True) -> None:
    """External authentication; ``short`` off leaves ``-a`` to something else."""
    group = parser.add_option_group("External Authentication")
    group.add_option(
        *(["-a", "--auth"] if short else []), "--eauth", "--external-auth",
        dest="eauth", default="",
        help="Specify an external authentication system to use.",
    )  # fmt: skip
    flag(
        group, "-T", "--make-token", dest="mktoken",
        help="Generate and save an authentication token for re-use.",
    )  # fmt: skip
    group.add_option("--username", help="Username for external authentication.")
    group.add_option("--password", help="Password for external authentication.")


def timeout_option(parser: CommandParser, default_s: int) -> None:
    """``-t``: how long to wait."""
    parser.add_option(
        "-t", "--timeout", type="int",
        help="Change the timeout, if applicable, for the running command (in seconds). "
        f"Default: {default_s}.",
    )  # fmt: skip


IN_CONFIG = (
    "log_level",
    "log_file",
    "log_level_logfile",
    "output",
    "output_indent",
    "output_file",
    "state_output",
    "state_verbose",
    "user",
    "pidfile",
    "timeout",
)
"""Destinations that are options of the configuration too."""


def overrides(options: optparse.Values, names: Sequence[str] = IN_CONFIG) -> dict[str, Any]:
    """The options of the configuration that the command line sets."""
    values = {name: getattr(options, name, None) for name in names}
    given = {name: value for name, value in values.items() if value is not None}
    if getattr(options, "no_color", False):
        given["color"] = False
    if getattr(options, "state_output_diff", False):
        given["state_output_diff"] = True
    return given


def load_config(
    load: Callable[..., Config], options: optparse.Values, more: Mapping[str, object] | None = None
) -> Config:
    """The configuration under the command line's options; ``more`` are further ones.

    What is odd about it is logged to the console. A wrong configuration ends the command with 1
    and one line on stderr.
    """
    from saltlite.cli import logs

    logs.early(getattr(options, "log_level", None) or "warning")
    if options.config_dir and not os.path.exists(options.config_dir):
        sys.stderr.write(f"WARNING: CONFIG '{options.config_dir}' directory does not exist.\n")
    try:
        return load(options.config_dir, {**overrides(options), **(more or {})})
    except ConfigError as error:
        sys.stderr.write(f"{error}\n")
        raise SystemExit(EX_GENERIC) from None
