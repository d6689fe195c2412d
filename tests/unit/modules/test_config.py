"""``config.merge``: which of the places wins. Recorded from Salt 3006.30."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from saltlite.config.load import load_minion
from saltlite.context import MinionContext
from saltlite.host import Host
from saltlite.modules import config

OPTIONS = {"id": "m", "redis": {"host": "o", "port": 1, "deep": {"b": 2}}, "lst": [1, 2]}
PILLAR: dict[str, Any] = {
    "redis": {"host": "p", "deep": {"a": 1}},
    "lst": [3, 4],
    "master": {"redis": {"host": "m", "mm": 1}, "lst": [5], "only_m": 7},
}


@pytest.fixture
def ctx(tmp_path: Path) -> MinionContext:
    (tmp_path / "minion").write_text(yaml.safe_dump(OPTIONS))
    return MinionContext(
        config=load_minion(tmp_path), host=Host(), grains={"lst": [9]}, pillar=PILLAR
    )


@pytest.mark.parametrize(
    ("key", "omitted", "expected"),
    [
        ("redis", "", {"deep": {"b": 2}, "host": "o", "mm": 1, "port": 1}),
        ("redis", "opts", {"deep": {"a": 1}, "host": "m", "mm": 1}),
        ("redis", "pillar", {"deep": {"b": 2}, "host": "o", "mm": 1, "port": 1}),
        ("redis", "opts master", {"deep": {"a": 1}, "host": "p"}),
        ("redis", "opts pillar", {"host": "m", "mm": 1}),
        ("redis", "opts pillar master", ""),
        ("lst", "", [1, 2, 5, 3, 4]),
        ("lst", "opts", [5, 3, 4]),
        ("lst", "master", [1, 2, 3, 4]),
        ("only_m", "", 7),
        ("only_m", "master", ""),
    ],
)
def test_options_then_the_masters_then_pillar(
    ctx: MinionContext, key: str, omitted: str, expected: Any
) -> None:
    found = config.merge(ctx, key, **{f"omit_{name}": True for name in omitted.split()})
    assert found == expected
