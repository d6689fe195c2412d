"""What docs/doctor.md says of the checks is what they say, and its example is what happens."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from cluster import Cluster
from saltlite.doctor import master, minion

PAGE = (Path(__file__).parents[2] / "docs" / "doctor.md").read_text()
(EXAMPLE,) = re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)
FOLDER = "/etc/salt/pki/master"


@pytest.mark.parametrize(
    ("head", "checks"), [("On a master", master.CHECKS), ("On a minion", minion.CHECKS)]
)
def test_the_table_names_each_check(head: str, checks: Any) -> None:
    part = PAGE.partition(f"## {head}\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `([a-z]+)` \| ([^|]+) \|", part, re.MULTILINE)
    assert rows == [(one.NAME, one.ABOUT) for one in checks]


def test_each_check_is_a_file_with_a_test() -> None:
    unit = Path(__file__).parents[1] / "unit" / "doctor"
    for side in (master, minion):
        name = side.__name__.rpartition(".")[2]
        for check in side.CHECKS:
            place = Path(check.__file__)  # type: ignore[attr-defined]
            assert place.parent.name == name
            assert (unit / name / f"test_{place.stem}.py").is_file(), check


def read_steps() -> list[tuple[list[str], str]]:
    """Each command, and what it prints."""
    steps: list[tuple[list[str], str]] = []
    for line in EXAMPLE.splitlines():
        if line.startswith("# "):
            steps.append((shlex.split(line[2:]), ""))
        else:
            words, shown = steps.pop()
            steps.append((words, f"{shown}{line}\n"))
    return steps


def test_the_example() -> None:
    with Cluster(minions=0) as cluster:
        cluster.start_master()
        for words, shown in read_steps():
            here = [one.replace(FOLDER, str(cluster.pki_dir)) for one in words]
            if here[0] == "chmod":
                Path(here[2]).chmod(int(here[1], 8))
                continue
            done = cluster.command(*here)
            assert done.stdout.replace(str(cluster.pki_dir), FOLDER) == shown, done.stderr
