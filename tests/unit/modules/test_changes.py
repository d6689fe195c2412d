"""The answers of ``changes.*`` on the machine whose states they are about."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import yaml
from report_runs import make_row, make_run

from saltlite.config.load import load_minion
from saltlite.context import MinionContext
from saltlite.errors import UsageError
from saltlite.host import Host
from saltlite.jobs.report_file import StateReportFile
from saltlite.modules import changes


@pytest.fixture
def ctx(tmp_path: Path) -> MinionContext:
    (tmp_path / "minion").write_text(yaml.safe_dump({"id": "m1", "root_dir": str(tmp_path)}))
    config = load_minion(tmp_path)
    now_s = time.time()
    bad = make_row(
        1, result=False, changes=(), comment="no such user", duration_ms=900.0, name="/b"
    )
    StateReportFile(Path(config.paths.cachedir)).add_runs(
        [
            make_run(now_s - 200.0),
            make_run(now_s - 100.0, rows=(make_row(), bad)),
            make_run(now_s - 50.0, "m2"),
            make_run(now_s - 10.0, test=True, rows=(make_row(result=None, name="/c"),)),
        ]
    )
    return MinionContext(config=config, host=Host(), grains={}, pillar={})


def test_only_this_machine_is_told_of(ctx: MinionContext) -> None:
    found = changes.list_(ctx)
    assert [(one["minion"], one["name"]) for one in found] == [("m1", "/etc/motd")] * 2
    assert found[0]["changes"] == {"mode": {"old": "0600", "new": "0644"}}


def test_each_question(ctx: MinionContext) -> None:
    assert [one["comment"] for one in changes.failed(ctx)] == ["no such user"]
    assert [one["name"] for one in changes.slowest(ctx, limit=1)] == ["/b"]
    told = {one["name"]: one["drift"] for one in changes.drift(ctx)}
    assert told == {"/etc/motd": "changed again", "/c": "would change"}
    assert [one["name"] for one in changes.list_(ctx, result="would")] == ["/c"]
    assert changes.list_(ctx, by="alice") == []


def test_nothing_is_kept_yet_and_nothing_is_made(tmp_path: Path) -> None:
    (tmp_path / "minion").write_text(yaml.safe_dump({"id": "m1", "root_dir": str(tmp_path)}))
    config = load_minion(tmp_path, {}, cache_id=False)
    alone = MinionContext(config=config, host=Host(), grains={}, pillar={})
    assert changes.drift(alone) == []
    assert not [*tmp_path.rglob("reports*")]


def test_a_word_that_means_nothing(ctx: MinionContext) -> None:
    with pytest.raises(UsageError, match="since=soon"):
        changes.list_(ctx, since="soon")
