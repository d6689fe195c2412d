"""What docs/file-bucket.md shows is what happens."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster import Cluster

PAGE = (Path(__file__).parents[2] / "docs" / "file-bucket.md").read_text()
STEPS = PAGE.partition("## Step by step")[2].partition("\n## ")[0]
(SLS,) = re.findall(r"```yaml\n(.*?)```", STEPS, re.DOTALL)
(CONSOLE,) = re.findall(r"```console\n(.*?)```", STEPS, re.DOTALL)
COMMANDS = re.findall(r"^# (.*)\n((?:[^#].*\n)*)", CONSOLE, re.MULTILINE)
MOMENT = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[+-]\d\d:\d\d")
OWNER = re.compile(r"^( +(?:user|group):\s+)\S+", re.MULTILINE)


def plain(text: str) -> str:
    """A text without what is another one each time, or for another user."""
    text = OWNER.sub(r"\1SOMEBODY", text.replace(" +\n", "\n"))
    return MOMENT.sub("MOMENT", re.sub(r"\b20\d{18}\b", "JID", text))


@pytest.fixture(scope="module")
def salted() -> Iterator[Cluster]:
    with Cluster() as cluster:
        cluster.reconfigure(cluster.master_dir / "master", file_recv=True)
        cluster.add_minion("web1", file_bucket_master=True)
        yield cluster.start()


def test_the_steps(salted: Cluster) -> None:
    place = salted.root / "motd"
    roots = Path(salted.config("master")["file_roots"]["base"][0])
    roots.mkdir(parents=True, exist_ok=True)
    (roots / "motd.sls").write_text(SLS.replace("/etc/motd", str(place)))
    assert len(COMMANDS) == 6
    for line, shown in COMMANDS:
        program, *words = shlex.split(line.replace("/etc/motd", str(place)))
        found = salted.command(program, *words)
        assert found.exit_code == 0, found
        told = found.stdout.replace(str(place), "/etc/motd")
        assert plain(told) == plain(shown), line
    assert place.read_text() == "Welcome\n"


def test_the_copy_on_the_master(salted: Cluster) -> None:
    place = salted.root / "copied"
    place.write_text("before\n")
    roots = Path(salted.config("master")["file_roots"]["base"][0])
    roots.mkdir(parents=True, exist_ok=True)
    (roots / "copied.sls").write_text(f"{place}: {{file.absent: []}}\n")
    (found,) = salted.salt("web1", "state.apply", "copied", "--out=json").json["web1"].values()
    assert (found["result"], found.get("warnings")) == (True, None)
    digest = found["replaced"][str(place)]
    below = Path("minions/web1/files/bucket") / digest[:2] / digest[2:]
    assert (salted.cache_dir / below).read_text() == "before\n"
