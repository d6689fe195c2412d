"""What a command finds when it starts: modules that lie about, closed streams, no directory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from saltlite.cli.process_start import PACKAGE_PARENT, build_trusted_path

BIN = Path(sys.executable).parent
READING = {
    "salt": ["x", "test.ping"],
    "salt-call": ["--local", "test.ping"],
    "salt-key": ["-L"],
    "salt-run": ["test.arg", "a"],
    "salt-cp": ["x", "/etc/hostname", "/x"],
}
DAEMONS = ["salt-master", "salt-minion"]
EXIT_CODES = {"salt": 69, "salt-cp": 69}
"""Of those that find no master; the others' is 0."""


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    made = tmp_path / "conf"
    made.mkdir()
    (made / "master").write_text(f"root_dir: {tmp_path}\n")
    (made / "minion").write_text(f"root_dir: {tmp_path}\nid: w\nfile_client: local\n")
    return made


def run(
    command: str, conf: Path, *, redirect: str = "", first: str = "", **more: str
) -> subprocess.CompletedProcess[str]:
    words = ["-c", str(conf), *READING.get(command, [])]
    script = f'{first}exec "$0" "$@" {redirect}'
    return subprocess.run(
        ["sh", "-c", script, str(BIN / command), *words],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=more.pop("cwd", None),
        env={**os.environ, **more},
    )


# --- modules -------------------------------------------------------------------------------------

EVIL = "import os\nos.write(2, b'HIJACKED')\nraise ImportError('no')\n"


def plant(directory: Path) -> Path:
    directory.mkdir(exist_ok=True)
    for name in ("yaml", "msgpack", "zmq", "optparse", "socket", "jinja2"):
        (directory / f"{name}.py").write_text(EVIL)
    return directory


@pytest.mark.parametrize("command", sorted(READING))
@pytest.mark.parametrize("python_path", ["", ":", ".", "{}"])
def test_modules_that_lie_about_are_not_imported(
    command: str, python_path: str, tmp_path: Path, conf: Path
) -> None:
    planted = plant(tmp_path / "planted")
    done = run(command, conf, cwd=str(planted), PYTHONPATH=python_path.format(planted))
    assert "HIJACKED" not in done.stderr
    assert done.returncode == EXIT_CODES.get(command, 0)


@pytest.mark.parametrize("command", DAEMONS)
def test_a_daemon_does_not_import_them_either(command: str, tmp_path: Path, conf: Path) -> None:
    planted = plant(tmp_path / "planted")
    (conf / command.removeprefix("salt-")).write_text("keysize: no\n")  # read, and refused
    done = run(command, conf, cwd=str(planted), PYTHONPATH=f"{planted}:")
    assert "HIJACKED" not in done.stderr
    assert done.returncode == 1


def test_a_module_is_run_without_the_working_directory(tmp_path: Path, conf: Path) -> None:
    planted = plant(tmp_path / "planted")
    done = subprocess.run(
        [sys.executable, "-m", "saltlite.cli.salt_key", "-c", str(conf), "-L"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=planted,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_what_the_user_adds_comes_last_and_only_from_safe_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    mine, open_to_all = tmp_path / "mine", tmp_path / "open"
    mine.mkdir()
    open_to_all.mkdir()
    open_to_all.chmod(0o1777)
    given = [str(mine), str(open_to_all), "/nowhere", "", "lib"]
    monkeypatch.chdir(tmp_path)
    path = [
        "/bin",
        *given[:3],
        str(tmp_path),
        str(tmp_path / "lib"),
        "/usr/lib/python3",
        "/site-packages",
    ]
    assert build_trusted_path(path, "/bin", given) == [
        "/usr/lib/python3",
        "/site-packages",
        str(mine),
    ]
    said = capsys.readouterr().err
    assert f"no modules are loaded from {open_to_all}: everybody may write there" in said
    assert "/nowhere" in said


def test_a_source_tree_stays_where_it_is() -> None:
    path = [PACKAGE_PARENT, "/lib"]
    assert build_trusted_path(path, PACKAGE_PARENT, []) == path
    assert build_trusted_path(path, "/bin", [PACKAGE_PARENT]) == path


# --- streams and the working directory -----------------------------------------------------------


@pytest.mark.parametrize("command", sorted(READING))
@pytest.mark.parametrize("redirect", [">&-", ">/dev/full"])
def test_output_that_cannot_be_written_is_one_line(command: str, redirect: str, conf: Path) -> None:
    done = run(command, conf, redirect=redirect)
    assert done.returncode == 1
    assert done.stderr.startswith(f"{command}: the output cannot be written: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("command", sorted(READING))
@pytest.mark.parametrize("redirect", ["2>&-", "<&-", "<&- 2>&-"])
def test_other_streams_that_are_closed_do_not_matter(
    command: str, redirect: str, conf: Path
) -> None:
    done = run(command, conf, redirect=redirect)
    assert done.stdout == run(command, conf).stdout
    assert done.returncode == EXIT_CODES.get(command, 0)


@pytest.mark.parametrize("command", [*DAEMONS, *sorted(READING)])
def test_the_version_to_nobody_has_no_traceback(command: str) -> None:
    done = subprocess.run(
        ["sh", "-c", f"{BIN}/{command} --version >&-"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") <= 1


@pytest.mark.parametrize("command", sorted(READING))
def test_a_working_directory_that_is_gone_does_not_matter(
    command: str, tmp_path: Path, conf: Path
) -> None:
    (tmp_path / "gone").mkdir()
    done = run(command, conf, first="rmdir ../gone; ", cwd=str(tmp_path / "gone"))
    assert "Traceback" not in done.stderr
    assert done.returncode == EXIT_CODES.get(command, 0)


@pytest.mark.parametrize("command", [*DAEMONS, *sorted(READING)])
def test_a_path_relative_to_no_directory_is_one_line(command: str, tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    done = run(command, Path("conf"), first="rmdir ../gone; ", cwd=str(tmp_path / "gone"))
    lines = [line for line in done.stderr.splitlines() if not line.startswith("WARNING: CONFIG")]
    assert len(lines) == 1
    assert "a working directory that is not there" in lines[0]
    assert done.returncode == 1
