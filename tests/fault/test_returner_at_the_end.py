"""A minion is stopped in order while a job hands its return to a returner: nothing is lost.

What the job's process is spared when only the minion is stopped, it is not when all that the minion
has started is ended as well, as at the end of a container; and threads end with the minion.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster import Cluster, eventually

RETURNER = """
import os, time
def returner(ret):
    open({folder!r} + "/begun-" + ret["jid"], "a").close()
    while not os.path.exists({folder!r} + "/go-on"):
        time.sleep(0.02)
    with open({folder!r} + "/kept", "a") as file:
        file.write("%s %s\\n" % (ret["jid"], ret["return"]))
"""


@pytest.fixture(params=[True, False], ids=["processes", "threads"])
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Cluster]:
    folder = tmp_path / "returners"
    folder.mkdir()
    (folder / "slow.py").write_text(RETURNER.format(folder=str(tmp_path)))
    options = {"returner_dirs": [str(folder)], "multiprocessing": request.param}
    with Cluster(minions=1, minion_options=options) as one:
        yield one.start()


def begin_job(cluster: Cluster, folder: Path) -> str:
    """Run a job that its returner does not let go; its jid. The master has had its return."""
    done = cluster.salt(
        "m1", "test.echo", "value", "--return=slow", "--out=json", "--static", "--show-jid"
    )
    assert done.exit_code == 0, done.stderr
    jid = (done.stdout + done.stderr).partition("jid: ")[2].split()[0]
    eventually((folder / f"begun-{jid}").exists, what="the returner has begun")
    return jid


def test_the_next_start_gives_it_to_the_returner(cluster: Cluster, tmp_path: Path) -> None:
    jid = begin_job(cluster, tmp_path)
    minion = cluster.minions["m1"]
    assert minion.stop() == 0  # and what it has left is killed
    assert not (tmp_path / "kept").exists()
    (tmp_path / "go-on").touch()
    minion.start()
    kept = tmp_path / "kept"
    eventually(lambda: kept.exists() and kept.read_text(), what="it is kept")
    waiting = cluster.root / "m1" / "cache" / "undelivered"
    eventually(lambda: not list(waiting.iterdir()), what="nothing waits any more")
    cluster.wait_for_ping("m1")
    assert kept.read_text() == f"{jid} value\n"
    found = cluster.command("salt-run", "jobs.lookup_jid", jid, "--out=json").stdout
    assert json.loads(found) == {"m1": "value"}, "it is not said to be cut short"


def test_a_process_that_goes_on_does_it_itself(cluster: Cluster, tmp_path: Path) -> None:
    """One process has it in hand; the next start leaves it alone."""
    jid = begin_job(cluster, tmp_path)
    minion = cluster.minions["m1"]
    assert minion.process is not None
    left = minion.processes()
    minion.process.terminate()
    assert minion.process.wait(60) == 0
    minion.start()
    cluster.wait_for_ping("m1")
    (tmp_path / "go-on").touch()
    kept = tmp_path / "kept"
    eventually(lambda: kept.exists() and kept.read_text(), what="it is kept")
    waiting = cluster.root / "m1" / "cache" / "undelivered"
    eventually(lambda: not list(waiting.iterdir()), what="nothing waits any more")
    assert kept.read_text() == f"{jid} value\n"
    eventually(lambda: not any(one.is_running() for one in left), what="the processes end")
