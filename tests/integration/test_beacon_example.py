"""The example of docs/beacons.md: a file that is changed by hand is put back, each time."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import yaml
from watches import is_watched

from cluster import Cluster, eventually, running

PAGE = (Path(__file__).parents[2] / "docs" / "beacons.md").read_text()
WANTED = "This machine is looked after.\n"
DEADLINE_S = 30.0


def blocks(path: Path) -> dict[str, str]:
    """The example's files by what their first line says, about another file than ``/etc/motd``."""
    section = PAGE.partition("## An example")[2].partition("\n## ")[0]
    texts = re.findall(r"```yaml\n# (.+?)\n(.*?)```", section, re.DOTALL)
    return {title: text.replace("/etc/motd", str(path)) for title, text in texts}


def write(cluster: Cluster, files: dict[str, str]) -> None:
    for title, text in files.items():
        if title.startswith("/srv/salt/"):
            path = cluster.root / "master" / "srv" / title.removeprefix("/srv/salt/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)


def option(text: str, name: str) -> Any:
    return yaml.safe_load(text)[name]


def test_a_file_that_is_changed_by_hand_is_put_back(tmp_path: Path) -> None:
    path = tmp_path / "motd"
    path.write_text(WANTED)
    files = blocks(path)
    reactor = option(files["the master's configuration"], "reactor")
    beacons = option(files["the minion's configuration"], "beacons")
    with running(minions=0, master_options={"worker_threads": 2, "reactor": reactor}) as cluster:
        write(cluster, files)
        cluster.add_minion("m1", beacons=beacons).start()
        cluster.wait_for_ping("m1")
        time.sleep(3.0)  # nothing has been changed: nothing is to happen
        for by_hand in ("changed\n", "changed again\n"):
            wait_for_watch(cluster, path)
            change_until_put_back(path, by_hand)
        wait_for_watch(cluster, path)
        replaced = path.with_name("replaced")
        replaced.write_text("by an editor\n")
        replaced.rename(path)
        eventually(lambda: path.read_text() == WANTED, within_s=DEADLINE_S, what="put back")
        time.sleep(3.0)  # a round that sets off the next one would go on
        listed = cluster.salt_run("jobs.list_jobs", "search_function=state.apply", "--out=json")
        assert len(listed.json) <= 5, "a reaction must not set off the next one"


def wait_for_watch(cluster: Cluster, path: Path) -> None:
    """Wait until the beacon watches what is there now."""
    processes = cluster.minions["m1"].titled
    eventually(lambda: is_watched(path, processes("beacons")), within_s=DEADLINE_S, what="a watch")


def change_until_put_back(path: Path, text: str) -> None:
    path.write_text(text)
    eventually(lambda: path.read_text() == WANTED, within_s=DEADLINE_S, what=f"{text!r} is undone")
