"""The example of docs/reports.md, command by command, and what else can be asked there."""

from __future__ import annotations

import re
import shlex
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cluster import Cluster, running

PAGE = (Path(__file__).parents[2] / "docs" / "reports.md").read_text()
CHANGING = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ|\b\d{20}\b|\b\d+(\.\d+)? ms|by \w+")
PROPERTY = re.compile(r" {4}(?!mode|diff)[a-z]+: ")


def section() -> str:
    return PAGE.partition("## An example")[2].partition("\n## ")[0]


def steps() -> Iterator[tuple[list[str], str]]:
    """The commands of the example, each with what the page shows for it."""
    (text,) = re.findall(r"```console\n(.*?)```", section(), re.DOTALL)
    for part in text.split("$ ")[1:]:
        command, _, shown = part.partition("\n")
        yield shlex.split(command), shown


@pytest.fixture(scope="module")
def salted() -> Iterator[Cluster]:
    with running(minions=1, master_options={"worker_threads": 2}) as cluster:
        cluster.wait_for_ping("m1")
        yield cluster


def normalise(text: str) -> list[str]:
    """The lines without times, numbers of jobs, and other properties of the file than its mode."""
    lines = CHANGING.sub("~", text).splitlines()
    return [line for line in lines if not PROPERTY.match(line)]


def run(cluster: Cluster, words: list[str]) -> Any:
    program, *rest = words
    if program == "salt-call":
        return cluster.salt_call("m1", *rest)
    return cluster.command(program, *rest)


def test_the_example(salted: Cluster, tmp_path: Path) -> None:
    motd = tmp_path / "motd"
    (sls,) = re.findall(r"```yaml\n# /srv/salt/motd.sls\n(.*?)```", section(), re.DOTALL)
    srv = salted.root / "master" / "srv"
    srv.mkdir(parents=True, exist_ok=True)
    (srv / "motd.sls").write_text(sls.replace("/etc/motd", str(motd)))
    for words, shown in steps():
        here = [one.replace("/etc/motd", str(motd)) for one in words]
        if here[0] == "chmod":
            motd.chmod(int(here[1], 8))
            continue
        ran = run(salted, here)
        assert ran.exit_code == 0, ran.stdout + ran.stderr
        wanted = normalise(shown.replace("/etc/motd", str(motd)))
        assert normalise(ran.stdout) == wanted, words
    assert stat.S_IMODE(motd.stat().st_mode) == 0o644
    reports = salted.cache_dir / "reports.sqlite"
    assert stat.S_IMODE(reports.stat().st_mode) == 0o600
