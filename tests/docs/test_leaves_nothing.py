"""``scripts/leaves-nothing``: a run that leaves a process behind fails, whatever it did to hide."""

from __future__ import annotations

import subprocess
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "scripts" / "leaves-nothing"


def run(shell_command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(SCRIPT), "sh", "-c", shell_command],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_exit_code_is_the_commands() -> None:
    assert run("exit 0").returncode == 0
    assert run("exit 3").returncode == 3


def test_what_is_left_is_named_and_ended(tmp_path: Path) -> None:
    done = run(f"env -i setsid sleep 987 & echo $! > {tmp_path}/pid; exit 0")
    assert done.returncode == 70
    assert "sleep 987" in done.stderr
    assert b"sleep" not in command_line((tmp_path / "pid").read_text().strip())


def command_line(pid: str) -> bytes:
    """Of a process; nothing if it has ended, were it between two looks."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def test_an_orphan_that_ends_in_time_is_no_fault() -> None:
    done = run("(setsid sleep 0.3 &) ; exit 0")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_signal_is_told_as_shells_do() -> None:
    assert run("kill -9 $$").returncode == 128 + 9
