"""Small machines of other distributions: fake package and service managers over one stock.

A :class:`SmallMachine` is a host whose commands are the functions of ``fake_packages`` and
``fake_services``; files are those of the namespace it is in. A command gives ``(exit code, stdout,
stderr)`` in the words of the real program. What a program keeps in files of its own (locks, links
of run levels, repositories) the fake one keeps there too; everything else is in the :class:`Stock`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from saltlite.errors import CommandError
from saltlite.host import Completed, Host

Answer = tuple[int, str, str]
"""Exit code, standard output, standard error."""

OFFERED = {
    "foo": ["1.0"],
    "old": ["1.1", "1.0"],
    "held": ["1.2", "1.0"],
    "new": ["2.0", "1.9"],
    "other": ["0.5"],
    "gone": [],
}
"""The versions in the repositories, newest first; ``gone`` is installed and in none."""

INSTALLED = {"foo": "1.0", "old": "1.0", "held": "1.0", "gone": "0.9"}
FILE = "/mnt/src_1.5.package"
"""A package file that is on the machine, with version 1.5 of ``src``."""

SERVICES = {"web": True, "idle": False, "on": True, "offen": False, "brk": False, "sham": False}
"""Whether each service runs. ``brk`` cannot be started, ``sham`` ends at once."""


@dataclass
class Stock:
    """Packages and services; ``release`` is what versions end with here (``-1``, ``-r0``)."""

    release: str
    installed: dict[str, str] = field(default_factory=dict)
    offered: dict[str, list[str]] = field(default_factory=dict)
    unpacked: list[str] = field(default_factory=list)
    """What was put in place, also of what was there."""
    altered: list[str] = field(default_factory=lambda: ["foo"])
    """The packages with a file that is not as it was."""
    running: dict[str, bool] = field(default_factory=dict)
    done: list[str] = field(default_factory=list)
    """The commands that changed something."""
    balks: int = 0
    """How often a program did not do what it was told, whatever its exit code said."""

    def __post_init__(self) -> None:
        self.installed = {name: each + self.release for name, each in INSTALLED.items()}
        self.offered = {
            name: [each + self.release for each in versions] for name, versions in OFFERED.items()
        }
        self.running = dict(SERVICES)

    def put(self, coming: Mapping[str, str]) -> None:
        """Install these versions."""
        self.installed.update(coming)
        self.altered = [name for name in self.altered if name not in coming]
        self.unpacked += [f"{name}={version}" for name, version in coming.items()]

    def got(self, coming: Mapping[str, str], cache: str) -> None:
        """Put the files of these versions into a cache."""
        for name, version in coming.items():
            made(f"{cache}/{name}-{version}.x86_64.rpm")

    def newest(self, name: str) -> str | None:
        """The newest version in the repositories."""
        return next(iter(self.offered.get(name, ())), None)

    def newer(self, name: str) -> str | None:
        """The newest version if it is newer than the installed one."""
        there, versions = self.installed.get(name), self.offered.get(name, [])
        if there is None or not versions:
            return None
        newer = versions[: versions.index(there)] if there in versions else versions
        return newer[0] if newer else None

    def of_file(self, path: str) -> tuple[str, str] | None:
        """Name and version of a package file."""
        name, _, version = Path(path).name.removesuffix(".x86_64.rpm").partition("-")
        if path.endswith(".rpm") and Path(path).exists():
            return name, version
        return ("src", f"1.5{self.release}") if path == FILE else None

    def act(self, name: str, action: str) -> int:
        """What a service's script answers to ``start``, ``stop``, ``status`` and so on."""
        if action == "status":
            return 0 if self.running[name] else 3
        if action == "stop":
            self.running[name] = False
        elif name == "brk":
            return 1
        elif action in ("start", "restart"):
            self.running[name] = name != "sham"
            self.balks += name == "sham"
        return 0


Program = Callable[[Stock, Sequence[str]], Answer]


class SmallMachine(Host):
    """A host with some programs and no others."""

    def __init__(self, programs: Mapping[str, Program], release: str) -> None:
        self.programs = programs
        self.release = release
        self.stock = Stock(release)
        self.balks = 0

    def refusals(self) -> int:
        """How often a program did not do what it was told."""
        return self.balks + self.stock.balks

    def run(self, command: Sequence[str] | str, **how: Any) -> Completed:
        words = [str(word) for word in command]
        if words[0] not in self.programs:
            raise CommandError(words, None, f"{words[0]}: not found")
        before = copy.deepcopy(self.stock)
        code, out, err = self.programs[words[0]](self.stock, words[1:])
        before.balks = self.stock.balks
        self.balks += code != 0
        if before != self.stock:
            self.stock.done.append(" ".join(words))
        return Completed(pid=1, exit_code=code, stdout=out, stderr=err)

    def which(self, name: str) -> str | None:
        return f"/usr/bin/{name}" if name in self.programs else None

    def look(self) -> dict[str, Any]:
        """What a state may change besides files."""
        facts = copy.deepcopy(vars(self.stock))
        del facts["balks"]
        return {f"stock {name}": each for name, each in facts.items()}

    def reset(self) -> None:
        """As it was."""
        self.stock = Stock(self.release)


def made(path: str, text: str = "", mode: int = 0o644) -> Path:
    """A file with its directories."""
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(mode)
    return file


def said(*lines: str) -> str:
    """Lines as a program writes them."""
    return "".join(f"{line}\n" for line in lines)


def plain(words: Sequence[str]) -> list[str]:
    """Words that are no options."""
    return [word for word in words if not word.startswith("-")]
