"""Daemons and commands that are started where somebody else has prepared something.

Source: docs/security.md#secrets-at-rest, #rules; CVE-2021-22004, CVE-2020-28243.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cluster import OURS, Cluster, bin_dir, eventually

NOBODY = pwd.getpwnam("nobody")
PROGRAMS = ("salt-master", "salt-minion")
STARTS_S = 30

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="gives files away")


@pytest.fixture
def place() -> Iterator[Cluster]:
    """Configurations, and nothing that runs."""
    with Cluster(minions=1) as one:
        for folder in (one.master_dir / "master.d", one.minion_dir("m1") / "minion.d"):
            folder.mkdir()
            (folder / "a.conf").write_text("timeout: 4\n")
        yield one


def config_of(place: Cluster, program: str) -> Path:
    return place.master_dir if program == "salt-master" else place.minion_dir("m1")


def start(place: Cluster, program: str, **options: Any) -> subprocess.Popen[str]:
    argv = [str(bin_dir(OURS) / program), "-c", str(config_of(place, program))]
    pipe = subprocess.PIPE
    given = {"stdout": pipe, "stderr": pipe, "env": place._environment(), **options}
    return subprocess.Popen(argv, stdin=subprocess.DEVNULL, text=True, **given)


def refusal(place: Cluster, program: str) -> list[str]:
    """What a daemon says that does not start."""
    process = start(place, program)
    try:
        out, err = process.communicate(timeout=STARTS_S)
    finally:
        process.kill()
    assert process.returncode == 1
    assert not out
    return err.splitlines()


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("where", ["{0}", "{0}.d/a.conf", "{0}.d", "."])
@pytest.mark.parametrize("how", ["all", pytest.param("stranger", marks=as_root)])
def test_a_configuration_of_somebody_else_starts_nothing(
    place: Cluster, program: str, where: str, how: str
) -> None:
    path = config_of(place, program) / where.format(program.removeprefix("salt-"))
    if how == "all":
        path.chmod(path.stat().st_mode | 0o002)
    else:
        os.chown(path, NOBODY.pw_uid, -1)
    (line,) = refusal(place, program)
    assert str(path) in line
    assert ("everybody may write" if how == "all" else "belongs to user nobody") in line
    assert not place.pki_dir.exists()


def wait_for_log(place: Cluster, program: str) -> None:
    """Until the daemon has said something there: by then it has imported most of what it needs."""
    log = place.root / ("master" if program == "salt-master" else "m1") / "log"
    eventually(lambda: log.exists() and log.stat().st_size, within_s=STARTS_S, what="a log")


TRAP = "import pathlib\npathlib.Path({path!r}).touch()\nraise SystemExit(9)\n"
MODULES = ("yaml", "msgpack", "zmq", "logging", "json", "tornado", "jinja2")


@pytest.mark.parametrize("program", [*PROGRAMS, "salt", "salt-call", "salt-key", "salt-run"])
@pytest.mark.parametrize("road", ["PYTHONPATH", "cwd"])
def test_no_module_of_the_place_is_imported(
    place: Cluster, tmp_path: Path, program: str, road: str
) -> None:
    marker = tmp_path / "imported"
    for name in MODULES:
        (tmp_path / f"{name}.py").write_text(TRAP.format(path=str(marker)))
    if road == "PYTHONPATH" and program in PROGRAMS:
        options: dict[str, Any] = {"env": {**place._environment(), "PYTHONPATH": str(tmp_path)}}
    else:  # who sets it for a command of his own may
        options = {"cwd": tmp_path, "env": place._environment()}
    if program in PROGRAMS:
        process = start(place, program, **options)
        try:
            wait_for_log(place, program)
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=STARTS_S)
    else:
        config = config_of(place, "salt-minion" if program == "salt-call" else "salt-master")
        argv = [str(bin_dir(OURS) / program), "-c", str(config), "--version"]
        subprocess.run(argv, check=True, capture_output=True, timeout=STARTS_S, **options)
    assert not marker.exists()


@pytest.mark.parametrize("program", [*PROGRAMS, "salt-call"])
def test_a_directory_that_is_gone(place: Cluster, tmp_path: Path, program: str) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    config = config_of(place, "salt-master" if program == "salt-master" else "salt-minion")
    argv = f"cd {gone} && rmdir {gone} && exec {bin_dir(OURS) / program} -c {config}"
    if program == "salt-call":
        argv += " --local test.ping"
    process = subprocess.Popen(
        ["sh", "-c", argv], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, env=place._environment(),
    )  # fmt: skip
    if program in PROGRAMS:
        wait_for_log(place, program)
        process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=STARTS_S)
    assert "Traceback" not in out + err
    assert "ERROR" not in err
    if program == "salt-call":
        assert "True" in out


COMMANDS = [("salt-master", "--version"), ("salt-minion", "--help"), ("salt-api", "--help"),
            ("salt-minion", "--versions-report"), ("salt", "--help"), ("salt-run", "doc.runner"),
            ("salt-call", "--local", "sys.doc")]  # fmt: skip


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("how", ["closed", "full", "left"])
def test_a_standard_output_that_takes_nothing(
    place: Cluster, words: tuple[str, ...], how: str
) -> None:
    program, *more = words
    config = config_of(place, "salt-minion" if program == "salt-call" else "salt-master")
    to = {"closed": ">&-", "full": "> /dev/full", "left": "| true"}[how]
    script = f'exec 3>&2; "$0" "$@" {to}'
    argv = ["sh", "-c", script, str(bin_dir(OURS) / program), "-c", str(config), *more]
    done = subprocess.run(
        argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
        env=place._environment(),
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) <= 1, done.stderr


@pytest.mark.parametrize("streams", [">&-", "2>&-", "<&- >&- 2>&-", "> /dev/full 2> /dev/full"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_daemon_runs_without_its_streams(place: Cluster, program: str, streams: str) -> None:
    argv = f"exec {bin_dir(OURS) / program} -c {config_of(place, program)} -l info {streams}"
    errors = place.root / "errors"
    with errors.open("w") as file:
        process = subprocess.Popen(
            ["sh", "-c", argv], stdin=subprocess.DEVNULL, stdout=file, stderr=file,
            env=place._environment(),
        )  # fmt: skip
    log = place.root / ("master" if program == "salt-master" else "m1") / "log"
    begun = "is ready on" if program == "salt-master" else "\n"
    try:
        eventually(lambda: log.exists() and begun in log.read_text(), within_s=STARTS_S, what=begun)
        process.send_signal(signal.SIGTERM)
        assert process.wait(STARTS_S) == 0
    finally:
        process.kill()
    assert "Traceback" not in errors.read_text() + log.read_text()


@pytest.mark.parametrize("number", ["\u0662", "'\u0662'", "'\uff12'", "'2\u00b2'"])
def test_numbers_of_a_configuration_are_of_ascii(place: Cluster, number: str) -> None:
    """What only looks like a number is none: a line, and the default."""
    path = place.master_dir / "master"
    path.write_text(path.read_text() + f"worker_threads: {number}\n")
    process = start(place, "salt-master", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    log = place.root / "master" / "log"
    try:
        eventually(lambda: log.exists() and "is ready on" in log.read_text(), what="ready")
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(STARTS_S)
    text = log.read_text()
    (line,) = [row for row in text.splitlines() if "worker_threads" in row]
    assert f"{path}:" in line and "allowed: whole number" in line
    assert " starts with 5 workers" in text
    ran = place.salt("-t", number.strip("'"), "*", "test.ping")
    assert (ran.exit_code, ran.stdout) == (64, "")
    assert "option -t: invalid integer value" in ran.stderr


@as_root
def test_a_saltfile_of_a_stranger_is_not_read(place: Cluster, tmp_path: Path) -> None:
    """With a warning; root's own in the same place counts."""
    other = tmp_path / "other"
    shutil.copytree(place.minion_dir("m1"), other)
    path = tmp_path / "Saltfile"
    path.write_text(f"salt-call:\n  config_dir: {other}\n  id: stranger\n  output: json\n")
    argv = [str(bin_dir(OURS) / "salt-call"), "--local", "test.ping"]

    def run() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            argv, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=60, check=False, env=place._environment(),
        )  # fmt: skip

    assert '"local": true' in run().stdout
    os.chown(path, NOBODY.pw_uid, -1)
    done = run()
    assert '"local": true' not in done.stdout
    assert str(path) in done.stderr


@as_root
@pytest.mark.parametrize("name", ["a" * 64, "localhost", ""])
def test_a_machine_with_such_a_name(place: Cluster, name: str) -> None:
    config = place.minion_dir("m1")
    text = (config / "minion").read_text()
    (config / "minion").write_text(text.replace("id: m1\n", ""))
    ask = f"{bin_dir(OURS) / 'salt-call'} -c {config} --local grains.get id"
    hosts = place.root / "hosts"
    hosts.write_text("127.0.0.1 localhost\n")
    script = (
        f"mount --bind {hosts} /etc/hosts; mount --bind /dev/null /etc/hostname;"
        f"{sys.executable} -c 'import socket; socket.sethostname(\"{name}\")'; exec {ask}"
    )
    done = subprocess.run(
        ["unshare", "-u", "-m", "-n", "sh", "-c", script], stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=60, check=False, env=place._environment(),
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    told = [line for line in done.stderr.splitlines() if line]
    if len(name) == 64:
        assert name in done.stdout
    else:
        assert "localhost" in done.stdout
        assert len(told) == 1 and "localhost" in told[0], done.stderr
