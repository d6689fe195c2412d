from __future__ import annotations

import contextlib
import os
import signal
import stat
import threading
import time
from pathlib import Path

import pytest

from saltlite.errors import CommandError
from saltlite.host import Host

root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@pytest.fixture
def host():
    return Host()


def test_a_list_of_arguments_is_taken_as_it_is(host, tmp_path):
    done = host.run(["printf", "%s|", "a b", "$HOME", "`id`", "*"])
    assert (done.exit_code, done.stdout, done.stderr) == (0, "a b|$HOME|`id`|*|", "")
    assert done.pid > 0


def test_a_shell_only_where_it_is_named(host):
    assert host.run("echo $((1+1)); exit 3", shell="/bin/sh").stdout == "2\n"
    assert host.run("exit 3", shell="/bin/sh").exit_code == 3
    with pytest.raises(TypeError):
        host.run("echo a")


def test_streams(host):
    done = host.run("echo a; echo b >&2", shell="/bin/sh")
    assert (done.stdout, done.stderr) == ("a\n", "b\n")
    assert host.run("echo a; echo b >&2", shell="/bin/sh", merge_stderr=True).stdout == "a\nb\n"


def test_stdin_is_empty_unless_given(host):
    assert host.run(["cat"]).stdout == ""
    assert host.run(["cat"], stdin="x\ny").stdout == "x\ny"
    assert host.run(["cat"], stdin=b"\xff").stdout == "\ufffd"


def test_environment(host, monkeypatch):
    monkeypatch.setenv("OUTER", "1")
    assert host.run("echo $OUTER$A", shell="/bin/sh", env={"A": "2"}).stdout == "12\n"
    assert host.run(["/usr/bin/env"], env={"A": "2"}, clean_env=True).stdout == "A=2\n"


def test_directory_and_umask(host, tmp_path):
    assert host.run(["pwd"], cwd=str(tmp_path)).stdout.strip() == str(tmp_path)
    assert host.run("umask", shell="/bin/sh", umask=0o27).stdout.strip() == "0027"


def test_signals_are_negative(host):
    assert host.run("kill -9 $$", shell="/bin/sh").exit_code == -9


def test_encodings(host):
    assert host.run(["printf", "\\351"], encoding="latin-1").stdout == "é"
    with pytest.raises(LookupError):
        host.run(["true"], encoding="nosuch")


def test_what_cannot_be_started(host, tmp_path):
    with pytest.raises(CommandError) as caught:
        host.run(["/nosuch/program"])
    assert caught.value.exit_code is None
    with pytest.raises(CommandError):
        host.run(["true"], cwd=str(tmp_path / "nosuch"))
    with pytest.raises(CommandError):
        host.run(["true", "a\0b"])


def test_time_runs_out_for_children_too(host, tmp_path):
    marker = tmp_path / "still-there"
    begun_s = time.monotonic()
    done = host.run(f"(sleep 30; touch {marker}) & echo $!; wait", shell="/bin/sh", timeout_s=0.3)
    assert done.timed_out
    assert time.monotonic() - begun_s < 10
    child = int(done.stdout)
    deadline_s = time.monotonic() + 10
    while _alive(child) and time.monotonic() < deadline_s:
        time.sleep(0.01)
    assert not _alive(child)


def _alive(pid):
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


@root
def test_another_user_has_nothing_of_root(host):
    done = host.run("id -u; id -g; id -G; cat /proc/self/status", shell="/bin/sh", runas="nobody")
    uid, gid, groups, *status = done.stdout.splitlines()
    assert uid == str(host.account("nobody").uid)
    assert "0" not in groups.split()
    assert gid == str(host.account("nobody").gid)
    fields = dict(line.split(":\t") for line in status if ":\t" in line)
    assert set(fields["Uid"].split()) == {uid}  # real, effective, saved: no way back
    assert int(fields["CapEff"], 16) == 0


@root
def test_group(host):
    done = host.run(["id", "-gn"], group="daemon")
    assert done.stdout.strip() == "daemon"


def test_unknown_users_and_groups(host):
    with pytest.raises(LookupError):
        host.run(["true"], runas="no-such-user")
    with pytest.raises(LookupError):
        host.run(["true"], group="no-such-group")


def test_which(host, tmp_path, monkeypatch):
    program = tmp_path / "prog"
    program.write_text("#!/bin/sh\n")
    monkeypatch.setenv("PATH", f"{tmp_path}::/usr/bin")
    assert host.which("prog") is None
    program.chmod(0o755)
    assert host.which("prog") == str(program)
    assert host.which(str(program)) == str(program)
    assert host.which("") is host.which("a\0b") is host.which("/nosuch") is None
    assert host.which(str(tmp_path)) is None


def test_reading(host, tmp_path):
    file = tmp_path / "f"
    file.write_bytes(b"a\xffb")
    assert host.read_text(str(file)) == "a\ufffdb"
    assert host.read_bytes(str(file), limit_bytes=1) == b"a"
    assert host.read_text(str(tmp_path / "nosuch")) is None
    assert host.read_text(str(tmp_path)) is None
    assert host.read_text("a\0b") is None
    assert host.names(str(tmp_path)) == ["f"]
    assert host.names("/nosuch") == []
    assert host.exists(str(file))
    assert host.is_dir(str(tmp_path))
    assert host.read_link(str(file)) is None


def test_a_fifo_does_not_hold_a_reader(host, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert host.read_bytes(str(tmp_path / "pipe")) == b""


def test_devices_are_not_made(host, tmp_path):
    assert host.write_device("/dev/null", b"x")
    assert not host.write_device(str(tmp_path / "nosuch"), b"x")
    assert not (tmp_path / "nosuch").exists()


def test_a_private_file_is_private_and_goes_away(host):
    with host.private_file(b"#!/bin/sh\necho $1\n", suffix=".sh") as path:
        assert path.endswith(".sh")
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o700
        assert stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode) == 0o700
        assert host.run([path, "x"]).stdout == "x\n"
    assert not os.path.exists(os.path.dirname(path))


@root
def test_a_private_file_of_another_user(host):
    with host.private_file(b"#!/bin/sh\nid -un\n", owner="nobody") as path:
        assert host.run([path], runas="nobody").stdout == "nobody\n"


def test_a_private_file_goes_away_after_an_error(host):
    with pytest.raises(RuntimeError), host.private_file(b"x") as path:
        raise RuntimeError
    assert not os.path.exists(os.path.dirname(path))


def test_start_does_not_wait(host, tmp_path):
    os.mkfifo(tmp_path / "go")
    pid = host.start(f"read x < {tmp_path}/go; echo $x > {tmp_path}/out", shell="/bin/sh")
    assert pid > 0
    assert not (tmp_path / "out").exists()
    (tmp_path / "go").write_text("done\n")
    os.waitpid(pid, 0)
    assert (tmp_path / "out").read_text() == "done\n"


# --- who holds the pipes -------------------------------------------------------------------------


def descriptors() -> set[str]:
    return set(os.listdir("/proc/self/fd"))


@pytest.mark.parametrize("sees_the_end", [True, False])
def test_a_grandchild_that_holds_the_pipe_is_not_waited_for(host, monkeypatch, sees_the_end):
    if not sees_the_end:
        monkeypatch.delattr(os, "pidfd_open")
    before, threads = descriptors(), threading.active_count()
    started = time.monotonic()
    done = host.run("sleep 61 & echo $!; echo no >&2; exit 3", shell="/bin/sh")
    took = time.monotonic() - started
    os.kill(int(done.stdout), signal.SIGKILL)
    assert (done.exit_code, done.stderr, done.timed_out) == (3, "no\n", False)
    assert took < 10
    assert descriptors() == before
    assert threading.active_count() == threads


def test_what_a_grandchild_writes_soon_is_part_of_the_output(host):
    done = host.run("(sleep 0.2; echo late) & echo early", shell="/bin/sh")
    assert done.stdout == "early\nlate\n"


def test_a_grandchild_that_writes_for_ever_is_cut_off(host):
    started = time.monotonic()
    done = host.run("(while :; do echo more; done) & echo early", shell="/bin/sh", timeout_s=60)
    assert done.stdout.startswith("early\n") or "more" in done.stdout
    assert not done.timed_out
    assert time.monotonic() - started < 30


def test_much_goes_in_and_comes_out(host):
    data = os.urandom(3_000_000).hex()
    done = host.run("tee /dev/stderr", shell="/bin/sh", stdin=data)
    assert done.stdout == data
    assert done.stderr == data


def test_a_command_that_does_not_read_its_input_is_no_error(host):
    done = host.run("echo x", shell="/bin/sh", stdin="y" * 1_000_000)
    assert (done.exit_code, done.stdout) == (0, "x\n")


def test_a_command_that_closes_its_outputs_is_waited_for(host):
    started = time.monotonic()
    done = host.run("exec >&- 2>&-; sleep 0.5; exit 4", shell="/bin/sh")
    assert done.exit_code == 4
    assert time.monotonic() - started >= 0.5


def test_time_runs_out_also_where_a_grandchild_has_left_the_group(host):
    started = time.monotonic()
    done = host.run("setsid sleep 61 & echo $!; sleep 60", shell="/bin/sh", timeout_s=0.5)
    assert done.timed_out
    assert done.stdout.strip().isdecimal()
    assert time.monotonic() - started < 20
    with contextlib.suppress(ProcessLookupError):
        os.kill(int(done.stdout), signal.SIGKILL)


def test_what_a_command_prints_is_told_while_it_runs(host, tmp_path):
    goes_on, told = tmp_path / "goes-on", []

    def hear(text):
        told.append(text)
        goes_on.touch()

    script = f"printf 'a\\r\\n'; while [ ! -e {goes_on} ]; do sleep 0.01; done; printf 'b\\rc' >&2"
    done = host.run(script, shell="/bin/sh", tell=hear, timeout_s=20)
    assert not done.timed_out
    assert told == ["a\n", "b\nc"]
    assert (done.stdout, done.stderr) == ("a\r\n", "b\rc")


def test_a_character_in_two_pieces_is_told_whole(host):
    told = []
    script = "printf '\\303'; sleep 0.2; printf '\\274'; sleep 0.2; printf '\\303'"
    host.run(script, shell="/bin/sh", tell=told.append)
    assert "".join(told) == "ü\N{REPLACEMENT CHARACTER}"
