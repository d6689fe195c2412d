"""``salt``: run functions on minions and print what they return.

Source: docs/cli.md#salt, docs/command-line.md#exit-codes.

Only here is known what is printed when and which exit code says what. Everything costly is imported
when it is needed.
"""

from __future__ import annotations

import gc
import logging
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from saltlite.cli import login
from saltlite.cli.command import (
    EX_FAILED,
    EX_OK,
    INTERRUPTED,
    complain,
    master_config,
    run,
)
from saltlite.cli.deferred_imports import is_loaded
from saltlite.cli.options import (
    EX_USAGE,
    ONE_METHOD,
    CommandParser,
    target_type,
)
from saltlite.cli.salt_options import build_parser as _build_parser
from saltlite.core.dataclasses import dataclass, field
from saltlite.core.ids import TELL_OUTPUT, TELL_STATES, TELLING_MOST
from saltlite.core.terminal import sanitize
from saltlite.errors import MasterRefused, PatternTooSlow, TargetError

if TYPE_CHECKING:
    import optparse

    from saltlite.cli.live import StatusLine
    from saltlite.cli.show import Screen
    from saltlite.cli.streaming import OutputLines
    from saltlite.client.collect import JobRun, Outcome, ReturnStore
    from saltlite.client.job_request import JobRequest
    from saltlite.client.jobs import JobClient
    from saltlite.config.master import MasterConfig

EX_NOBODY = 2
EX_INCOMPLETE = 42

NOBODY_MATCHED = "No minions matched the target. No command was sent, no jid was assigned."
NOBODY_RETURNED = "ERROR: No return received"
FAILED = "ERROR: Minions returned with non-zero exit code"
STREAM_ALONE = "--stream goes neither with --async nor with batches (-b)"
STREAM_UNHEARD = (
    "NOTICE: what commands print is told by the master's event bus, which you may not open."
)
STREAM_BATCHES = "NOTICE: what minions of batches print comes with their returns."
STREAM_MANY = "NOTICE: more than {} minions are meant; what they print comes with their returns."
NO_TARGET = "Cannot execute command without defining a target."
NO_FUNCTION = "Incomplete options passed."
TOO_FEW = "Cannot execute compound command without defining all arguments."
TOO_MANY = "Cannot execute compound command with more arguments than commands."
MANY_MINIONS = "NOTICE: Too many minions targeted, switching to batch execution."
BAD_BATCH = "Invalid batch data sent: {}\nData must be in the form of %10, 10% or 3"


class _Ended(Exception):
    """The command is over before anything was sent: what to print where, and the exit code."""

    def __init__(self, code: int, *, out: str = "", err: str = "") -> None:
        self.code = code
        self.out = out
        self.err = err
        super().__init__(out or err)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; the exit code of docs/command-line.md#exit-codes."""
    if argv is None:
        gc.disable()  # a tenth of the time of a short command would go into looking for cycles
    code = run("salt", argv, _build_parser, _run_command)
    if argv is None:
        _exit_at_once(code)
    return code


def _exit_at_once(code: int) -> None:
    """End at once: taking the interpreter apart would take longer than asking a minion."""
    if is_loaded("logging"):
        logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _run_command(parser: CommandParser, options: optparse.Values, arguments: list[str]) -> int:
    login.check_options(parser, options)
    if options.range or options.list_hosts:
        parser.error("range servers (-R) and rosters (-H) are not supported")
    if options.stream and (options.async_ or options.batch):
        parser.error(STREAM_ALONE)
    if options.doc and len(_docs_arguments(arguments)) > 3:
        parser.error(ONE_METHOD)
    config = master_config(options)
    shown: dict[str, str] = {}
    try:
        shown = login.credentials(config, options)
        return _Salt(config, options, arguments, parser.print_help, shown).run()
    except login.LoginFailed:
        return login.EX_LOGIN
    except MasterRefused as error:
        return login.end_refused(error, shown, config, options)
    except _Ended as end:
        if end.out:
            sys.stdout.write(f"{sanitize(end.out)}\n")
        return complain(end.err, end.code) if end.err else end.code


# --- from words to a job -------------------------------------------------------------------------


def _docs_arguments(arguments: list[str]) -> list[str]:
    """``salt -d [target] [what]`` is ``sys.doc``."""
    target, *rest = arguments or ["*"]
    if rest[:1] != ["sys.doc"]:
        rest = ["sys.doc", *rest]
    return [target, *rest]


def compound(names: str, words: Sequence[str], separator: str) -> tuple[list[str], list[list[str]]]:
    """Several functions and the words for each. Source: docs/cli.md, real Salt's answers.

    Where there are enough separators that are words of their own, commas within other words are
    theirs; else they separate as well.

    Raises:
        _Ended: there are more or fewer groups of words than functions.
    """
    if not separator:
        raise _Ended(EX_USAGE, err="--args-separator: the separator is empty")
    functions = names.split(",")
    within = words.count(separator) < len(functions) - 1
    found: list[list[str]] = [[]]
    for word in words:
        first, *more = word.split(separator) if within or word == separator else [word]
        found[-1] += [first] if first or not more else []
        found += [[part] if part else [] for part in more]
    if len(found) > len(functions):
        raise _Ended(EX_INCOMPLETE, err=TOO_MANY)
    if len(found) < len(functions):
        raise _Ended(EX_INCOMPLETE, err=TOO_FEW)
    return functions, found


def _parse_words(words: str) -> list[str]:
    return [one for one in words.replace(",", " ").split() if one]


@dataclass(slots=True)
class _Seen:
    """What has come of a job so far."""

    expected: int = 0
    returned: int = 0
    lost: list[str] = field(default_factory=list)
    failed: int = 0
    highest: int = 0
    together: dict[str, Any] = field(default_factory=dict)
    outputter: str | None = None


class _Salt:
    """One call of ``salt``."""

    def __init__(
        self,
        config: MasterConfig,
        options: optparse.Values,
        arguments: list[str],
        show_help: Callable[[], None],
        credentials: Mapping[str, str],
    ) -> None:
        from saltlite.cli.show import Screen

        self.config = config
        self.options = options
        self.arguments = arguments
        self._show_help = show_help
        self._credentials = credentials
        self._jid = ""
        self._status: StatusLine | None = None
        self.screen: Screen = Screen.of(config, options, arguments)

    def run(self) -> int:
        """Do what is asked for; the exit code."""
        options = self.options
        if options.config_dump:
            return self._config_dump()
        if options.args_stdin:
            self.arguments += sys.stdin.read().splitlines()
        if options.doc:
            self.arguments = _docs_arguments(self.arguments)
        if options.preview_target:
            return self._show_preview()
        request = self._make_request()
        try:
            with self._make_client() as client:
                return self._dispatch_request(client, request)
        except KeyboardInterrupt:
            return self._report_interrupt()

    def _dispatch_request(self, client: JobClient, request: JobRequest) -> int:
        options = self.options
        if options.async_:
            return self._publish_only(client, request)
        if options.subset:
            request = self._choose_subset(client, request)
        batch = options.batch or self._safe_batch(request)
        if batch:
            request = self._without_stream(request)
            return self._run_batch(client, request, batch)
        run = client.start(request)
        if run is None:
            return self._report_nobody(client.malformed)
        with run:
            self._jid = run.jid
            self._show_head(run)
            if options.doc or request.fun == "sys.doc":
                return self._show_docs(run)
            if options.static:
                return self._show_static(run)
            return self._as_they_come(client, run)

    # --- before anything is sent --------------------------------------------------------------

    def _make_request(self) -> JobRequest:
        from saltlite.client.job_request import JobRequest, jid_as_text
        from saltlite.loader.arguments import parse_arguments

        if not self.arguments:
            self._show_help()
            raise _Ended(EX_INCOMPLETE, err=f"\n{NO_TARGET}\n")
        if len(self.arguments) < 2:
            self._show_help()
            raise _Ended(EX_INCOMPLETE, err=f"\n{NO_FUNCTION}\n")
        options = self.options
        _read_target, name, *words = self.arguments
        no_parse = _parse_words(options.no_parse)
        tgt, tgt_type = self._read_target()
        fun: str | list[str] = name
        arg: list[Any] = [jid_as_text(one) for one in parse_arguments(words, no_parse)]
        if "," in name:
            fun, parts = compound(name, words, options.args_separator)
            arg = [[jid_as_text(one) for one in parse_arguments(part, no_parse)] for part in parts]
        return JobRequest(
            tgt=tgt,
            fun=fun,
            arg=arg,
            tgt_type=tgt_type,
            ret=options.return_,
            timeout_s=self.config.jobs.timeout,
            options=self._publish_options(),
        )

    def _read_target(self) -> tuple[str | list[str], str]:
        kind = target_type(self.options)
        tgt = self.arguments[0] if self.arguments else "*"
        if kind == "list":
            return _parse_words(tgt), kind
        if kind == "nodegroup":
            return self._expand_nodegroup(tgt), "compound"
        if kind == "compound" and "N@" in tgt:
            return self._without_nodegroups(tgt), kind
        return tgt, kind

    def _expand_nodegroup(self, name: str) -> str:
        from saltlite.core.targets import expand_nodegroup

        if name not in self.config.targets.nodegroups:
            where = self.config.paths.conf_file
            self.screen.show(f"Node group {name} unavailable in {where}")
            raise _Ended(EX_OK)
        try:
            return expand_nodegroup(name, self.config.targets.nodegroups)
        except TargetError as error:
            raise _Ended(self._report_nobody(str(error))) from error

    def _without_nodegroups(self, expression: str) -> str:
        """A compound expression with the words of its nodegroups: minions do not know them."""
        words = expression.split()
        groups = (word.removeprefix("N@") for word in words)
        return " ".join(
            self._expand_nodegroup(group) if word.startswith("N@") and group else word
            for word, group in zip(words, groups, strict=True)
        )

    def _publish_options(self) -> dict[str, Any]:
        options = self.options
        found: dict[str, Any] = {}
        if options.delimiter != ":":
            found["delimiter"] = options.delimiter
        for name in ("metadata", "return_kwargs", "executor_opts"):
            text = getattr(options, name)
            if text:
                found[{"return_kwargs": "ret_kwargs"}.get(name, name)] = self._parse_mapping(
                    name, text
                )
        if options.return_config:
            found["ret_config"] = options.return_config
        if options.module_executors:
            found["module_executors"] = _parse_words(options.module_executors)
        if options.start_event:
            found["start_event"] = True
        if self._shows_states():
            found[TELL_STATES] = True
        if options.stream:
            found[TELL_OUTPUT] = True
        return {name: value for name, value in found.items() if value is not None}

    def _shows_states(self) -> bool:
        """Whether somebody looks who wants to see which states run."""
        from saltlite.cli.live import on_terminal

        runs_states = any(one.startswith("state.") for one in self.arguments[1].split(","))
        return runs_states and not self.options.async_ and on_terminal(sys.stdout)

    def _parse_mapping(self, name: str, text: str) -> Mapping[str, Any] | None:
        from saltlite.loader.arguments import parse_argument

        value = parse_argument(text)
        if isinstance(value, Mapping):
            return value
        import logging

        logging.getLogger(__name__).warning("--%s is not a dictionary, and is left out", name)
        return None

    def _make_client(self) -> JobClient:
        from saltlite.client.jobs import JobClient

        return JobClient(
            self.config,
            store=self._open_store,
            connected=self._find_connected_minions,
            credentials=self._credentials,
        )

    def _open_store(self) -> ReturnStore:
        from saltlite.cli.stores import open_jobs

        return open_jobs(self.config)

    def _find_connected_minions(self) -> frozenset[str] | None:
        from saltlite.cli.stores import maybe_connected

        return maybe_connected(self.config)

    def _config_dump(self) -> int:
        from saltlite.config.opts import flat_opts
        from saltlite.config.yaml import dump

        sys.stdout.write(dump(flat_opts(self.config)))
        return EX_OK

    def _show_preview(self) -> int:
        minions = self._list_expected_minions()
        if not minions:
            raise _Ended(EX_NOBODY, err=NOBODY_RETURNED)
        self.screen.show(minions)
        return EX_OK

    def _list_expected_minions(self) -> list[str]:
        from saltlite.cli.stores import list_expected_minions, open_stores
        from saltlite.core.targets import Target

        tgt, tgt_type = self._read_target()
        try:
            target = Target(tgt, tgt_type, self.options.delimiter)
            return list_expected_minions(self.config, open_stores(self.config), target)
        except PatternTooSlow:
            raise
        except TargetError:
            return []

    # --- sending and showing ------------------------------------------------------------------

    def _publish_only(self, client: JobClient, request: JobRequest) -> int:
        reply = client.publish(request)
        if reply is None:
            return self._report_nobody(client.malformed)
        self.screen.line(f"Executed command with job ID: {reply.jid}")
        return EX_OK

    def _without_stream(self, request: JobRequest) -> JobRequest:
        """For the batches that a number of minions has led to: no lines are shown of them."""
        from saltlite.core import dataclasses

        if not self.options.stream:
            return request
        complain(STREAM_BATCHES)
        kept = {name: value for name, value in request.options.items() if name != TELL_OUTPUT}
        return dataclasses.replace(request, options=kept)

    def _choose_subset(self, client: JobClient, request: JobRequest) -> JobRequest:
        from saltlite.core import dataclasses

        chosen = client.subset_of(request, self.options.subset)
        return dataclasses.replace(request, tgt=chosen, tgt_type="list")

    def _safe_batch(self, request: JobRequest) -> str:
        limit = self.options.batch_safe_limit
        if limit <= 0 or len(self._list_expected_minions()) < limit:
            return ""
        if not self.options.static:
            self.screen.line(f"\n{MANY_MINIONS}")
        return str(self.options.batch_safe_size)

    def _report_nobody(self, reason: str) -> int:
        self.screen.line(NOBODY_MATCHED)
        self.screen.show({})
        if reason:
            complain(f"ERROR: {reason}", EX_NOBODY)
        return complain(NOBODY_RETURNED, EX_NOBODY)

    def _show_head(self, run: JobRun) -> None:
        if run.notice:
            # Not among what is printed of the minions, which programs read.
            complain(run.notice)
        if self.options.verbose:
            line = f"Executing job with jid {run.jid}"
            self.screen.line(f"{line}\n{'-' * len(line)}\n")
        elif self.options.show_jid or self.config.output.show_jid:
            self.screen.line(f"jid: {run.jid}")

    def _as_they_come(self, client: JobClient, run: JobRun) -> int:
        from saltlite.client.collect import MinionReturn

        seen = _Seen(expected=len(run.minions) + len(run.missing))
        show_lost = self.options.verbose or (
            self.config.output.show_timeout and not self.options.hide_timeout
        )
        for outcome in self._follow_outcomes(run):
            if isinstance(outcome, MinionReturn):
                seen.returned += 1
                seen.failed += bool(outcome.exit_code)
                out = outcome.out
                self.screen.show({outcome.id: outcome.return_}, out, retcode=outcome.exit_code)
                continue
            seen.lost.append(outcome.id)
            if show_lost:
                self.screen.show({outcome.id: client.explain_loss(outcome)}, "no_return")
        self._show_summary(seen)
        if show_lost:
            self._show_reasons(run, seen.lost)
        if seen.failed or (seen.lost and show_lost):
            return complain(FAILED, EX_FAILED)
        return EX_OK

    def _follow_outcomes(self, run: JobRun) -> Iterator[Outcome]:
        """What comes of the job, with a line on the terminal while nothing does."""
        import time

        from saltlite.cli.live import follow_job

        seen: list[tuple[str, int]] = []
        lines = self._stream_output(run) if self.options.stream else None
        try:
            for outcome in follow_job(run, self._status_line()):
                if lines is not None:
                    lines.end(outcome.id)
                yield outcome
                # When the next one is asked for, this one has been printed.
                seen.append((outcome.id, time.time_ns() // 1000))
        finally:
            self._note_seen(run.jid, seen)

    def _stream_output(self, run: JobRun) -> OutputLines:
        from saltlite.cli.streaming import OutputLines

        status = self._status_line()
        lines = OutputLines(sys.stderr, status.clear if status else lambda: None)
        if not run.hears_progress:
            complain(STREAM_UNHEARD)
        elif len(run.minions) > TELLING_MOST:
            complain(STREAM_MANY.format(TELLING_MOST))
        run.hear_output(lines.show)
        return lines

    def _note_seen(self, jid: str, seen: Sequence[tuple[str, int]]) -> None:
        from pathlib import Path

        from saltlite.jobs.marks import note_seen

        note_seen(Path(self.config.paths.cachedir), jid, seen)

    def _status_line(self) -> StatusLine | None:
        from saltlite.cli.live import StatusLine, bar, on_terminal, rows

        if self._status is None and on_terminal(sys.stdout):
            graph = self.options.progress
            self._status = (
                StatusLine(sys.stdout, bar, wait_s=0) if graph else StatusLine(sys.stdout, rows)
            )
        return self._status

    def _show_reasons(self, run: JobRun, lost: Sequence[str]) -> None:
        """Say on a terminal why minions did not return."""
        from saltlite.cli.live import on_terminal

        if not lost or not (self.options.verbose or on_terminal(sys.stderr)):
            return
        from saltlite.cli.runs import why_missing

        silent = frozenset(lost) - run.who_answered
        for minion, reason in why_missing(self.config, run.jid, lost, silent=silent).items():
            complain(f"{minion}: {reason['text']}")

    def _show_static(self, run: JobRun) -> int:
        from saltlite.client.collect import MinionReturn

        seen = _Seen(expected=len(run.minions) + len(run.missing))
        for outcome in self._follow_outcomes(run):
            if isinstance(outcome, MinionReturn):
                seen.returned += 1
                seen.failed += bool(outcome.exit_code)
                seen.together[outcome.id] = outcome.return_
                seen.outputter = outcome.out or seen.outputter
        self.screen.show(dict(sorted(seen.together.items())), seen.outputter)
        self._show_summary(seen)
        return EX_OK if seen.together else complain(NOBODY_RETURNED, EX_NOBODY)

    def _show_docs(self, run: JobRun) -> int:
        from saltlite.client.collect import MinionReturn

        docs: dict[str, Any] = {}
        for outcome in self._follow_outcomes(run):
            if isinstance(outcome, MinionReturn) and isinstance(outcome.return_, Mapping):
                docs.update(outcome.return_)
            elif isinstance(outcome, MinionReturn):
                self.screen.show({outcome.id: outcome.return_}, retcode=outcome.exit_code)
        if self.screen.outputter:
            self.screen.show(docs)
            return EX_OK
        for name in sorted(docs):
            self.screen.line(f"{name}:\n{docs[name]}\n")
        return EX_OK

    def _run_batch(self, client: JobClient, request: JobRequest, size: str) -> int:
        from saltlite.cli.live import REFRESH_S
        from saltlite.client.batch import Batch

        options = self.options
        try:
            batch = Batch(
                client,
                request,
                size,
                wait_s=options.batch_wait,
                failhard=options.failhard,
                pulse_s=REFRESH_S if self._status_line() else None,
            )
        except ValueError:
            raise _Ended(EX_FAILED, out=BAD_BATCH.format(size)) from None
        with batch:
            seen = self._batch_outcomes(client, batch)
        if options.static:
            self.screen.show(dict(sorted(seen.together.items())), seen.outputter)
        self._show_summary(seen)
        if not seen.returned:
            if not seen.expected:
                self.screen.line(NOBODY_MATCHED)
                if client.malformed:
                    complain(f"ERROR: {client.malformed}", EX_NOBODY)
            return complain(NOBODY_RETURNED, EX_NOBODY)
        return EX_OK if options.static else seen.highest

    def _batch_outcomes(self, client: JobClient, batch: Iterable[Any]) -> _Seen:
        from saltlite.cli.live import follow_batch
        from saltlite.client.batch import BatchStopped, Silent, Started
        from saltlite.client.collect import MinionReturn, NotReturned

        seen = _Seen()
        loud = not self.options.static
        for outcome in follow_batch(batch, self._status_line()):
            if isinstance(outcome, MinionReturn):
                self._batch_return(outcome, seen)
            elif isinstance(outcome, Started):
                self._jid = outcome.jid
                seen.expected += len(outcome.minions)
                if loud:
                    self.screen.line(f"\nExecuting run on {list(outcome.minions)}\n")
            elif isinstance(outcome, BatchStopped):
                complain(_describe_failhard(outcome.id), 0)
            elif isinstance(outcome, Silent):
                seen.expected += 1
                if loud:
                    self.screen.line(f"Minion {outcome.id} did not respond. No job will be sent.")
            elif isinstance(outcome, NotReturned):
                seen.lost.append(outcome.id)
                if loud and not self.options.hide_timeout:
                    self.screen.show({outcome.id: client.explain_loss(outcome)}, "no_return")
        return seen

    def _batch_return(self, outcome: Any, seen: _Seen) -> None:
        seen.returned += 1
        seen.failed += bool(outcome.exit_code)
        seen.highest = max(seen.highest, outcome.exit_code)
        if self.options.static:
            seen.together[outcome.id] = outcome.return_
            seen.outputter = outcome.out or seen.outputter
            return
        data = {"retcode": outcome.exit_code, "jid": outcome.jid, outcome.id: outcome.return_}
        self.screen.show(data, outcome.out, retcode=outcome.exit_code)

    def _show_summary(self, seen: _Seen) -> None:
        if not (self.options.summary or self.config.output.cli_summary):
            return
        dashes = "-" * 43
        self.screen.line(
            f"\n\n{dashes}\nSummary\n{dashes}\n"
            f"# of minions targeted: {seen.expected}\n"
            f"# of minions returned: {seen.returned}\n"
            f"# of minions that did not return: {seen.expected - seen.returned}\n"
            f"# of minions with errors: {seen.failed}\n{dashes}"
        )

    def _report_interrupt(self) -> int:
        from saltlite.client.jobs import LOOK_UP

        if self._status is not None:
            self._status.clear()
        text = INTERRUPTED
        if self._jid:
            text += f"\nThis job's jid is: {self._jid}\n{LOOK_UP.format(jid=self._jid)}"
            text += f"\n\nTo go on waiting for it:\n\nsalt-run jobs.follow {self._jid}"
        return complain(text)


def _describe_failhard(minion: str) -> str:
    return (
        f"[ERROR   ] Minion {minion} returned with non-zero exit code. "
        "Batch run stopped due to failhard"
    )


if __name__ == "__main__":
    sys.exit(main())
