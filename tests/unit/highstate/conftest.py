"""A minion without a master, and a tree of states that a test writes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from saltlite.config.load import load_minion
from saltlite.context import MinionContext
from saltlite.host import Host
from saltlite.loader.registry import Registry

Tree = Callable[..., MinionContext]


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """``tree({path: text}, pillar={})``: the context of a minion that sees these files."""

    def made(files: Mapping[str, str], pillar: Mapping[str, Any] | None = None) -> MinionContext:
        roots = tmp_path / "tree"
        for name, text in files.items():
            path = roots / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        settings = {
            "root_dir": str(tmp_path / "root"),
            "file_client": "local",
            "id": "web1",
            "file_roots": {"base": [str(roots)]},
        }
        (tmp_path / "minion").write_text(json.dumps(settings))
        config = load_minion(str(tmp_path), {}, cache_id=False)
        grains = {"id": "web1", "os": "Debian", "os_family": "Debian"}
        ctx = MinionContext(config=config, host=Host(), grains=grains, pillar=dict(pillar or {}))
        ctx.functions = Registry(ctx)
        return ctx

    return made
