"""``salt --stream``: lines of a command are shown while it runs."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster import OURS, Cluster, bin_dir

WAIT_S = 60


@pytest.fixture(scope="module")
def salted() -> Iterator[Cluster]:
    with Cluster(minions=2) as cluster:
        yield cluster.start()


def start_salt(cluster: Cluster, *words: str) -> subprocess.Popen[str]:
    command = [str(bin_dir(OURS) / "salt"), "-c", str(cluster.master_dir), *words]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1
    )


def wait_for(path: Path) -> str:
    """A shell's line that waits for a file, for as long as a test may."""
    return f"for i in $(seq {WAIT_S * 10}); do [ -e {path} ] && break; sleep 0.1; done"


def test_lines_are_there_before_the_command_ends(salted: Cluster, tmp_path: Path) -> None:
    goes_on = tmp_path / "goes-on"
    command = f"echo first; echo wrong >&2; {wait_for(goes_on)}; printf last"
    with start_salt(salted, "m1", "cmd.run", command, "--stream", "-t", str(WAIT_S)) as child:
        assert child.stderr is not None and child.stdout is not None
        shown = [child.stderr.readline(), child.stderr.readline()]
        # The command waits for us: what is shown so far cannot come from its return.
        assert child.poll() is None
        goes_on.touch()
        rest, returned = child.stderr.read(), child.stdout.read()
    assert child.returncode == 0
    assert sorted(shown) == ["m1: first\n", "m1: wrong\n"]
    assert rest in ("", "m1: last\n")
    assert returned == "m1:\n    first\n    wrong\n    last\n"


def test_each_minion_has_its_own_lines(salted: Cluster) -> None:
    ran = salted.salt("*", "cmd.run_all", "printf 'a\\rb\\n'; sleep 2", "--stream", "--out=json")
    assert sorted(ran.stderr.splitlines()) == ["m1: a", "m1: b", "m2: a", "m2: b"]
    assert ran.stdout.count('"retcode": 0') == 2


def test_a_command_without_end_is_cut_and_its_return_is_whole(salted: Cluster) -> None:
    ran = salted.salt("m1", "cmd.run", "seq 20000; sleep 2", "--stream")
    lines = ran.stderr.splitlines()
    assert lines[0] == "m1: 1"
    assert "m1: ... more was printed; the return has it whole" in lines
    assert len(ran.stderr) < 100_000
    assert ran.stdout.endswith("    20000\n")


@pytest.mark.parametrize(
    "words",
    [
        ("cmd.run", "echo word; sleep 2", "hide_output=True", "--stream"),
        ("cmd.retcode", "echo word; sleep 2", "--stream"),
        ("cmd.run", "{{ salt['cmd.run']('echo word; sleep 2') and 'true' }}", "template=jinja",
         "--stream"),
        ("cmd.run", "echo word; sleep 2"),
    ],
    ids=["hidden", "retcode", "template", "unasked"],
)  # fmt: skip
def test_what_no_return_has_is_not_shown_and_nothing_unasked(
    salted: Cluster, words: tuple[str, ...]
) -> None:
    assert salted.salt("m1", *words).stderr == ""


@pytest.mark.parametrize("option", ["--async", "--batch=1"])
def test_it_goes_with_no_other_way_of_waiting(salted: Cluster, option: str) -> None:
    ran = salted.salt("m1", "cmd.run", "true", "--stream", option)
    assert ran.exit_code == 64
    assert "--stream goes neither with --async nor with batches (-b)" in ran.stderr
