"""``salt-cp``: copy files from here to minions, in one job or in pieces.

Source: docs/cli.md, #salt-cp.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from saltlite.cli import options as groups
from saltlite.cli.command import EX_FAILED, EX_OK, complain, master_config, run
from saltlite.core.dataclasses import dataclass
from saltlite.errors import TargetError

if TYPE_CHECKING:
    import optparse

    from saltlite.client.jobs import JobClient
    from saltlite.config.master import MasterConfig

EX_NO_SOURCE = 42

KINDS = ("pcre", "list", "grain", "grain_pcre", "nodegroup", "range")
ONLY_FILES = (
    "{} is a directory, only files are supported in non-chunked mode. "
    'Use "--chunked" command line argument.'
)
ONLY_TEXT = '{} is not a text file. Use "--chunked" command line argument.'


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; the exit code of docs/cli.md#salt-cp."""
    return run("salt-cp", argv, _build_parser, _copy_files)


def _copy_files(
    parser: groups.CommandParser, options: optparse.Values, arguments: list[str]
) -> int:
    if options.range or options.list_hosts:
        parser.error("range servers (-R) and rosters (-H) are not supported")
    if len(arguments) < 3:
        parser.print_help()
        sys.stdout.flush()
        parser.error("Insufficient arguments")
    return _SaltCp(master_config(options), options, arguments).run()


def _build_parser() -> groups.CommandParser:
    parser = groups.CommandParser(
        "salt-cp",
        "%prog [options] '<target>' SOURCE DEST",
        "salt-cp copies files of this machine to minions. It is meant for small ones, such as "
        "configuration files; for large ones use the file server.",
    )
    groups.common_options(parser)
    groups.timeout_option(parser, 5)
    groups.flag(
        parser, "-C", "--chunked",
        help="Use chunked files transfer. Supports big files, recursive lookup and directories.",
    )  # fmt: skip
    groups.flag(parser, "-n", "--no-compression", help="Disable gzip compression in chunked mode.")
    groups.hard_crash_option(parser)
    groups.target_options(parser, KINDS)
    groups.output_options(parser)
    groups.logging_options(parser, "/var/log/salt/master")
    return parser


@dataclass(frozen=True, slots=True)
class _File:
    """A file here and its path on the minion."""

    source: Path
    dest: str


class _SaltCp:
    """One call of ``salt-cp``."""

    def __init__(
        self, config: MasterConfig, options: optparse.Values, arguments: Sequence[str]
    ) -> None:
        from saltlite.cli.show import Screen

        self.config = config
        self.options = options
        self.target, *sources, self.dest = arguments
        self.sources = [Path(source) for source in sources]
        self.screen = Screen.of(config, options)
        self.lost: dict[str, str] = {}
        """Who did not return, and what is known of that; for a file or a piece of one."""

    def run(self) -> int:
        """Copy; the exit code says whether the sources were there and all of them arrived."""
        for source in self.sources:
            if not source.exists():
                return complain(f"{source} does not exist", EX_NO_SOURCE)
        from saltlite.client.jobs import JobClient

        with JobClient(self.config) as client:
            return self._copy_in_pieces(client) if self.options.chunked else self._at_once(client)

    def _at_once(self, client: JobClient) -> int:
        files: dict[str, str] = {}
        for source in self.sources:
            if source.is_dir():
                self.screen.line(ONLY_FILES.format(source))
                return EX_FAILED
            if source.is_file():
                try:
                    files[str(source)] = source.read_bytes().decode()
                except UnicodeDecodeError:
                    self.screen.line(ONLY_TEXT.format(source))
                    return EX_FAILED
        tgt, tgt_type = self._read_target()
        return self._show_returns(
            self._run_on_minions(client, tgt, tgt_type, "cp.recv", [files, self.dest])
        )

    def _copy_in_pieces(self, client: JobClient) -> int:
        found: dict[str, dict[str, Any]] | None = None
        for file in self._list_files():
            sent = self._send_file(client, file)
            for minion, said in (sent or {}).items():
                found = {} if found is None else found
                found.setdefault(minion, {})[file.dest] = said
        return self._show_returns(found)

    def _list_files(self) -> Iterator[_File]:
        into_folder = self.dest.endswith("/") or len(self.sources) > 1
        for source in self.sources:
            if not source.is_dir():
                dest = PurePosixPath(self.dest)
                yield _File(source, str(dest / source.name if into_folder else dest))
                continue
            base = source.absolute().parent
            for folder, folders, names in os.walk(source):
                folders.sort()
                for name in sorted(names):
                    path = Path(folder, name)
                    yield _File(
                        path, str(PurePosixPath(self.dest) / path.absolute().relative_to(base))
                    )

    def _send_file(self, client: JobClient, file: _File) -> dict[str, Any] | None:
        """Send one file; what each minion said last. Who failed gets no more pieces."""
        tgt, tgt_type = self._read_target()
        said: dict[str, Any] | None = None
        number = 0
        for number, (piece, mode) in enumerate(self._read_pieces(file.source)):
            arg = [file.dest, piece, number > 0, not self.options.no_compression, mode]
            answers = self._run_on_minions(client, tgt, tgt_type, "cp.recv_chunked", arg)
            if answers is None and said is None:
                return None
            # Who has a part of it and says no more has not got it.
            unsaid: dict[str, Any] = dict.fromkeys(tgt, False) if number else {}
            said = {**(said or {}), **unsaid, **(answers or {})}
            tgt, tgt_type = [one for one, ok in (answers or {}).items() if ok is True], "list"
            if not tgt:
                return said
        if said is not None and number > 0:
            self._check_hash(client, file, said)
        return said

    def _check_hash(self, client: JobClient, file: _File, said: dict[str, Any]) -> None:
        """Ask who got several pieces for the hash of the whole; ``False`` where it is another."""
        import hashlib

        digest = hashlib.sha256()
        with file.source.open("rb") as source:
            while piece := source.read(1 << 20):
                digest.update(piece)
        got = [minion for minion, ok in said.items() if ok is True]
        hashes = (
            self._run_on_minions(client, got, "list", "file.get_hash", [file.dest, "sha256"]) or {}
        )
        for minion in got:
            found = hashes.get(minion)
            if found != digest.hexdigest():
                if minion not in self.lost:
                    complain(f"{minion}: {file.dest} is not what was sent ({found!r})", EX_FAILED)
                said[minion] = False

    def _read_pieces(self, path: Path) -> Iterator[tuple[str, int]]:
        """The file in base64, and its mode; at least one piece."""
        import base64
        import gzip

        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode & 0o7777
            data = file.read(self.config.jobs.salt_cp_chunk_size)
            while True:
                packed = data if self.options.no_compression else gzip.compress(data)
                yield base64.b64encode(packed).decode("ascii"), mode
                data = file.read(self.config.jobs.salt_cp_chunk_size)
                if not data:
                    return

    def _run_on_minions(
        self, client: JobClient, tgt: str | list[str], tgt_type: str, fun: str, arg: list[Any]
    ) -> dict[str, Any] | None:
        """What the minions returned, ``None`` if nobody matches. Who did not is in ``lost``."""
        from saltlite.client.collect import MinionReturn, NotReturned
        from saltlite.client.job_request import JobRequest

        options = {"delimiter": self.options.delimiter} if self.options.delimiter != ":" else {}
        request = JobRequest(
            tgt=tgt,
            fun=fun,
            arg=arg,
            tgt_type=tgt_type,
            timeout_s=self.config.jobs.timeout,
            options=options,
        )
        run = client.start(request)
        if run is None:
            return None
        answers: dict[str, Any] = {}
        with run:
            for one in run:
                if isinstance(one, MinionReturn):
                    answers[one.id] = one.return_
                elif isinstance(one, NotReturned):
                    self.lost[one.id] = client.explain_loss(one).partition("\n")[0]
        return answers

    def _read_target(self) -> tuple[str | list[str], str]:
        kind = groups.target_type(self.options)
        if kind == "list":
            return [one for one in self.target.replace(",", " ").split() if one], kind
        if kind == "nodegroup":
            from saltlite.core.targets import expand_nodegroup

            try:
                return expand_nodegroup(self.target, self.config.targets.nodegroups), "compound"
            except TargetError:
                return "", "list"
        return self.target, kind

    def _show_returns(self, returned: dict[str, Any] | None) -> int:
        if returned is None:
            from saltlite.cli.salt import EX_NOBODY, NOBODY_MATCHED

            self.screen.line(NOBODY_MATCHED)
            return EX_NOBODY
        if returned or not self.lost:
            self.screen.show(returned)
        for minion, why in sorted(self.lost.items()):
            complain(f"{minion}: {why}")
        arrived = all(map(_has_arrived, returned.values()))
        return EX_OK if arrived and not self.lost else EX_FAILED


def _has_arrived(said: object) -> bool:
    """Whether a minion has written all that it was sent; else it gives a sentence, or ``False``."""
    return isinstance(said, dict) and all(each is True for each in said.values())


if __name__ == "__main__":
    sys.exit(main())
