"""A local user of ``publisher_acl`` at work: what he may, what he may not, and what he can read."""

from __future__ import annotations

import json
import os
import pwd
import sys
import traceback
from collections.abc import Callable, Iterator

import pytest

from cluster import Cluster
from saltlite.cli import salt

USER = "nobody"
RULES = ["test.*", {"m*": [{"cmd.run": {"args": ["id -u"]}}]}]

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user: needs root")


@pytest.fixture(scope="module")
def salted() -> Iterator[Cluster]:
    cluster = Cluster(master_options={"publisher_acl": {USER: RULES}, "log_file": "/dev/null"})
    for path in (cluster.root, cluster.root / "master", cluster.master_dir):
        path.chmod(0o755)
    (cluster.master_dir / "master").chmod(0o644)
    with cluster:
        cluster.start()
        if not os.listxattr(cluster.cache_dir):
            pytest.skip("this file system keeps no access lists")
        # The interpreter's own files may be closed to others: all is imported before.
        for words in (["m1", "test.nosuch"], ["-t", "1", "-L", "m1,gone", "test.ping"]):
            salt.main(["-c", str(cluster.master_dir), *words])
        yield cluster


def as_user(work: Callable[[], int]) -> tuple[int, str]:
    """The exit code and output of ``work``, done by another user in a child."""
    account = pwd.getpwnam(USER)
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        code = 99
        try:
            os.dup2(write, 1)
            os.dup2(write, 2)
            sys.stdout = os.fdopen(1, "w", closefd=False)
            sys.stderr = os.fdopen(2, "w", closefd=False)
            os.setgroups([])
            os.setgid(account.pw_gid)
            os.setuid(account.pw_uid)
            code = work()
        except SystemExit as error:
            code = int(error.code or 0)
        except BaseException:  # noqa: BLE001 - a child must not return into the test
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    os.close(write)
    with os.fdopen(read) as output:
        text = output.read()
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), text


def salt_as_user(salted: Cluster, *words: str) -> tuple[int, str]:
    return as_user(lambda: salt.main(["-c", str(salted.master_dir), *words]))


def test_what_the_list_allows_is_done(salted: Cluster) -> None:
    assert salt_as_user(salted, "m1", "test.ping") == (0, "m1:\n    True\n")
    assert salt_as_user(salted, "m1", "cmd.run", "id -u") == (0, "m1:\n    0\n")
    assert salt_as_user(salted, "*", "test.echo", "hi") == (0, "m1:\n    hi\n")


@pytest.mark.parametrize(
    "words",
    [
        ["m1", "cmd.run", "whoami"],
        ["m1", "cmd.run", "id -u; whoami"],
        ["m1", "cmd.run", "id -u", "runas=nobody", "cmd=whoami"],
        ["m1", "test.ping,cmd.run", ",", "whoami"],
        ["m1", "grains.items"],
    ],
)
def test_nothing_else_is(salted: Cluster, words: list[str]) -> None:
    before = salted.minions["m1"].log()
    code, text = salt_as_user(salted, *words)
    if "cmd=whoami" in words:  # both at once: the function refuses it
        assert "whoami" not in salted.minions["m1"].log()[len(before) :].replace("cmd=whoami", "")
        return
    assert (code, text) == (0, "Authorization error occurred.\n")


def test_a_minion_that_does_not_return(salted: Cluster) -> None:
    code, text = salt_as_user(salted, "-t", "1", "-L", "m1,gone", "test.ping")
    assert code == 1, text
    assert "gone:\n    Minion did not return." in text
    assert "Traceback" not in text


@pytest.mark.parametrize(
    "name", [".root_key", "jobs.sqlite", "grains/m1.p", "sessions", "../pki/master.pem"]
)
def test_the_masters_files_stay_closed(salted: Cluster, name: str) -> None:
    def read() -> int:
        try:
            os.open(salted.cache_dir / name, os.O_RDONLY)
        except PermissionError:
            return 0
        return 1

    assert (salted.cache_dir / name).exists()
    assert as_user(read) == (0, "")


def test_the_directories_show_nothing_and_the_sockets_take_nothing(salted: Cluster) -> None:
    import socket

    def look() -> int:
        for path in (salted.cache_dir, salted.sock_dir):
            try:
                os.listdir(path)
            except PermissionError:
                continue
            return 1
        for name in ("master_event_pull.ipc", "runs.ipc", "late_pull.ipc", "publish_pull.ipc",
                     "master_event_pub.ipc"):  # fmt: skip
            with socket.socket(socket.AF_UNIX) as one:
                try:
                    one.connect(str(salted.sock_dir / name))
                except PermissionError:
                    continue
                return 2
        return 0

    assert as_user(look) == (0, "")


def test_several_functions_batches_and_subsets(salted: Cluster) -> None:
    code, text = salt_as_user(salted, "--out=json", "m1", "test.ping,test.echo", ",", "hi")
    assert (code, json.loads(text)) == (0, {"m1": {"test.ping": True, "test.echo": "hi"}})
    code, text = salt_as_user(salted, "-b", "1", "*", "test.ping")
    assert code == 0, text
    assert "m1:\n    True" in text
    large = "x" * 500_000
    code, text = salt_as_user(salted, "--static", "--out=json", "*", "test.echo", large)
    assert (code, json.loads(text)) == (0, {"m1": large})


def test_a_long_job_is_waited_for(salted: Cluster) -> None:
    """Its minion says that it runs, and that answer comes by the same way."""
    code, text = salt_as_user(salted, "-t", "1", "m1", "test.sleep", "4")
    assert (code, text) == (0, "m1:\n    True\n")


def test_who_is_not_in_the_list_reaches_nothing(salted: Cluster) -> None:
    def look() -> int:
        os.stat(salted.sock_dir / "master_event_pub.ipc")
        return 1

    other = pwd.getpwnam("daemon")
    pid = os.fork()
    if not pid:
        code = 0
        try:
            os.setgroups([])
            os.setgid(other.pw_gid)
            os.setuid(other.pw_uid)
            code = look()
        except PermissionError:
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
