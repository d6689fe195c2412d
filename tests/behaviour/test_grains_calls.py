"""grains.* through ``salt-call``, one after the other with one file: as recorded of Salt 3006.30.

tests/cases/record/grains_calls says how. Values, exit codes, and every byte of the grains file.
"""

from __future__ import annotations

import io
import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from repository import DATA

from saltlite.cli import salt_call
from saltlite.cli.show import Screen
from saltlite.config.load import load_minion
from saltlite.context import MinionContext
from saltlite.core.output_options import OutputOptions
from saltlite.grains import LazyGrains
from saltlite.host import Host
from saltlite.loader.registry import with_functions

GROUPS = json.loads((DATA / "grains/calls.json").read_text())


def answer(root: Path, line: str) -> tuple[int, Any]:
    """Exit code and value of one command line; documentation is no value."""
    argv = ["-c", str(root), "--local", *shlex.split(line)]
    options, words = salt_call._build_parser().parse_command(argv)
    config = load_minion(root, salt_call._config_overrides(options))
    grains = LazyGrains(config, Host())
    ctx = with_functions(MinionContext(config=config, host=Host(), grains=grains, pillar={}))
    printed = io.StringIO()
    screen = Screen(OutputOptions(output_indent=-1), "json", printed)
    code = salt_call._call_function(ctx, screen, options, words, None)
    return code, json.loads(printed.getvalue())["local"] if printed.getvalue() else None


@pytest.mark.parametrize("name", GROUPS)
def test_as_real_salt_call(name: str, tmp_path: Path) -> None:
    group = GROUPS[name]
    (tmp_path / "minion").write_text(json.dumps({"id": "web1", "root_dir": str(tmp_path)}))
    file = tmp_path / "grains"
    if group["begin"] is not None:
        file.write_text(group["begin"])
    kept = group["begin"]
    for call in group["calls"]:
        assert answer(tmp_path, call["line"]) == (call["rc"], call["out"]), call["line"]
        kept = call.get("file", kept)
        assert (file.read_text() if file.exists() else None) == kept, call["line"]
