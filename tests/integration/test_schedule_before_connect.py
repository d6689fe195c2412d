"""A minion with ``scheduler_before_connect`` runs its jobs while no master answers."""

from __future__ import annotations

import json

import pytest

from cluster import Cluster, eventually


@pytest.mark.parametrize("before", [True, False])
def test_jobs_before_the_master_answers(before: bool) -> None:
    schedule = {"j": {"function": "test.ping", "seconds": 1}}
    with Cluster(minions=0) as cluster:  # nobody starts the master
        file = cluster.root / "returns.json"
        options = {
            "schedule": schedule,
            "scheduler_before_connect": before,
            "schedule_returner": "rawfile_json",
            "rawfile_json.filename": str(file),
        }
        minion = cluster.add_minion("m1", **options)
        minion.start()
        if before:
            eventually(file.exists, within_s=30, what="a return of the schedule")
            first = json.loads(file.read_text().splitlines()[0])
            assert (first["fun"], first["schedule"], first["return"]) == ("test.ping", "j", True)
        else:
            eventually(lambda: "saltlite" in minion.log() or minion.alive(), what="it runs")
            with pytest.raises(AssertionError):
                eventually(file.exists, within_s=4)
