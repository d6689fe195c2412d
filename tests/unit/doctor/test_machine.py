"""The machine itself: what the kernel says of locks, ports and processes."""

import fcntl
import os
import socket
import subprocess
import sys

from saltlite.doctor.machine import Machine, find_existing


def test_who_holds_a_lock(tmp_path):
    path = tmp_path / "lock"
    with path.open("w") as file:
        assert Machine().lock_holder(str(path)) is None
        fcntl.flock(file, fcntl.LOCK_EX)
        assert Machine().lock_holder(str(path)) == os.getpid()
    assert Machine().lock_holder(str(path)) is None
    assert Machine().lock_holder("/not/there") is None


def test_ports():
    machine = Machine()
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert machine.listens(port)
        found = machine.listener(port)
        assert found is not None
        assert found.pid == os.getpid()
        assert machine.connect("127.0.0.1", port) == ""
    assert not machine.listens(port)
    assert machine.listener(port) is None
    assert machine.connect("127.0.0.1", port) == "Connection refused"


def test_names():
    assert "127.0.0.1" in Machine().resolve("127.0.0.1").addresses
    found = Machine().resolve("no-such-name.invalid")
    assert (found.addresses, bool(found.problem)) == ((), True)
    assert Machine().resolve("x" * 70 + ".invalid").problem


def test_processes():
    # Both end when there is nothing more to read.
    code = "import os, sys; os.fork() or print(flush=True); sys.stdin.read()"
    argv = [sys.executable, "-c", code]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        child.stdout.readline()
        found = {one.pid: one for one in Machine().processes_below(os.getpid())}
        assert found[child.pid].parent == os.getpid()
        assert found[child.pid].age_s < 60
        assert [one.pid for one in found.values() if one.parent == child.pid] != []
        child.stdin.close()
        child.wait()


def test_limits_and_files(tmp_path):
    machine = Machine()
    assert machine.file_limit(os.getpid()) is None or machine.file_limit(os.getpid()) > 0
    assert machine.file_limit(0) is None
    assert machine.file(str(tmp_path)).is_directory
    assert machine.file("/not/there") is None
    assert machine.list_files("/not/there") == []
    assert find_existing("/not/there") == "/"
    assert machine.is_clock_kept() in (True, False, None)
    assert machine.own_name()[0]
    assert machine.mtime_s("/not/there") is None
    assert abs(machine.mtime_s(str(tmp_path)) - machine.now_s()) < 600
