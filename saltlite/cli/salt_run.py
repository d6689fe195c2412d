"""``salt-run``: run a runner on the master and print what it returns.

Source: docs/cli.md, #salt-run.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from saltlite.cli import options as groups
from saltlite.cli.command import EX_FAILED, EX_OK, complain, master_config, run
from saltlite.core.ids import valid_jid
from saltlite.errors import FunctionUnavailable

if TYPE_CHECKING:
    import optparse

    from saltlite.cli.show import Screen
    from saltlite.client.runner import Ran
    from saltlite.config.master import MasterConfig


UNKNOWN_KEYWORD = "got an unexpected keyword argument"
"""To this Salt answers with the documentation, as if it had been asked for. Observed on 3006.30."""


SHORT_NAMES = {
    "changes": "changes.list",
    "drift": "changes.drift",
    "failed": "changes.failed",
    "slowest": "changes.slowest",
}
"""Functions that may be called by one word; rights are those of the whole name."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; the exit code of docs/command-line.md#exit-codes."""
    return run("salt-run", argv, _build_parser, _run_command)


def _run_command(
    parser: groups.CommandParser, options: optparse.Values, arguments: list[str]
) -> int:
    if options.eauth or options.mktoken:
        from saltlite.cli import login

        login.check_options(parser, options)
    if options.doc and len(arguments) > 1:
        parser.error(groups.ONE_METHOD)
    _check_jid(parser, options.jid)
    if not options.eauth:
        return _run_runner(master_config(options, own_files=True), options, arguments)
    return _run_by_login(master_config(options), options, arguments)


def _run_by_login(config: MasterConfig, options: optparse.Values, arguments: list[str]) -> int:
    """Have the master run the function, with the rights of who logs in and nothing else."""
    from saltlite.cli import login
    from saltlite.cli.show import Screen
    from saltlite.errors import MasterRefused

    name, args, kwargs = _read_words(options, arguments)
    if not name:
        complain("salt-run: error: with --eauth a function is needed")
        return groups.EX_USAGE
    screen = Screen.of(config, options)
    shown: dict[str, str] = {}
    try:
        shown = login.credentials(config, options)
        ran = _ask_master(config, shown, name, args, kwargs, wait=not options.async_)
    except login.LoginFailed:
        return login.EX_LOGIN
    except MasterRefused as error:
        return login.end_refused(error, shown, config, options)
    if ran is None:
        return EX_OK
    return _show_return(screen, name, ran)


def _ask_master(
    config: MasterConfig,
    shown: Mapping[str, str],
    name: str,
    args: Sequence[object],
    kwargs: Mapping[str, object],
    *,
    wait: bool,
) -> Ran | None:
    """What came of a run on the master; ``None`` if nobody waits for it."""
    from saltlite.client.jobs import JobClient
    from saltlite.client.runner import Ran

    load = {"cmd": "runner", "fun": name, "arg": list(args), "kwarg": dict(kwargs)}
    with JobClient(config, credentials=shown) as client:
        if not wait:
            sys.stderr.write(_in_background_words(client.call_master(load)["tag"]))
            return None
        jid, data = client.run_on_master(load)
        return Ran(jid, data.get("return"), success=bool(data.get("success")))


def _check_jid(parser: groups.CommandParser, jid: str) -> None:
    """A job id becomes part of the record, of tags and of file names."""
    if not jid:
        return
    from datetime import datetime, timezone

    from saltlite.core.jid import usable_jid

    if not valid_jid(jid) or not usable_jid(jid, datetime.now(timezone.utc)):
        parser.error(f"--jid: {jid} is not the time of a job (20 digits, UTC), or in the future")


def _build_parser() -> groups.CommandParser:
    parser = groups.CommandParser(
        "salt-run",
        "%prog [options] <function> [arguments]",
        "salt-run runs functions on the master: runners, such as jobs, manage and state.",
    )
    groups.common_options(parser)
    groups.timeout_option(parser, 1)
    groups.flag(
        parser, "-d", "--doc", "--documentation", dest="doc",
        help="Display documentation for runners, pass a runner or a runner and a function to see "
        "documentation on only that runner or function.",
    )  # fmt: skip
    groups.flag(
        parser, "--async", dest="async_",
        help="Start the runner operation and immediately return control.",
    )  # fmt: skip
    parser.add_option("--jid", default="", help="Specify a JID to use.")
    groups.flag(parser, "--skip-grains", help="Do not load grains; runners never need them.")
    parser.add_option(
        "--no-parse", default="", help="Named arguments which should not be parsed as values."
    )
    groups.flag(parser, "--args-stdin", help="Read additional arguments from stdin, one per line.")
    groups.hard_crash_option(parser)
    groups.eauth_options(parser)
    groups.output_options(parser)
    groups.logging_options(parser, "/var/log/salt/master")
    return parser


def _run_runner(config: MasterConfig, options: optparse.Values, arguments: list[str]) -> int:
    from saltlite.cli.show import Screen

    screen = Screen.of(config, options)
    if options.doc or not (arguments or options.args_stdin):
        return _show_docs(config, screen, arguments, whole=not options.doc)
    name, args, kwargs = _read_words(options, arguments)
    if name.startswith("doctor"):
        from saltlite.cli import doctor

        if name in doctor.WORDS:
            return _show_value(screen, doctor.examine_master(config, args, kwargs))
    if name == "jobs.follow" and not options.async_:
        from saltlite.cli.following import follow

        return follow(config, screen, args, kwargs)
    if options.async_:
        return _in_background(config, screen, options, name, args, kwargs)
    return _run_here(config, screen, name, args, kwargs, options.jid)


def _read_words(
    options: optparse.Values, arguments: Sequence[str]
) -> tuple[str, list[Any], dict[str, Any]]:
    """The function, its arguments and its keywords; ``""`` where there is no function."""
    from saltlite.loader.arguments import parse_arguments, split_args

    more = sys.stdin.read().splitlines() if options.args_stdin else []
    name, *words = [*arguments, *more] or [""]
    no_parse = [one for one in options.no_parse.split(",") if one]
    args, kwargs = split_args(parse_arguments(words, no_parse))
    return SHORT_NAMES.get(name, name), args, kwargs


def _show_docs(config: MasterConfig, screen: Screen, wanted: Sequence[str], *, whole: bool) -> int:
    from saltlite.cli.runs import runner_context
    from saltlite.loader.master_functions import docs

    with runner_context(config, screen.line) as ctx:
        found = docs(wanted, ctx)
    if whole:
        screen.show(dict(found))
        return EX_OK
    for name, doc in found.items():
        screen.line(f"{name}:\n{doc}")
    if not found:
        from saltlite.loader.master_functions import suggest

        return complain(f"'{wanted[0]}' is not available.{suggest(wanted[0])}")
    return EX_OK


def _run_here(
    config: MasterConfig,
    screen: Screen,
    name: str,
    args: Sequence[object],
    kwargs: Mapping[str, object],
    jid: str = "",
) -> int:
    from saltlite.cli.runs import runner_context
    from saltlite.client.job_request import jid_as_text
    from saltlite.client.runner import RunnerClient

    args = [jid_as_text(one) for one in args]
    kwargs = {key: jid_as_text(value) for key, value in kwargs.items()}
    with runner_context(config, screen.line) as ctx:
        try:
            ran = RunnerClient(ctx).run(name, args, kwargs, jid=jid)
        except FunctionUnavailable as error:
            from saltlite.loader.master_functions import suggest

            screen.line(f"{error}{suggest(name)}")
            return EX_FAILED
    return _show_return(screen, name, ran)


def _show_return(screen: Screen, name: str, ran: Ran) -> int:
    if ran.wrong is not None and UNKNOWN_KEYWORD in ran.wrong:
        complain(f"Passed invalid arguments: {ran.wrong}")
        screen.show({name: ran.doc}, None)
        return EX_FAILED
    if ran.wrong is not None:
        screen.line(f"\nPassed invalid arguments: {ran.wrong}\n\nUsage:\n{ran.doc.rstrip()}\n")
        return EX_FAILED
    if not ran.success:
        screen.line(str(ran.return_))
        return EX_FAILED
    return _show_value(screen, ran.return_, ran.retcode)


def _show_value(screen: Screen, value: Any, retcode: int = 0) -> int:
    """Print what a runner returned; the exit code."""
    code = _exit_code(value) or (retcode & 0xFF)
    outputter = None
    if isinstance(value, Mapping) and set(value) == {"outputter", "data"}:
        outputter, value = value["outputter"], value["data"]
    elif isinstance(value, Mapping) and set(value) == {"outputter", "data", "retcode"}:
        outputter = value["outputter"]  # an orchestration's; other outputters show all three
    screen.show(value, outputter)
    return code


def _exit_code(value: object) -> int:
    """The ``retcode`` of a runner's map, or of its ``data``. Source: observed on 3006.30."""
    for each in (value, value.get("data")) if isinstance(value, Mapping) else ():
        code = each.get("retcode") if isinstance(each, Mapping) else None
        if isinstance(code, int):
            return (code & 0xFF) or (EX_FAILED if code else EX_OK)
    return EX_OK


def _in_background(
    config: MasterConfig,
    screen: Screen,
    options: optparse.Values,
    name: str,
    args: Sequence[object],
    kwargs: Mapping[str, object],
) -> int:
    """Run the runner in a process of its own that has no terminal."""
    from datetime import datetime, timezone

    from saltlite.core import tags
    from saltlite.core.jid import new_jid

    jid = options.jid or new_jid(datetime.now(timezone.utc), None)
    tag = tags.run_new(jid).removesuffix("/new")
    sys.stderr.write(_in_background_words(tag))
    sys.stderr.flush()
    if os.fork():
        return EX_OK
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    code = EX_FAILED
    try:
        code = _run_here(config, screen, name, args, kwargs, jid)
    finally:
        os._exit(code)


def _in_background_words(tag: str) -> str:
    return (
        "[WARNING ] Running in asynchronous mode. Results of this execution may be collected by "
        "attaching to the master event bus or by examining the master job cache, if configured. "
        f"This execution is running under tag {tag}\n"
    )


if __name__ == "__main__":
    sys.exit(main())
