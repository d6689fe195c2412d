"""``salt-call``: run one function here and print what it gives back.

Source: docs/cli.md#salt-call, docs/command-line.md#exit-codes.

Without a master nothing of the network, of cryptography or of asyncio is imported, and grains are
collected only if the function looks at them.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from saltlite.cli.command import (
    EX_FAILED,
    EX_OK,
    INTERRUPTED,
    complain,
    explain_denial,
    hint_at_doctor,
    printing,
)
from saltlite.cli.options import (
    ONE_METHOD,
    CommandParser,
    common_options,
    flag,
    load_config,
    logging_options,
    output_options,
)
from saltlite.core.terminal import sanitize

if TYPE_CHECKING:
    import optparse

    from saltlite.cli.show import Screen
    from saltlite.config.minion import MinionConfig
    from saltlite.context import MasterView, MinionContext
    from saltlite.core.plain import PlainMap
    from saltlite.minion.caller import MasterCaller
    from saltlite.minion.job import Outcome

EX_NOT_ACCEPTED = 2
EX_UNKNOWN_FUNCTION = 255

NOT_ACCEPTED = "Minion failed to authenticate with the master, has the minion key been accepted?"
AUTH_TIMEOUT_S = 60
DOCTOR = "doctor.check"
"""Looks for what keeps a minion from its master: it does not begin with asking that one."""

LOCAL = "local"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; its exit code."""
    return printing("salt-call", lambda: _parse_and_run(argv))


def _parse_and_run(argv: Sequence[str] | None) -> int:
    parser = _build_parser()
    options, words = parser.parse_command(sys.argv[1:] if argv is None else argv)
    if options.args_stdin:
        words = [*words, *sys.stdin.read().splitlines()]
    if not words and not options.grains_run and not options.doc:
        parser.print_help()
        parser.error("Requires function, --grains or --doc")
    if options.grains_run and words:
        parser.error("-g/--grains does not accept any arguments")
    if options.doc and len(words) > 1:
        parser.error(ONE_METHOD)
    if options.priv or options.proxyid:
        parser.error("--priv and --proxyid are not supported yet")
    from saltlite.config.load import load_minion

    config = _with_cachedir(load_config(load_minion, options, _config_overrides(options)), options)
    from saltlite.cli import logs, regexes

    logs.setup(config.log, console=True)
    regexes.match_outside()
    return _run_guarded(config, options, words)


def _run_guarded(config: MinionConfig, options: optparse.Values, words: Sequence[str]) -> int:
    """Run; what went wrong is one line."""
    from saltlite.errors import AuthError, ConfigError, KeyPending, RequestTimeout, SaltliteError

    try:
        return _run_function(config, options, words)
    except KeyPending:
        sys.stdout.write(f"{NOT_ACCEPTED}\n")
        return hint_at_doctor("salt-call", EX_NOT_ACCEPTED)
    except ConfigError as error:
        return complain(str(error))
    except (AuthError, RequestTimeout) as error:
        return hint_at_doctor("salt-call", complain(f"salt-call: {error}"))
    except SaltliteError as error:
        return complain(f"salt-call: {error}")
    except PermissionError as error:
        if error.filename is None:
            raise
        return complain(explain_denial("salt-call", os.fsdecode(error.filename)))
    except KeyboardInterrupt:
        return complain(INTERRUPTED)


def _run_function(config: MinionConfig, options: optparse.Values, words: Sequence[str]) -> int:
    import gc

    from saltlite.cli.show import Screen

    gc.set_threshold(100_000, 20, 20)  # a tenth of a large run would go into looking for cycles
    words = [DOCTOR, *words[1:]] if words[:1] == ["doctor"] else words
    masterless = is_masterless(config) or words[:1] == [DOCTOR]
    if not masterless and config.network.master_type == "func":
        config = ask_for_masters(config)
    caller = None if masterless else _connect_to_master(config, options)
    try:
        refresh, skip_grains = bool(options.refresh_grains_cache), options.skip_grains
        ctx = make_context(config, caller, refresh=refresh, skip_grains=skip_grains)
        if options.doc:
            return _print_docs(ctx, words)
        screen = Screen.of(config, options)
        if options.grains_run:
            screen.show({LOCAL: dict(ctx.grains)})
            return EX_OK
        return _call_function(ctx, screen, options, words, caller)
    finally:
        if caller is not None:
            caller.close()


def is_masterless(config: MinionConfig) -> bool:
    """Whether functions are called without any master."""
    files = config.files
    return files.file_client == "local" and not files.use_master_when_local


def ask_for_masters(config: MinionConfig) -> MinionConfig:
    """The configuration with the masters that a function names (``master_type: func``)."""
    from saltlite.context import MinionContext
    from saltlite.grains import LazyGrains
    from saltlite.host import Host
    from saltlite.loader.registry import with_functions
    from saltlite.minion.master_function import ask_function, set_masters

    host = Host()
    ctx = with_functions(
        MinionContext(config=config, host=host, grains=LazyGrains(config, host), pillar={})
    )
    return set_masters(config, ask_function(ctx))


def _connect_to_master(config: MinionConfig, options: optparse.Values) -> MasterCaller:
    from saltlite.minion.caller import connect

    return connect(config, options.auth_timeout)


def make_context(
    config: MinionConfig,
    caller: MasterCaller | None,
    *,
    refresh: bool = False,
    skip_grains: bool = False,
) -> MinionContext:
    """What functions may reach that are called on this machine; without ``caller`` no master.

    ``refresh`` has the grains collected anew, ``skip_grains`` leaves them out.
    """
    from saltlite.cli.minionbus import NotedJobs, listen_to_minion, minion_bus
    from saltlite.context import MinionContext
    from saltlite.grains import LazyGrains
    from saltlite.host import Host
    from saltlite.loader.registry import with_functions
    from saltlite.pillar.lazy import LazyPillar

    host = Host()
    grains: Any = {} if skip_grains else LazyGrains(config, host, refresh=refresh)
    ctx = with_functions(
        MinionContext(
            config=config,
            host=host,
            grains=grains,
            pillar={} if caller is None else caller.pillar(grains),
            master=caller,
            events=minion_bus(config),
            listen=lambda prefix: listen_to_minion(config, prefix),
            master_view=lambda: _view_masters(config),
            jobs=NotedJobs(config),
        )
    )
    if caller is None:
        ctx.pillar = LazyPillar(lambda: _masterless_pillar(ctx))
    return ctx


def _view_masters(config: MinionConfig) -> MasterView:
    from saltlite.minion.master_view import MasterViewOf

    return MasterViewOf(config)


def _masterless_pillar(ctx: MinionContext) -> PlainMap:
    from saltlite.pillar.context import compile_masterless

    return compile_masterless(ctx)


def _print_docs(ctx: MinionContext, words: Sequence[str]) -> int:
    wanted = words[0] if words else ""
    found = [name for name in ctx.functions.names() if name.startswith(wanted)]
    for name in found:
        sys.stdout.write(sanitize(f"{name}:\n{ctx.functions.doc(name) or ''}\n\n"))
    return EX_OK if found else complain(f"there is no function {wanted}")


def _call_function(
    ctx: MinionContext,
    screen: Screen,
    options: optparse.Values,
    words: Sequence[str],
    caller: MasterCaller | None,
) -> int:
    from datetime import datetime, timezone

    from saltlite.core.jid import new_jid
    from saltlite.loader.arguments import parse_arguments
    from saltlite.minion.job import call_function
    from saltlite.minion.taken_job import TakenJob

    fun = words[0]
    arguments = parse_arguments(words[1:], _parse_names(options.no_parse))
    jid = new_jid(datetime.now(timezone.utc), None)
    job: dict[str, Any] = {"fun": fun, "jid": jid, "pid": os.getpid(), "tgt": "salt-call"}
    if options.module_executors:
        job["module_executors"] = options.module_executors
    if options.executor_opts:
        job["executor_opts"] = _parse_metadata(options.executor_opts)
    ctx.job = job
    try:
        with _show_progress(ctx, fun):
            outcome = call_function(fun, arguments, TakenJob.of(job), ctx)
    except Exception as error:
        if options.hard_crash:
            raise
        begun = _documentation_of_beginning(fun, error, ctx)
        if begun is None:
            return _explain_error(fun, error, ctx)
        outcome = begun
    fields = _return_fields(ctx, outcome, words, jid, options)
    _deliver_return(ctx, options.returner, fields, outcome)
    if caller is None and fun.startswith("state.") and ctx.config.files.state_reports:
        _keep_report(ctx, fields)
    _print_return(screen, options, fields, outcome)
    if caller is not None and not options.no_return_event:
        _send_return(caller, fields, outcome)
    passthrough = options.retcode_passthrough or fun == DOCTOR
    return _exit_code(outcome.retcode, passthrough=passthrough)


def _show_progress(ctx: MinionContext, fun: str) -> AbstractContextManager[None]:
    """On a terminal a run of states shows how far it is."""
    if not fun.startswith("state.") or not sys.stderr.isatty():
        return nullcontext()
    from saltlite.cli.runline import show_progress

    return show_progress(ctx)


def _parse_names(text: str | None) -> list[str]:
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def _return_fields(
    ctx: MinionContext,
    outcome: Outcome,
    words: Sequence[str],
    jid: str,
    options: optparse.Values,
) -> dict[str, Any]:
    """What ``--metadata`` shows; the arguments as they were typed."""
    fields: dict[str, Any] = {
        "jid": jid,
        "return": outcome.value,
        "retcode": outcome.retcode,
        "id": ctx.config.identity.id,
        "fun": words[0],
        "fun_args": list(words[1:]),
    }
    if outcome.out is not None:
        fields["out"] = outcome.out
    if options.set_metadata:
        fields["metadata"] = _parse_metadata(options.set_metadata)
    return fields


def _parse_metadata(text: str) -> Any:
    from saltlite.loader.arguments import parse_argument

    return parse_argument(text)


def _send_return(caller: MasterCaller, fields: Mapping[str, Any], outcome: Outcome) -> None:
    """Let the master record the return; what was printed stays true if that fails."""
    from saltlite.client.identity import sender
    from saltlite.errors import SaltliteError

    told = {**fields, "jid": "req", "user": sender(), "success": outcome.success}
    try:
        caller.request({"cmd": "_return", **told})
    except SaltliteError as error:
        complain(f"salt-call: the master did not get the return: {error}")


def _deliver_return(
    ctx: MinionContext, wanted: str | None, fields: Mapping[str, object], outcome: Outcome
) -> None:
    """Hand the return to the returners of ``--return`` and of the configuration."""
    if not wanted and not ctx.config.returns.return_:
        return
    from saltlite.jobs.deliver import deliver, returner_names

    names = returner_names(wanted, ctx.config.returns.return_)
    deliver(names, {**fields, "success": outcome.success}, ctx)


def _keep_report(ctx: MinionContext, fields: Mapping[str, Any]) -> None:
    """Keep here what states did, of which no master hears; of the other functions nothing."""
    if not isinstance(fields["return"], Mapping):
        return
    from saltlite.client.identity import sender
    from saltlite.jobs.own_reports import keep_runs

    keep_runs(ctx.config.paths.cachedir, fields, sender())


def _print_return(
    screen: Screen, options: optparse.Values, fields: Mapping[str, Any], outcome: Outcome
) -> None:
    if options.metadata:
        screen.show({LOCAL: dict(fields)}, "nested")
    else:
        screen.show({LOCAL: outcome.value}, outcome.out, retcode=outcome.retcode)


def _exit_code(retcode: int, *, passthrough: bool) -> int:
    if retcode == 0:
        return EX_OK
    return (retcode & 0xFF) or EX_FAILED if passthrough else EX_FAILED


def _documentation_of_beginning(fun: str, error: Exception, ctx: MinionContext) -> Outcome | None:
    """The functions that a name which is none may be the beginning of; ``None`` without any."""
    from saltlite.errors import FunctionUnavailable
    from saltlite.minion.job import Outcome

    if not isinstance(error, FunctionUnavailable) or error.name != fun:
        return None
    docs = {name: ctx.functions.doc(name) for name in ctx.functions.names() if name.startswith(fun)}
    return Outcome({**docs, fun: str(error)}, 1, False) if docs else None


def _explain_error(fun: str, error: Exception, ctx: MinionContext) -> int:
    """Say on stderr what went wrong, in Salt's words; the exit code."""
    from saltlite.errors import (
        CommandError,
        FunctionUnavailable,
        RenderError,
        SaltliteError,
        UsageError,
    )
    from saltlite.minion.job import InvocationError, wrong_arguments

    if isinstance(error, FunctionUnavailable) and error.name == fun:
        return complain(str(error), EX_UNKNOWN_FUNCTION)
    if isinstance(error, RenderError):
        return complain(f"Error running '{fun}': {error.salt_text}")
    if isinstance(error, InvocationError):
        return complain(str(error))
    if isinstance(error, CommandError) and error.exit_code is None:
        return complain(f"Command required for '{fun}' not found: {error}")
    if isinstance(error, SaltliteError) and not isinstance(error, UsageError):
        return complain(f"Error running '{fun}': {error}")
    if isinstance(error, TypeError):
        sys.stdout.write(sanitize(f"{ctx.functions.doc(fun) or ''}\n"))
        said = wrong_arguments(fun, error, ctx)
        return complain(f"\nPassed invalid arguments: {said}.\n\nUsage:")
    frames = error.__traceback__
    while frames is not None and "/modules/" not in frames.tb_frame.f_code.co_filename:
        frames = frames.tb_next
    return complain("".join(traceback.format_exception(type(error), error, frames)).rstrip())


def _with_cachedir(config: MinionConfig, options: optparse.Values) -> MinionConfig:
    """``--cachedir`` as it was given, not below ``root_dir``; what follows from the option stays.

    Source: observed on Salt 3006.30.
    """
    if not options.cachedir:
        return config
    from saltlite.config.load import absolute
    from saltlite.core import dataclasses

    paths = dataclasses.replace(config.paths, cachedir=absolute(options.cachedir))
    return dataclasses.replace(config, paths=paths)


def _config_overrides(options: optparse.Values) -> dict[str, Any]:
    """The options of the configuration that only this command sets."""
    given: dict[str, Any] = {
        "file_client": "local" if options.local else None,
        "master": options.master,
        "id": options.id,
        "module_dirs": options.module_dirs,
        "states_dirs": [options.states_dir] if options.states_dir else None,
        "file_roots": {"base": [options.file_root]} if options.file_root else None,
        "pillar_roots": {"base": [options.pillar_root]} if options.pillar_root else None,
    }
    return {name: value for name, value in given.items() if value is not None}


def _build_parser() -> CommandParser:
    parser = CommandParser(
        "salt-call",
        "%prog [options] <function> [arguments]",
        "salt-call runs functions of execution modules on this minion.",
    )
    common_options(parser)
    _call_options(parser)
    output_options(parser)
    logging_options(parser, "/var/log/salt/minion")
    return parser


def _call_options(parser: CommandParser) -> None:
    flag(parser, "--local", help="Run as if there were no master.")
    flag(parser, "-g", "--grains", dest="grains_run", help="Print the grains.")
    flag(
        parser,
        "-d",
        "--doc",
        "--documentation",
        dest="doc",
        help="Print documentation of functions.",
    )
    flag(parser, "--retcode-passthrough", help="Exit with the function's own exit code.")
    flag(parser, "--metadata", help="Print the whole return, with id, jid and exit code.")
    flag(parser, "--no-return-event", help="Do not send the return to the master.")
    flag(parser, "--skip-grains", help="Do without grains.")
    flag(parser, "--refresh-grains-cache", help="Collect grains anew; cached ones do not count.")
    flag(parser, "--args-stdin", help="Read further arguments from standard input, one per line.")
    flag(parser, "--hard-crash", help="Let exceptions of functions end the command.")
    flag(parser, "--output-diff", dest="state_output_diff", help="Show only states with changes.")
    parser.add_option("--master", help="Use this master instead of the configured one.")
    parser.add_option("--id", help="Use this minion id instead of the configured one.")
    parser.add_option("--return", dest="returner", help="Hand the return to these returners too.")
    parser.add_option("--set-metadata", metavar="METADATA", help="Metadata to search the job by.")
    parser.add_option("--file-root", help="Use this directory as the base file root.")
    parser.add_option("--pillar-root", help="Use this directory as the base pillar root.")
    parser.add_option("--states-dir", help="A further directory of state modules.")
    parser.add_option(
        "-m", "--module-dirs", action="append", help="A further directory of modules; repeatable."
    )
    parser.add_option("--cachedir", help="Use this cache directory.")
    parser.add_option("--priv", dest="priv", metavar="USER", help="Not supported yet.")
    parser.add_option("--proxyid", help="Not supported yet.")
    parser.add_option(
        "--module-executors",
        help="Executors that run the function, instead of those of the configuration.",
    )
    parser.add_option("--executor-opts", help="Options for executors, as a dictionary.")
    parser.add_option(
        "--no-parse", metavar="argname1,argname2,...", help="Keywords whose values stay as typed."
    )
    parser.add_option(
        "-t", "--timeout", dest="auth_timeout", type="int", default=AUTH_TIMEOUT_S,
        help=f"How long to wait for the master (in seconds). Default: {AUTH_TIMEOUT_S}.",
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
