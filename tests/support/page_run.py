"""Do what a page tells its reader: save files, type commands, and compare what is seen.

A page's ``console`` blocks have commands behind ``$`` with what they print below. A line ``…``
stands for any number of lines. Other blocks that follow the words "save this as `PATH`" (or "save
it once more") are files. What differs from run to run is written as in the page:
times, the order in which minions answer, where the checkout is.

    python tests/support/page_run.py PAGE CHECKOUT    write what is seen into the page
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SAVED_AS = re.compile(r"[Ss]ave this as\s`([^`]+)`")
SAVED_AGAIN = re.compile(r"[Ss]ave it once more")
ANYTHING = "…"
HOME = "/home/you/saltlite"
"""The checkout as pages call it."""

MOMENTS = (
    (re.compile(r"(Started: )\d\d:\d\d:\d\d\.\d+"), r"\g<1>09:30:00.000000"),
    (re.compile(r"(Duration:|Total run time:) +[\d.]+ m?s"), r"\g<1> 12.000 ms"),
    (re.compile(r"\b20\d{18}\b"), "20260102093000000000"),
    (re.compile(r"(pid:\s+)\d+"), r"\g<1>1234"),
)
OF_A_MINION = re.compile(r"^(?=(?:web|db)\d:$)", re.MULTILINE)
AGAIN_S = 30
"""How long a command is typed again that reads what another process is about to write."""


@dataclass(frozen=True)
class Save:
    """A file that the reader makes; its path is below the checkout."""

    path: str
    content: str


@dataclass(frozen=True)
class Type:
    """A command, what is seen, and where in the page that is: the offsets of its lines."""

    command: str
    seen: str
    place: tuple[int, int]


def steps(page: str) -> Iterator[Save | Type]:
    """What a reader does, in order."""
    path, before = "", 0
    for block in BLOCK.finditer(page):
        prose, before = page[before : block.start()], block.end()
        if block[1] == "console":
            yield from typed(block[2], block.start(2))
            continue
        named = SAVED_AS.findall(prose)
        if named:
            path = named[-1]
        if named or SAVED_AGAIN.search(prose):
            yield Save(path, block[2])


def typed(block: str, offset: int) -> Iterator[Type]:
    """The commands of a block that begins there."""
    for part in re.finditer(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
        yield Type(part[1], part[2], (offset + part.start(2), offset + part.end(2)))


def settled(text: str, checkout: Path) -> str:
    """What was seen, without what differs from run to run."""
    text = text.replace(str(checkout), HOME)
    for pattern, instead in MOMENTS:
        text = pattern.sub(instead, text)
    text = "".join(f"{line.rstrip()}\n" for line in text.splitlines())
    return "".join(sorted_by_minion(text))


def sorted_by_minion(text: str) -> list[str]:
    """Minions answer in any order; pages have them by name."""
    parts = OF_A_MINION.split(text)
    return [parts[0], *sorted(parts[1:])]


def fits(seen: str, expected: str) -> bool:
    """Whether what was seen is what the page has."""
    parts = [re.escape(part) for part in expected.split(f"{ANYTHING}\n")]
    return re.fullmatch(r"(?:.*\n)*".join(parts), seen) is not None


class Shell:
    """The reader's shell, in a checkout."""

    END = "---- that was it:"

    def __init__(self, checkout: Path, environment: Mapping[str, str] | None = None) -> None:
        self._checkout = checkout
        self._process = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            cwd=checkout,
            env={**(environment or os.environ), "COLUMNS": "100"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def close(self) -> None:
        self._process.communicate(timeout=30)

    def type(self, command: str) -> str:
        """What a command prints."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{command} </dev/null\nprintf '\\n%s\\n' '{self.END}'\n")
        self._process.stdin.flush()
        lines = []
        for line in self._process.stdout:
            if line.rstrip("\n") == self.END:
                break
            lines.append(line)
        text = "".join(lines)
        return settled(text.removesuffix("\n"), self._checkout)

    def do(self, step: Save | Type) -> str:
        """Do a step; what is seen of a command, in the end."""
        if isinstance(step, Save):
            path = self._checkout / step.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(step.content)
            return ""
        seen = self.type(step.command)
        deadline = time.monotonic() + AGAIN_S
        while (
            step.command.startswith("cat ")
            and not fits(seen, step.seen)
            and time.monotonic() < deadline
        ):
            time.sleep(0.2)  # as a reader would: nobody tells a shell that a file is there
            seen = self.type(step.command)
        return seen


def rewrite(page: Path, checkout: Path) -> None:
    """Write what is seen into the page, but where it has ``…``."""
    text = page.read_text()
    shell = Shell(checkout)
    parts, done = [], 0
    for step in steps(text):
        if isinstance(step, Save):
            shell.do(step)
            continue
        # what is on the page may be out of date: one look, a little later if it is a file's
        time.sleep(3 if step.command.startswith("cat ") else 0)
        seen = shell.type(step.command)
        print(f"$ {step.command}\n{seen}", flush=True)
        first, last = step.place
        parts += [text[done:first], step.seen if ANYTHING in step.seen else seen]
        done = last
    shell.close()
    page.write_text("".join([*parts, text[done:]]))


if __name__ == "__main__":
    rewrite(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve())
