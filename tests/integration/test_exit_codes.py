"""The table of exit codes in docs/command-line.md: each of its cells is a command that was run.

One minion runs, ``web1``; the key of another, ``web2``, is accepted, and nobody answers to it.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster import OURS, Cluster

PAGE = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text()
# By tests/fault/test_master_stops.py and tests/attack/test_full_login_line.py.
PROVED_ELSEWHERE = {
    "the master could not publish the job: a full disk, a jid that is taken",
    "too many logins wait to be checked",
}
NO_MASTER = "no master runs"
UNREADABLE = "a configuration that cannot be read"
FAILING = "state.single test.fail_without_changes x"
LOGIN = "-a pam --username=nosuch --password=x"
HERE = str(Path(__file__))

# Words are parted at spaces; DEST is a file that may be written.
COMMANDS = {
    "all is well; a function gave `False`": {
        "salt": "web1 test.false",
        "salt-call": "test.false",
        "salt-run": "test.arg x",
        "salt-key": "-L",
        "salt-cp": f"web1 {HERE} DEST",
    },
    "a function failed (`retcode` is not 0)": {
        "salt": "web1 test.exception x",
        "salt-call": "test.exception x",
        "salt-run": "jobs.trace 20200102030405000006",
        "salt-cp": f"web1 {HERE} {HERE}/below/a/file",
    },
    "a state failed": {
        "salt": f"web1 {FAILING}",
        "salt-call": FAILING,
        "salt-run": "state.orchestrate failing",
    },
    "an SLS that is not there": {
        "salt": "web1 state.apply nosuch",
        "salt-call": "state.apply nosuch",
        "salt-run": "state.orchestrate nosuch",
    },
    "a minion did not return": {
        "salt": "* test.ping -t 1",
        "salt-cp": f"* {HERE} DEST -t 1",
    },
    "the same with `--static` or `-b`, and others returned": {"salt": "* test.ping --static -t 1"},
    "nobody returned, with `--static` or `-b`": {"salt": "web2 test.ping -b 1 -t 1"},
    "nobody is meant": {
        "salt": "db* test.ping",
        "salt-run": "manage.up tgt=db*",
        "salt-key": "-a db1",
        "salt-cp": f"db* {HERE} DEST",
    },
    "a nodegroup that is not there": {
        "salt": "-N nosuch test.ping",
        "salt-cp": f"-N nosuch {HERE} DEST",
    },
    "a login that is refused": {
        "salt": f"{LOGIN} web1 test.ping",
        "salt-run": f"{LOGIN} jobs.active",
    },
    "function, target or file is missing": {
        "salt": "web1",
        "salt-call": "",
        "salt-run": "",
        "salt-key": "",
        "salt-cp": "web1",
    },
    "a file to be sent is not there": {"salt-cp": "web1 /nosuch/file DEST"},
    "there is no such function": {
        "salt": "web1 nosuch.function",
        "salt-call": "nosuch.function",
        "salt-run": "nosuch.function",
    },
    "it does not take these arguments": {
        "salt": "web1 test.ping nosuch=1",
        "salt-call": "test.ping nosuch=1",
        "salt-run": "jobs.active nosuch=1",
    },
    "a wrong option": dict.fromkeys(
        ("salt", "salt-call", "salt-run", "salt-key", "salt-cp"), "--nosuch"
    ),
    UNREADABLE: {
        "salt": "web1 test.ping",
        "salt-call": "test.ping",
        "salt-run": "jobs.active",
        "salt-key": "-L",
        "salt-cp": f"web1 {HERE} DEST",
    },
    NO_MASTER: {
        "salt": "web1 test.ping",
        "salt-run": "manage.up",
        "salt-key": "-L",
        "salt-cp": f"web1 {HERE} DEST",
    },
}
PASSED_THROUGH = {
    "a function failed (`retcode` is not 0)": ("--retcode-passthrough cmd.run", "exit 3"),
    "a state failed": (f"--retcode-passthrough {FAILING}", ""),
}


def read_cells() -> Iterator[tuple[str, str, str]]:
    """What happened, the command, and the code, of each cell that has one."""
    lines = re.findall(r"^\| (.+) \|$", PAGE.partition("## Exit codes")[2], re.MULTILINE)
    rows = [[cell.strip() for cell in line.split("|")] for line in lines]
    head = [name.strip("`") for name in rows[0][1:]]
    before = ""
    for what, *codes in rows[1:]:
        for program, code in zip(head, codes, strict=True):
            if not code or what in PROVED_ELSEWHERE:
                continue
            passed = what == "the same with `--retcode-passthrough`"
            yield (f"{before} passed through" if passed else what), program, code
        before = what


CELLS = list(read_cells())


@pytest.fixture(scope="module")
def salted() -> Iterator[Cluster]:
    cluster = Cluster(minions={"web1": OURS})
    tree = cluster.root / "master" / "srv"
    tree.mkdir(parents=True)
    (tree / "failing.sls").write_text("x:\n  test.fail_without_changes\n")
    with cluster:
        cluster.start()
        accepted = cluster.pki_dir / "minions"
        shutil.copy(accepted / "web1", accepted / "web2")
        yield cluster


@pytest.fixture(scope="module")
def unreadable(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("etc")
    for name in ("master", "minion"):
        (folder / name).write_text("interface: [\n")
    return folder


@pytest.fixture(scope="module")
def stopped() -> Iterator[Cluster]:
    """A configuration of a master that has never run."""
    with Cluster(minions=0) as cluster:
        yield cluster


def words_of(what: str, program: str, dest: Path) -> list[str]:
    if what.endswith(" passed through"):
        words, last = PASSED_THROUGH[what.removesuffix(" passed through")]
        return [*words.split(), *([last] if last else [])]
    return [str(dest) if word == "DEST" else word for word in COMMANDS[what][program].split()]


@pytest.mark.parametrize(("what", "program", "code"), CELLS, ids=lambda one: one[:40])
def test_each_cell(
    salted: Cluster,
    unreadable: Path,
    stopped: Cluster,
    tmp_path: Path,
    what: str,
    program: str,
    code: str,
) -> None:
    words = words_of(what, program, tmp_path / "file")
    if what == UNREADABLE:
        ran = salted.command(program, *words, config_dir=unreadable)
    elif what == NO_MASTER:
        ran = stopped.command(program, *words)
    elif program == "salt-call":
        ran = salted.salt_call("web1", *words)
    else:
        ran = salted.command(program, *words)
    assert ran.exit_code == (3 if code == "its code" else int(code)), ran
    if ran.exit_code:
        assert ran.stdout + ran.stderr, "it says why"
    assert "Traceback" not in ran.stderr or "test.exception" in words


def test_each_command_here_is_of_a_cell() -> None:
    ours = {(what, program) for what, programs in COMMANDS.items() for program in programs}
    assert ours == {(what, program) for what, program, _ in CELLS if what in COMMANDS}
    assert len(CELLS) == len(ours) + len(PASSED_THROUGH)
