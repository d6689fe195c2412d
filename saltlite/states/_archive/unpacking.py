"""The members of an archive, and how they come out of it: one way for each format."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.core.lazyregex import regex
from saltlite.errors import FunctionError
from saltlite.modules import archive as functions
from saltlite.providers import archives, command, staging
from saltlite.providers.command import CommandOptions

FORMATS = ("tar", "rar", "zip")
_QUIET = ("v", "-v", "--verbose")
_SKIPS = frozenset({"--skip-old-files"})
_KEEPS = frozenset({"-k", "--keep-old-files"})
_ELSEWHERE = frozenset({"-C", "--directory", "-P", "--absolute-names", "--keep-newer-files"})
"""What looks at, or leaves, the directory that ``tar`` runs in."""
_STRIP = regex(r"--strip(?:-components)?(?:=|\s+)(\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive:
    """An archive that is here. ``options`` are those of its program, ``None`` for none.

    ``source`` is what it is called, ``path`` where it lies. A ZIP file is unpacked ``by_program``,
    or by Python, with the ``modes`` of its members or without. Of what came out only the first
    ``trim`` names are told.
    """

    kind: str
    source: str
    path: str
    options: str | None = None
    password: str | None = None
    by_program: bool = False
    modes: bool = True
    trim: bool | int = False

    @property
    def is_shaped(self) -> bool:
        """Whether options may say what comes out, and where."""
        return bool(self.options)

    def members(self, ctx: MinionContext, list_options: str | None) -> Mapping[str, list[str]]:
        """As ``archive.list`` tells them apart, by the names with which they come out."""
        if self.kind == "tar" and self.options:
            listed = self._list_members(ctx, self.options)
            if listed is not None:
                return listed.verbose()
        stripped = _STRIP.search(self.options or "")
        found = ctx.follow(
            functions.list_, self.path,
            archive_format=self.kind, options=list_options, verbose=True,
            strip_components=int(stripped[1]) if stripped else None,
        )  # fmt: skip
        return found if isinstance(found, dict) else {}

    def _list_members(self, ctx: MinionContext, options: str) -> archives.Contents | None:
        """What ``tar`` says that it would unpack; ``None`` if it cannot."""
        letters, words = _tar_words(options)
        shown = ["--show-transformed-names", "--quoting-style=literal", "--numeric-owner"]
        argv = ["tar", f"tv{letters.replace('v', '')}", *words, *shown, "-f", self.path]
        done = ctx.host.run(argv, env={"LC_ALL": "C.UTF-8"})
        return None if done.exit_code else archives.contents_of_listing(done.stdout.splitlines())

    def existing(self) -> staging.Existing:
        """What the options want to become of files that are there.

        Raises:
            FunctionError: they want what is only possible where nobody else may write.
        """
        letters, words = _tar_words(self.options or "") if self.kind == "tar" else ("", ())
        if self.kind == "zip" and self.by_program:
            words = shlex.split(self.options or "")
            return staging.Existing(keep="-o" not in words)
        short = [word[1:] for word in words if word[:1] == "-" and word[:2] != "--"]
        wanted = {f"-{letter}" for letter in "".join([letters, *short])}
        wanted |= {word.partition("=")[0] for word in words}
        elsewhere = sorted(wanted & _ELSEWHERE)
        if elsewhere:
            raise FunctionError(
                f"{elsewhere[0]} is not possible in a directory that other users may write to"
            )
        return staging.Existing(keep=bool(wanted & _SKIPS), refuse=bool(wanted & _KEEPS))

    def unpack(self, ctx: MinionContext, into: str) -> list[str]:
        """Unpack it into a directory that is there; what came out.

        Raises:
            FunctionError: it could not be unpacked; in the program's words.
        """
        if self.kind == "tar":
            names = self._run_tar(ctx, into)
            return names if self.trim is False else names[: self.trim_count]
        if self.kind == "rar":
            return ctx.follow(functions.unrar, self.path, into, trim_output=self.trim)
        if self.by_program:
            return ctx.follow(
                functions.cmd_unzip, self.path, into, options=self.options, trim_output=self.trim,
                password=self.password,
            )  # fmt: skip
        return ctx.follow(
            functions.unzip, self.path, into, trim_output=self.trim, password=self.password,
            extract_perms=self.modes,
        )  # fmt: skip

    @property
    def trim_count(self) -> int:
        """How many names are told if the list is trimmed."""
        return archives.TRIMMED_TO if self.trim is True else int(self.trim)

    def _run_tar(self, ctx: MinionContext, into: str) -> list[str]:
        letters, words = _tar_words(self.options or "")
        argv = ["tar", f"xv{letters}", *words, "-f", self.path]
        settings = CommandOptions(cwd=into, python_shell=False, ignore_retcode=True)
        done = command.run(ctx, argv, settings)
        if done.retcode:
            raise FunctionError(done.stderr.strip() or f"tar failed with exit code {done.retcode}")
        names = done.stdout.splitlines()
        return names if self.options is not None else [name.rstrip("/") for name in names]


def _tar_words(options: str) -> tuple[str, Sequence[str]]:
    """The letters that follow those of unpacking, and the other words.

    Source: argument vectors of Salt 3006.30.
    """
    letters, words = "", [word for word in shlex.split(options) if word not in _QUIET]
    if words and not words[0].startswith("-"):
        letters = words.pop(0).replace("x", "").replace("f", "")
    return letters, words


def format_of(source: str, given: object) -> str:
    """``tar``, ``zip`` or ``rar``: what is given, else by the name of the source.

    Raises:
        FunctionError: it is none of them; in Salt's words.
    """
    kind = str(given).lower() if given else archives.format_of(source.partition("?")[0])
    if kind in FORMATS:
        return kind
    known = ", ".join(FORMATS)
    if given:
        raise FunctionError(
            f"Invalid archive_format '{given}'. Either set it to a supported value ({known}) or"
            " remove this argument and the archive format will be guessed based on file extension."
        )
    raise FunctionError(
        "Could not guess archive_format from the value of the 'source' argument. Please set this"
        f" archive_format to one of the following: {known}"
    )
