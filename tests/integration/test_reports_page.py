"""The example of docs/reports.md, command by command, and what else can be asked there."""

from __future__ import annotations

import re
import shlex
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cluster import Cluster, eventually, running
from saltlite.transport.addresses import MasterSockets
from saltlite.transport.bus import EventSubscriber

DEADLINE_S = 30.0

PAGE = (Path(__file__).parents[2] / "docs" / "reports.md").read_text()
CHANGING = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ|\b\d{20}\b|\b\d+(\.\d+)? ms|by \w+")
PROPERTY = re.compile(r" {4}(?!mode|diff)[a-z]+: ")


def section(title: str) -> str:
    return PAGE.partition(f"## {title}")[2].partition("\n## ")[0]


def steps(title: str) -> Iterator[tuple[list[str], str]]:
    """The commands of an example, each with what the page shows for it."""
    (text,) = re.findall(r"```console\n(.*?)```", section(title), re.DOTALL)
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


@pytest.fixture
def motd(salted: Cluster, tmp_path: Path) -> Path:
    """The file that the page's SLS is about, which is on the master."""
    path = tmp_path / "motd"
    (sls,) = re.findall(r"```yaml\n# /srv/salt/motd.sls\n(.*?)```", PAGE, re.DOTALL)
    srv = salted.root / "master" / "srv"
    srv.mkdir(parents=True, exist_ok=True)
    (srv / "motd.sls").write_text(sls.replace("/etc/motd", str(path)))
    return path


def follow(cluster: Cluster, title: str, motd: Path, *more: str) -> None:
    """Do what a section of the page does; it shows what comes."""
    for words, shown in steps(title):
        here = [one.replace("/etc/motd", str(motd)) for one in words]
        if here[0] == "chmod":
            motd.chmod(int(here[1], 8))
            continue
        ran = run(cluster, [here[0], *more, *here[1:]])
        assert ran.exit_code == 0, ran.stdout + ran.stderr
        wanted = normalise(shown.replace("/etc/motd", str(motd)))
        assert normalise(ran.stdout) == wanted, words
    assert stat.S_IMODE(motd.stat().st_mode) == 0o644


def test_the_example(salted: Cluster, motd: Path) -> None:
    follow(salted, "An example", motd)
    reports = salted.cache_dir / "reports.sqlite"
    assert stat.S_IMODE(reports.stat().st_mode) == 0o600


def test_without_a_master(salted: Cluster, motd: Path) -> None:
    follow(salted, "Without a master", motd, f"--file-root={salted.root / 'master' / 'srv'}")
    asked = salted.command("salt-run", "changes", f"path={motd}", "--out=json").json
    assert asked == []  # the master knows nothing of it


def test_an_audit_by_the_schedule_tells_the_master_of_drift(salted: Cluster, motd: Path) -> None:
    with EventSubscriber(MasterSockets(salted.sock_dir).event_pub, ("salt/audit/",)) as bus:
        assert bus.connect_confirmed(DEADLINE_S)
        words = ("function=state.audit", "job_args=[motd]", "hours=6")
        salted.salt("m1", "schedule.add", "audit", *words)
        salted.salt("m1", "schedule.run_job", "audit")
        event = bus.get(DEADLINE_S)
    assert event is not None
    assert event.tag == "salt/audit/m1/drift"
    assert (event.data["data"]["checked"], event.data["data"]["drift"]) == (1, 1)
    (resource,) = event.data["data"]["resources"]
    assert (resource["name"], resource["result"]) == (str(motd), None)
    assert not motd.exists()
    found: list[dict[str, Any]] = []

    def is_told() -> bool:
        found[:] = salted.command("salt-run", "drift", f"path={motd}", "--out=json").json
        return bool(found)

    eventually(is_told, within_s=DEADLINE_S, what="drift in the reports")
    (entry,) = found
    assert (entry["drift"], entry["minion"], entry["function"]) == (
        "would change",
        "m1",
        "file.managed",
    )


def test_a_schedule_without_a_master_leaves_reports_too(salted: Cluster, motd: Path) -> None:
    job = {"function": "state.apply", "args": ["motd"], "seconds": 3600, "run_on_start": True}
    alone = salted.add_minion(
        "alone",
        master_type="disable",
        file_client="local",
        file_roots={"base": [str(salted.root / "master" / "srv")]},
        schedule={"states": job},
    )
    alone.start()

    def is_told() -> bool:
        told = salted.salt_call("alone", "--local", "changes.list", "--out=json").json["local"]
        return [one["name"] for one in told] == [str(motd)]

    eventually(is_told, within_s=DEADLINE_S, what="a report of the schedule's run")
    assert motd.exists()
