"""The same custom code, brought by either Salt's master to either Salt's minion."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from repository import DATA

from cluster import OURS, SALT_3006, eventually, running

TREE = DATA / "differential/states"
GRAIN = "def rack(grains): return {'rack': 'r7', 'seen': 'kernel' in grains}\n"

PAIRS = [
    pytest.param(OURS, SALT_3006, id="our-master-3006-minion"),
    pytest.param(SALT_3006, OURS, id="3006-master-our-minion"),
]
COMMANDS: list[tuple[str, ...]] = [
    ("release.list",),
    ("release.latest",),
    ("release.through_utils", "Some Words"),
    ("release.known", "test.ping", "release.list", "never.f"),
    ("release.set", "/no/such/place/link", "9.9"),
    ("release.checked", "x"),
    ("gated.twice",),
    ("gated.replaced",),
    ("fleet.name",),
    ("never.f",),
    ("broken.f",),
    ("absent_library.f",),
    ("grains.item", "rack", "seen"),
]
ANSWERS: dict[tuple[str, ...], Any] = {}
"""What the first pair answered; the others must answer the same."""


@pytest.mark.parametrize(("master", "minion"), PAIRS)
def test_the_same_code_gives_the_same_answers(master: str, minion: str, tmp_path: Path) -> None:
    roots = tmp_path / "roots"
    roots.mkdir()
    for part in ("_modules", "_utils", "_states"):
        (roots / part).symlink_to(TREE / part)
    (roots / "_grains").mkdir()
    (roots / "_grains/rack.py").write_text(GRAIN)
    options = {"file_roots": {"base": [str(roots)]}, "timeout": 15}
    with running(master=master, minions={"web1": minion}, master_options=options) as cluster:
        synced = cluster.salt("web1", "saltutil.sync_all", "--out=json", "--static").json["web1"]
        assert synced["grains"] == ["grains.rack"]
        assert "modules.fleet.__init__" in synced["modules"]
        eventually(
            lambda: cluster.salt("-G", "rack:r7", "test.ping", "--out=json", "--static").json,
            what="the minion is found by its custom grain",
        )
        for command in COMMANDS:
            answer = cluster.salt("web1", *command, "--out=json", "--static").json["web1"]
            assert ANSWERS.setdefault(command, answer) == answer, command
