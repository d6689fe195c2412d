"""The same beacons on a real minion and on ours, and the events that a master hears of them.

What is never the same is masked: numbers, times, and the directory that is watched. Each beacon's
events are a list without repetitions, sorted, so that two minions can be compared.
"""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from repository import DATA

from cluster import Cluster, eventually, running
from saltlite.transport.addresses import MasterSockets
from saltlite.transport.bus import EventSubscriber

CASES = DATA / "beacons"
RECORDED = CASES / "recorded.json"
DEADLINE_S = 60.0
PROCESS = "beaconsleeper"

SHOWING = """
def validate(config):
    return True, "Valid beacon configuration"

def beacon(config):
    return [{"tag": "show", "config": config, "id_of_grains": __grains__["id"],
             "calls": "test.ping" in __salt__, "id_of_opts": __opts__["id"]}]
"""

RAISING = """
def validate(config):
    return True, "Valid beacon configuration"

def beacon(config):
    raise ValueError("oh no")
"""


def configuration(root: Path) -> dict[str, Any]:
    """One of every beacon; ``root`` is the directory with what is watched."""
    every = {"interval": 2}
    return {
        "load": [
            {"averages": {"1m": [-2.0, -1.0], "5m": [0.0, 999], "15m": [0.0, 999]}},
            every,
        ],
        "ps": [{"processes": {PROCESS: "running", "nosuch": "stopped"}}, every],
        "memusage": [{"percent": "0%"}, every],
        "swapusage": [{"percent": "0%"}, every],
        "mylog": [
            {"file": f"{root}/log"},
            {"tags": {"hello/x": {"regex": ".*hello.*"}, "w": {"regex": "wor(l)d"}}},
            {"beacon_module": "log"},
        ],
        "badlog": [
            {"file": f"{root}/log"},
            {"tags": {"bad": {"regex": "("}}},
            {"beacon_module": "log"},
            every,
        ],
        "diskusage": [{"/": "0%"}, {"^/dev$": "101%"}, every],
        "status": [{"loadavg": ["1-min"]}, {"time": ["all"]}, every],
        "network_info": [{"interfaces": {"lo": {"type": "greater", "bytes_sent": -1}}}, every],
        "cert_info": [{"files": [f"{root}/certificate.pem"]}, {"notify_days": -1}, every],
        "salt_monitor": [
            {"salt_fun": ["test.ping", "test.false", {"test.arg": {"args": ["a"]}}]},
            every,
        ],
        "saying_false": [{"salt_fun": "test.false"}, {"beacon_module": "salt_monitor"}, every],
        "service": [{"services": {"nosuchservice": {}, "other": {"onchangeonly": True}}}, every],
        "once": [{"percent": "0%"}, {"beacon_module": "memusage"}, {"run_once": True}],
        "off": [{"percent": "0%"}, {"beacon_module": "memusage"}, {"enabled": False}],
        "showing": [{"a": 1}, every],
        "shown_too": [{"a": 2}, {"beacon_module": "showing"}, every],
        "raising": [every],
        "inotify": [
            {
                "files": {
                    f"{root}/tree": {
                        "mask": ["create", "modify", "delete"],
                        "recurse": True,
                        "auto_add": True,
                        "exclude": [f"{root}/tree/out", {r"\.swp$": {"regex": True}}],
                    },
                    f"{root}/one": {"mask": ["attrib"]},
                }
            }
        ],
        "watchdog": [{"directories": {f"{root}/tree": {"mask": ["create", "modify", "delete"]}}}],
    }


STEPS: tuple[Callable[[Path], Any], ...] = (
    lambda root: append(root / "log", "say hello now\nother\nworld\n"),
    lambda root: (root / "tree" / "first").write_text("b"),
    lambda root: (root / "tree" / "new").write_text("n"),
    lambda root: (root / "tree" / "folder").mkdir(),
    lambda root: (root / "one").chmod(0o640),
    lambda root: (root / "tree" / "new.swp").write_text("x"),
    lambda root: (root / "tree" / "out" / "x").write_text("x"),
    lambda root: time.sleep(3.0),
    lambda root: (root / "tree" / "folder" / "inner").write_text("n"),
    lambda root: (root / "tree" / "new").unlink(),
    lambda root: time.sleep(4.0),
)


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def prepare(root: Path) -> None:
    """What is there before the minion starts."""
    (root / "tree" / "out").mkdir(parents=True)
    (root / "tree" / "first").write_text("a")
    (root / "one").write_text("a")
    (root / "log").write_text("an old hello\n")
    (root / "certificate.pem").write_bytes((CASES / "certificate.pem").read_bytes())


@contextmanager
def sleeper(root: Path) -> Iterator[None]:
    """A process with a name of its own."""
    program = root / PROCESS
    program.symlink_to("/bin/sleep")
    with subprocess.Popen([str(program), "300"]) as process:
        try:
            yield
        finally:
            process.kill()


def collect(kind: str) -> dict[str, list[dict[str, Any]]]:
    """The events of a minion of one kind, by beacon."""
    with running(minions=0, master_options={"worker_threads": 2}) as cluster:
        root = cluster.root / "watched"
        prepare(root)
        custom = cluster.root / "m1" / "extmods" / "beacons"
        custom.mkdir(parents=True)
        (custom / "showing.py").write_text(SHOWING)
        (custom / "raising.py").write_text(RAISING)
        minion = cluster.add_minion(
            "m1",
            kind,
            beacons=configuration(root),
            extension_modules=str(custom.parent),
            log_level="debug",
        )
        with sleeper(root):
            return gather(cluster, minion, root)


def gather(cluster: Cluster, minion: Any, root: Path) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, dict[str, Any]] = {}
    with EventSubscriber(MasterSockets(cluster.sock_dir).event_pub, ("salt/beacon/m1/",)) as bus:
        assert bus.connect_confirmed(DEADLINE_S)
        minion.start()
        seen: list[Any] = []

        def hear(for_s: float) -> None:
            until_s = time.monotonic() + for_s
            while time.monotonic() < until_s:
                event = bus.get(0.2)
                if event is not None:
                    seen.append(event)

        eventually(lambda: hear(0.5) or seen, within_s=DEADLINE_S, what="the first event")
        hear(4.0)
        for step in STEPS:
            step(root)
            hear(0.1)
        hear(3.0)
    for event in seen:
        name = event.tag.split("/")[3]
        masked = mask(root, {"tag": event.tag, "data": event.data})
        found.setdefault(name, {})[json.dumps(masked, sort_keys=True)] = masked
    return {name: [events[key] for key in sorted(events)] for name, events in sorted(found.items())}


COUNTERS = frozenset({"errin", "errout", "dropin", "dropout"})
"""Of an interface, since the machine's start: small on most machines, but not on each."""


def mask(root: Path, value: Any) -> Any:
    """A value without what is another one each time."""
    if isinstance(value, dict):
        return {
            key: "<number>" if key in COUNTERS else mask(root, each)
            for key, each in value.items()
            if key != "_stamp"
        }
    if isinstance(value, list):
        return [mask(root, each) for each in value]
    if isinstance(value, float) or (isinstance(value, int) and abs(value) > 3):
        return "<number>"
    if isinstance(value, str):
        text = value.replace(str(root), "ROOT")
        text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+", "<time>", text)
        return re.sub(r"\w+day, \d.*[AP]M", "<day>", text)
    return value


def recorded() -> dict[str, Any]:
    """What a real minion's events were."""
    found: dict[str, Any] = json.loads(RECORDED.read_text())
    return found
