"""docs/states-reference.md is what the signatures say, and the example of docs/states.md runs."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from saltlite.loader.catalogue import STATES
from saltlite.loader.states import functions

ROOT = Path(__file__).parents[2]
GENERATOR = runpy.run_path(str(ROOT / "scripts/gen_states_docs"))


def test_the_reference_is_up_to_date() -> None:
    page = (ROOT / "docs/states-reference.md").read_text()
    assert page == GENERATOR["page"](), "run scripts/gen_states_docs"


@pytest.mark.parametrize("module", list(STATES))
def test_every_state_says_what_it_declares(module: str) -> None:
    for name, function in functions(module).items():
        assert GENERATOR["first"](function.__doc__), f"{module}.{name} has no docstring"


def example(language: str) -> str:
    """The block in that language on the page that tells how to write a state."""
    page = (ROOT / "docs/states.md").read_text()
    return re.findall(rf"^```{language}\n(.*?)^```", page, re.DOTALL | re.MULTILINE)[0]


def applied(folder: Path, *options: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "saltlite.cli.salt_call", "--local", "-c", str(folder)]
    done = subprocess.run(
        [*command, "--out=json", "state.apply", "web", *options],
        capture_output=True,
        text=True,
        check=False,
    )
    (answer,) = json.loads(done.stdout)["local"].values()
    return {key: answer[key] for key in ("result", "changes", "comment")}


def test_the_example_has_a_test_mode_that_nobody_wrote(tmp_path: Path) -> None:
    source = example("python")
    code = [line for line in source.splitlines() if line.strip()]
    assert len(code) <= 50

    roots = tmp_path / "srv"
    (roots / "_states").mkdir(parents=True)
    (roots / "_states" / "limits.py").write_text(source)
    limits = tmp_path / "limits.d"
    limits.mkdir()
    (roots / "web.sls").write_text(f"{example('yaml')}    - folder: {limits}\n")
    (tmp_path / "minion").write_text(
        f"id: example\nfile_client: local\nroot_dir: {tmp_path}\nfile_roots: {{base: [{roots}]}}\n"
        f"pillar_roots: {{base: [{tmp_path}/pillar]}}\n"
    )

    changes = {"nofile": {"old": None, "new": 4096}}
    would = {"result": None, "changes": changes, "comment": "nofile of www-data would be set"}
    assert applied(tmp_path, "test=True") == would
    assert not list(limits.iterdir())
    made = {"result": True, "changes": changes, "comment": "nofile was set"}
    assert applied(tmp_path) == made
    assert (limits / "www-data-nofile.conf").read_text() == "www-data - nofile 4096\n"
    settled = {"result": True, "changes": {}, "comment": "nofile of www-data is 4096"}
    assert applied(tmp_path) == settled
