#!/usr/bin/env python3
"""What twelve idle beacons cost a minion: processor time and memory, beside one without any.

    bench_beacons.py [SECONDS [every]]

Twelve beacons that find nothing to tell run for SECONDS (60): each every second, but for those
that run a program or look at all processes, which have an interval of 30. ``every`` has all of
them run every second. Prints JSON: the share of a core, and the memory that is the processes' own.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parents[1] / "tests" / "support")]

import psutil  # noqa: E402 - found by the line above

from cluster import Cluster, running  # noqa: E402 - as above

SETTLE_S = 20.0


def beacons(root: Path, *, all_every_second: bool) -> dict[str, Any]:
    """Twelve that have nothing to tell."""
    rarely = [] if all_every_second else [{"interval": 30}]
    bounds = {name: [0.0, 9999.0] for name in ("1m", "5m", "15m")}
    return {
        "inotify": [{"files": {str(root): {"recurse": True, "auto_add": True}}}],
        "log": [{"file": str(root / "log")}, {"tags": {"t": {"regex": "x"}}}],
        "load": [{"averages": bounds}],
        "memusage": [{"percent": "101%"}],
        "swapusage": [{"percent": "101%"}],
        "diskusage": [{"/": "101%"}],
        "network_info": [{"interfaces": {"lo": {"errin": -1}}}],
        "cert_info": [{"files": [str(root / "nothing.pem")]}],
        "watchdog": [{"directories": {str(root): {}}}],
        "pkg": [{"pkgs": ["bash"]}],
        "ps": [{"processes": {"nosuchprocess": "running"}}, *rarely],
        "service": [{"services": {"nosuchservice": {"onchangeonly": True}}}, *rarely],
    }


def spent_s(processes: list[psutil.Process]) -> float:
    """Processor time of processes and of what they have run."""
    return sum(sum(process.cpu_times()[:4]) for process in processes)


def measure(cluster: Cluster, minion_id: str, seconds: float) -> dict[str, float]:
    """A minion's share of a core, in percent, and its own memory in MiB."""
    minion = cluster.minions[minion_id]
    time.sleep(SETTLE_S)
    processes = minion.processes()
    before_s = spent_s(processes)
    time.sleep(seconds)
    share = 100 * (spent_s(processes) - before_s) / seconds
    own = sum(process.memory_full_info().uss for process in processes)
    return {"percent": round(share, 3), "mib": round(own / 2**20, 1), "processes": len(processes)}


def main(seconds: str = "60", mode: str = "") -> None:
    """Measure both minions, one after the other."""
    found = {}
    with running(minions=0, master_options={"worker_threads": 2}) as cluster:
        root = cluster.root / "watched"
        root.mkdir()
        (root / "log").write_text("")
        idle = beacons(root, all_every_second=mode == "every")
        for minion_id, options in (("without", {}), ("with", {"beacons": idle})):
            minion = cluster.add_minion(minion_id, **options)
            minion.start()
            cluster.wait_for_ping(minion_id)
            found[minion_id] = measure(cluster, minion_id, float(seconds))
            minion.stop()
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main(*sys.argv[1:])
