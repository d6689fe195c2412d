"""Answers about minions of ours and a real one, as the pages show them: reports, drift, doctor.

Source: docs/reports.md, docs/doctor.md, docs/pillar.md. File buckets, exported resources and live
states are a minion's own, and need ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cluster import OURS, SALT_3006, Cluster, running
from saltlite.transport.addresses import MasterSockets
from saltlite.transport.bus import EventSubscriber

KINDS = {"ours1": OURS, "ours2": OURS, "salt6": SALT_3006}
DEADLINE_S = 30.0

MOTD = """\
motd:
  file.managed:
    - name: {place}/{{{{ grains.id }}}}
    - contents: {{{{ pillar.greeting }}}}
    - mode: '0644'
"""
BROKEN = """\
broken:
  test.fail_without_changes:
    - name: {{ grains.id }}
    - comment: no luck
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the minions' files are."""
    return tmp_path_factory.mktemp("motd")


@pytest.fixture(scope="module")
def lab(place: Path) -> Iterator[Cluster]:
    with running(minions=KINDS, master_options={"worker_threads": 2}) as cluster:
        srv, pillar = (cluster.root / "master" / name for name in ("srv", "pillar"))
        for directory in (srv, pillar):
            directory.mkdir(parents=True, exist_ok=True)
        (srv / "motd.sls").write_text(MOTD.format(place=place))
        (srv / "broken.sls").write_text(BROKEN)
        (pillar / "top.sls").write_text("base:\n  '*':\n    - common\n  salt6:\n    - own\n")
        (pillar / "common.sls").write_text("greeting: hello\n")
        (pillar / "own.sls").write_text("\ngreeting: own hello\nunread: 1\n")
        cluster.salt("*", "saltutil.refresh_pillar", "wait=True", "--out=quiet")
        ran = cluster.salt("*", "state.apply", "motd", "--out=quiet")
        assert ran.exit_code == 0, ran
        yield cluster


def ask(lab: Cluster, *words: str) -> Any:
    """What a runner returns."""
    return lab.salt_run(*words, "--out=json").json


def by_minion(entries: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    found = {one["minion"]: one for one in entries}
    assert len(found) == len(entries)
    return found


def test_what_was_changed_on_each(lab: Cluster, place: Path) -> None:
    found = by_minion(ask(lab, "changes", "sls=motd", "test=False"))
    assert set(found) == set(KINDS)
    for minion, entry in found.items():
        assert (entry["name"], entry["id"], entry["function"], entry["result"]) == (
            str(place / minion), "motd", "file.managed", True,
        )  # fmt: skip
        assert entry["changes"] and entry["user"] and entry["duration_ms"] > 0
    assert (place / "salt6").read_text() == "own hello\n"


def test_drift_of_a_file_that_somebody_has_changed(lab: Cluster, place: Path) -> None:
    (place / "salt6").chmod(0o600)
    ran = lab.salt("*", "state.apply", "motd", "test=True", "--out=quiet")
    assert ran.exit_code == 0, ran
    (entry,) = ask(lab, "drift", f"path={place}/*")
    assert (entry["minion"], entry["drift"]) == ("salt6", "would change")
    lab.salt("salt6", "state.apply", "motd", "--out=quiet")
    (entry,) = ask(lab, "drift", f"path={place}/*")
    assert (entry["minion"], entry["drift"], entry["times"]) == ("salt6", "changed again", 1)


def test_what_has_failed(lab: Cluster) -> None:
    assert lab.salt("*", "state.apply", "broken", "--out=quiet").exit_code != 0
    found = by_minion(ask(lab, "failed", "sls=broken"))
    assert {minion: entry["comment"] for minion, entry in found.items()} == dict.fromkeys(
        KINDS, "no luck"
    )


def test_which_file_has_set_a_key(lab: Cluster) -> None:
    found = ask(lab, "pillar.why", "greeting", "minion=salt6")
    text = str(found)
    assert "own.sls:2" in text and "common.sls:1" in text
    warnings = ask(lab, "check.pillar")["warnings"]
    assert [one for one in warnings if one.startswith("unused: unread (")] == warnings


def test_a_doctor_that_asks_for_the_time(lab: Cluster) -> None:
    report = ask(lab, "doctor", "only=clock,versions,keys", "ask=*")
    assert [one for one in report["findings"] if one["severity"] == "error"] == []
    assert "versions" in report["fine"]


def test_each_state_of_a_real_minion_is_told_where_it_is_asked_for(lab: Cluster) -> None:
    """As the master's ``state_events`` has them."""
    with EventSubscriber(MasterSockets(lab.sock_dir).event_pub, ("salt/job/",)) as bus:
        assert bus.connect_confirmed(DEADLINE_S)
        lab.salt("*", "state.apply", "motd", "state_events=True", "--out=quiet")
        told: set[str] = set()
        while told != set(KINDS):
            event = bus.get(DEADLINE_S)
            assert event is not None, told
            if "/prog/" in event.tag:
                told.add(event.tag.split("/prog/")[1].split("/")[0])
