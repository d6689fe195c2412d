"""A job that goes on is watched: which state runs, and from another command from the beginning."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import time
from collections.abc import Iterator

import pytest

from cluster import OURS, Cluster, bin_dir

SLOW = "first:\n  test.nop\nslow:\n  cmd.run:\n    - name: sleep 4\n"


@pytest.fixture(scope="module")
def salted() -> Iterator[Cluster]:
    cluster = Cluster(minions=2)
    tree = cluster.root / "master" / "srv"
    tree.mkdir(parents=True)
    (tree / "slow.sls").write_text(SLOW)
    with cluster:
        yield cluster.start()


def on_terminal(cluster: Cluster, *words: str, within_s: float = 60) -> str:
    """All that a command writes to its terminal."""
    ours, theirs = pty.openpty()
    command = [str(bin_dir(OURS) / words[0]), "-c", str(cluster.master_dir), *words[1:]]
    child = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, close_fds=True,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "120", "LINES": "30"},
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    until_s = time.monotonic() + within_s
    while time.monotonic() < until_s:
        if not select.select([ours], [], [], 0.2)[0]:
            continue
        try:
            shown += os.read(ours, 65536)
        except OSError:  # the last one who wrote has gone
            break
    os.close(ours)
    child.wait(10)
    return shown.decode()


def test_a_terminal_shows_which_state_runs_on_each_minion(salted: Cluster) -> None:
    shown = on_terminal(salted, "salt", "*", "state.apply", "slow")
    for minion in ("m1", "m2"):
        assert re.search(rf"  {minion} +1/2  cmd\.run slow, 1 left", shown), shown
    # Rows are gone before the returns are printed.
    assert "\033[J" in shown


def test_nothing_is_asked_for_where_nobody_looks(salted: Cluster) -> None:
    ran = salted.salt("m1", "state.apply", "slow", "--show-jid")
    jid = ran.stdout.split()[1]
    assert "tell_states" not in salted.salt_run("jobs.list_job", jid, "--out=json").stdout


def test_a_job_is_followed_from_its_beginning(salted: Cluster) -> None:
    jid = salted.salt("*", "test.sleep", "3", "--async").stdout.split()[-1]
    ran = salted.salt_run("jobs.follow", jid)
    assert ran.exit_code == 0
    assert ran.stdout.count("    True") == 2
    # Over already: the same again, at once.
    began_s = time.monotonic()
    again = salted.salt_run("jobs.follow", jid, "--out=json")
    assert again.stdout.count("true") == 2
    assert time.monotonic() - began_s < 10


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["20200102030405000006"], "no job with this id is on record: 20200102030405000006"),
        (["nonsense"], "20 digits"),
        ([], "20 digits"),
        (["20200102030405000006", "timeout=-1"], "20 digits"),
        (["20200102030405000006", "other=1"], "20 digits"),
    ],
)
def test_what_cannot_be_followed(salted: Cluster, words: list[str], said: str) -> None:
    ran = salted.salt_run("jobs.follow", *words)
    assert ran.exit_code == 1
    assert said in ran.stderr
