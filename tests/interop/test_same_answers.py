"""The same commands through real Salt 3006.30 and through ours: the same answers, the same files.

The commands are in tests/cases/data/differential/*.yaml, each a map of:

* ``fun``, ``args``, ``kwargs``: what to call. ``{tmp}`` is a directory of the command's own, empty
  but for ``setup``, a list of ``{mkdir: path}``, ``{write: path, text: ..., mode: '0644'}`` and
  ``{link: path, to: ...}``;
* ``differs``: why the values cannot be equal. Only their types and the names in maps are compared;
* ``except``: entries of maps that cannot be equal, at any depth, each with the reason;
* ``unordered``: why lists may be in any order;
* ``raises``: why the text of an exception differs. Then both must only fail;
* ``falsy``: why two values that both say no are not the same one;
* ``files``: why what is in ``{tmp}`` afterwards differs.

Each Salt is one process with one minion configuration; both get every command in the same order.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from repository import DATA, read_yaml

from cluster import SALT_3006, bin_dir
from saltlite.transport.addresses import MinionSockets

HERE = Path(__file__).parent
CASES = DATA / "differential"
FIELDS = {
    "fun", "args", "kwargs", "setup", "differs", "except", "unordered", "raises", "falsy", "files",
}  # fmt: skip
REASONS = FIELDS - {"fun", "args", "kwargs", "setup", "except"}
ANSWER_WITHIN_S = 60
MINION = (CASES / "minion").read_text()
PILLAR = json.loads((CASES / "pillar.json").read_text())

THROUGH_THE_COMMAND = (
    ("test.ping",),
    ("test.echo", "two words"),
    ("test.arg_clean", "1", "x", "k=[a]"),
    ("test.false",),
    ("cmd.run", "echo hi; echo ho >&2"),
    ("cmd.retcode", "exit 3"),
    ("grains.get", "os"),
    ("grains.get", "roles"),
    ("config.get", "roles"),
    ("config.get", "top:a:b"),
    ("match.compound", "G@os:Debian and web*"),
    ("sys.argspec", "test.echo"),
)


def _commands() -> Iterator[Any]:
    for path in sorted(CASES.glob("*.yaml")):
        for number, case in enumerate(read_yaml(path) or []):
            name = f"{path.stem}-{number}-{case.get('fun')}"
            yield pytest.param(case, id=name)


COMMANDS = list(_commands())
NUMBERS = {id(param.values[0]): number for number, param in enumerate(COMMANDS)}


class Salt:
    """One Salt that answers calls, and where its files are."""

    def __init__(self, name: str, python: str, script: str, folder: Path) -> None:
        self.folder = folder
        self.tmp = folder / "tmp"
        self.tmp.mkdir(parents=True)
        self._words = ""
        self._bus = _deaf_bus(folder / "s")
        self._configure()
        with (folder / "stderr").open("wb") as stderr:
            self._process = subprocess.Popen(
                [python, str(HERE / script), str(folder)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr,
                env=self.environ(), cwd="/",
            )  # fmt: skip
        self.name = name

    def _configure(self) -> None:
        pillar = self.folder / "pillar"
        pillar.mkdir()
        (self.folder / "states").mkdir()
        (pillar / "top.sls").write_text("base: {'*': [data]}\n")
        (pillar / "data.sls").write_text(json.dumps(PILLAR))
        (self.folder / "pillar.json").write_text(json.dumps(PILLAR))
        (self.folder / "minion").write_text(
            f"{MINION}\nroot_dir: {self.folder}\nsock_dir: {self.folder}/s\n"
            f"file_roots: {{base: [{self.folder}/states]}}\npillar_roots: {{base: [{pillar}]}}\n"
        )
        files = CASES / "states"
        if files.is_dir():
            shutil.copytree(files, self.folder / "states", symlinks=True, dirs_exist_ok=True)

    def environ(self) -> dict[str, str]:
        path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        home = {
            "PYTHONHASHSEED": "0",
            "HOME": str(self.folder),
            "LANG": "C.UTF-8",
            "SHELL": "/bin/bash",
        }
        return {"PATH": path, "PYTHONWARNINGS": "ignore", "PYTHONPATH": _source(), **home}

    def ask(self, case: dict[str, Any], number: int) -> None:
        """Send one command; the answer is there with :meth:`answer`."""
        tmp = self.tmp / str(number)
        tmp.mkdir()
        self._set_up(case.get("setup") or [], tmp)
        request = {
            "fun": case["fun"], "args": case.get("args") or [], "kwargs": case.get("kwargs") or {}
        }  # fmt: skip
        self._words = json.dumps(request).replace("{tmp}", str(tmp))
        assert self._process.stdin is not None
        self._process.stdin.write(self._words.encode() + b"\n")
        self._process.stdin.flush()

    def answer(self, number: int) -> tuple[dict[str, Any], dict[str, Any]]:
        """The answer, and the tree below ``{tmp}`` after it; both without our own paths."""
        tmp = self.tmp / str(number)
        text = self._reply().replace(str(tmp), "{tmp}").replace(str(self.folder), "{root}")
        return json.loads(text), _tree(tmp, self.folder)

    def _set_up(self, steps: list[dict[str, Any]], tmp: Path) -> None:
        for step in steps:
            kind = next(key for key in ("mkdir", "write", "link") if key in step)
            path = Path(step[kind].replace("{tmp}", str(tmp)))
            if kind == "mkdir":
                path.mkdir(parents=True)
            elif kind == "write":
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(step.get("text", "").replace("{tmp}", str(tmp)))
            else:
                path.symlink_to(step["to"].replace("{tmp}", str(tmp)))
            if "mode" in step:
                path.chmod(int(str(step["mode"]), 8))

    def _reply(self) -> str:
        assert self._process.stdout is not None
        readable, _, _ = select.select([self._process.stdout], [], [], ANSWER_WITHIN_S)
        line = self._process.stdout.readline().decode() if readable else ""
        if not line:
            said = (self.folder / "stderr").read_text()[-2000:]
            raise AssertionError(f"{self.name} gave no answer to {self._words}:\n{said}")
        return line

    def close(self) -> None:
        self._bus.close()
        self._process.stdin.close()  # type: ignore[union-attr]
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(10)


def _deaf_bus(folder: Path) -> socket.socket:
    """A socket where the minion's event bus would be: without one, real Salt waits a second."""
    folder.mkdir(mode=0o700)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(MinionSockets(folder, "web1").event_pull))
    listener.listen(4096)
    return listener


def _source() -> str:
    return str(HERE.parents[1])


def _tree(tmp: Path, root: Path) -> dict[str, Any]:
    """Every file below: kind, mode, and content or target."""
    found: dict[str, Any] = {}
    for path in sorted(tmp.rglob("*")):
        mode = oct(path.lstat().st_mode)
        name = str(path.relative_to(tmp))
        if path.is_symlink():
            found[name] = [mode, os.readlink(path).replace(str(tmp), "{tmp}")]
        elif path.is_file():
            text = path.read_bytes().decode("utf-8", "backslashreplace")
            found[name] = [mode, text.replace(str(tmp), "{tmp}").replace(str(root), "{root}")]
        else:
            found[name] = [mode, None]
    return found


@pytest.fixture(scope="module")
def salts() -> Iterator[tuple[Salt, Salt]]:
    """Ours and the real one; their directories' names have the same length, and are short."""
    with tempfile.TemporaryDirectory(prefix="same", dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        ours = Salt("ours", sys.executable, "our_caller.py", folder / "ours")
        real = Salt("real", str(bin_dir(SALT_3006) / "python"), "real_caller.py", folder / "real")
        yield ours, real
        ours.close()
        real.close()


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="the commands look at what root may see")
@pytest.mark.parametrize("case", COMMANDS)
def test_as_real_salt(case: dict[str, Any], salts: tuple[Salt, Salt]) -> None:
    number = NUMBERS[id(case)]
    for salt in salts:
        salt.ask(case, number)
    ours, real = (salt.answer(number) for salt in salts)
    _compare(case, ours[0], real[0])
    if "files" not in case:
        assert ours[1] == real[1]


def _compare(case: dict[str, Any], ours: dict[str, Any], real: dict[str, Any]) -> None:
    assert ours["ok"] == real["ok"], (ours, real)
    if not real["ok"]:
        if "raises" not in case:
            assert ours["message"] == real["message"]
        return
    left, right = (_without(side["return"], case.get("except") or {}) for side in (ours, real))
    if "falsy" in case:
        assert not left
        assert not right
        return
    if "differs" in case:
        left, right = _shape(left), _shape(right)
    if "unordered" in case:
        left, right = _sorted(left), _sorted(right)
    assert left == right


def _without(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _without(one, names) for key, one in value.items() if key not in names}
    return [_without(one, names) for one in value] if isinstance(value, list) else value


def _shape(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _shape(one) for key, one in value.items()}
    return type(value).__name__


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(one) for key, one in value.items()}
    return sorted(map(_sorted, value), key=json.dumps) if isinstance(value, list) else value


# --- the data ------------------------------------------------------------------------------------


def test_there_are_enough_commands() -> None:
    assert len(COMMANDS) >= 300


@pytest.mark.parametrize("path", sorted(CASES.glob("*.yaml")), ids=lambda path: path.stem)
def test_the_data_says_nothing_that_is_not_read(path: Path) -> None:
    for case in read_yaml(path) or []:
        assert set(case) <= FIELDS, case
        reasons = [
            case[name]
            for name in ("differs", "unordered", "raises", "falsy", "files")
            if name in case
        ]
        reasons += list((case.get("except") or {}).values())
        assert all(isinstance(reason, str) and len(reason) > 3 for reason in reasons), case


# --- the command itself --------------------------------------------------------------------------


@pytest.mark.parametrize("words", THROUGH_THE_COMMAND, ids=lambda words: words[0])
def test_the_command_says_what_the_caller_says(
    words: tuple[str, ...], salts: tuple[Salt, Salt]
) -> None:
    ours, real = salts
    mine = _salt_call([sys.executable, "-m", "saltlite.cli.salt_call"], ours, words)
    theirs = _salt_call([str(bin_dir(SALT_3006) / "salt-call")], real, words)
    assert mine == theirs


def _salt_call(argv: list[str], salt: Salt, words: tuple[str, ...]) -> Any:
    done = subprocess.run(
        [*argv, "-c", str(salt.folder), "--local", "--out=json", "--log-level=quiet", *words],
        capture_output=True, text=True, env=salt.environ(), cwd="/", check=False, timeout=60,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    return done.returncode, json.loads(done.stdout.replace(str(salt.folder), "{root}"))
