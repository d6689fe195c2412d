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


def call(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "saltlite.cli.salt_call", "--local", "-c", str(folder)]
    return subprocess.run([*command, *words], capture_output=True, text=True, check=False)


def applied(folder: Path, *options: str) -> dict[str, Any]:
    done = call(folder, "--out=json", "state.apply", "web", *options)
    (answer,) = json.loads(done.stdout)["local"].values()
    return {key: answer[key] for key in ("result", "changes", "comment")}


def configure(folder: Path) -> Path:
    """A minion without a master; its file root."""
    roots = folder / "srv"
    roots.mkdir()
    (folder / "minion").write_text(
        f"id: example\nfile_client: local\nroot_dir: {folder}\nfile_roots: {{base: [{roots}]}}\n"
        f"pillar_roots: {{base: [{folder}/pillar]}}\n"
    )
    return roots


def blocks_below(heading: str) -> dict[str, str]:
    """The blocks of a part of the page by their language."""
    page = (ROOT / "docs/states.md").read_text()
    part = page.split(f"### {heading}\n")[1].split("\n### ")[0]
    return dict(re.findall(r"^```(\w+)\n(.*?)^```", part, re.DOTALL | re.MULTILINE))


def shown_by(block: str) -> str:
    """What the page shows below its command."""
    command, _, shown = block.partition("\n")
    assert command.startswith("# salt-call --local ")
    return shown


def test_the_example_has_a_test_mode_that_nobody_wrote(tmp_path: Path) -> None:
    source = example("python")
    code = [line for line in source.splitlines() if line.strip()]
    assert len(code) <= 50

    roots = configure(tmp_path)
    (roots / "_states").mkdir()
    (roots / "_states" / "limits.py").write_text(source)
    limits = tmp_path / "limits.d"
    limits.mkdir()
    (roots / "web.sls").write_text(f"{example('yaml')}    - folder: {limits}\n")

    changes = {"nofile": {"old": None, "new": 4096}}
    would = {"result": None, "changes": changes, "comment": "nofile of www-data would be set"}
    assert applied(tmp_path, "test=True") == would
    assert not list(limits.iterdir())
    made = {"result": True, "changes": changes, "comment": "nofile was set"}
    assert applied(tmp_path) == made
    assert (limits / "www-data-nofile.conf").read_text() == "www-data - nofile 4096\n"
    settled = {"result": True, "changes": {}, "comment": "nofile of www-data is 4096"}
    assert applied(tmp_path) == settled


def test_mistakes_are_told_all_at_once(tmp_path: Path) -> None:
    blocks, roots = blocks_below("Mistakes, all at once"), configure(tmp_path)
    (roots / "web.sls").write_text(blocks["yaml"])
    (roots / "motd.jinja").write_text(blocks["jinja"])
    done = call(tmp_path, "state.check", "web")
    assert (done.stdout, done.returncode) == (shown_by(blocks["console"]), 1)


def test_what_a_run_did_otherwise_is_told(tmp_path: Path) -> None:
    blocks, roots = blocks_below("What a run did otherwise"), configure(tmp_path)
    (tmp_path / "etc").mkdir()
    (roots / "motd.sls").write_text(blocks["yaml"].replace("/etc", f"{tmp_path}/etc"))
    assert call(tmp_path, "state.apply", "motd", "test=True").returncode == 0
    (tmp_path / "etc" / "motd").write_text("welcome\n")
    assert call(tmp_path, "state.apply", "motd").returncode == 0
    done = call(tmp_path, "state.verify", "motd")
    seen = done.stdout.replace(str(tmp_path), "")
    moments = re.compile(r"^ +\d{20}$", re.MULTILINE)
    assert moments.sub("", seen) == moments.sub("", shown_by(blocks["console"]))
    assert done.returncode == 1


def test_the_graph_for_programs(tmp_path: Path) -> None:
    """The page shows a node and an edge; the rest of them is like these."""
    shown, roots = json.loads(blocks_below("The graph for programs")["json"]), configure(tmp_path)
    (roots / "web.sls").write_text(
        "nginx:\n  pkg.installed: []\n  service.running: [{require: [{pkg: nginx}]}]\n"
    )
    done = call(tmp_path, "--out=newline_values_only", "state.graph", "web", "format=json")
    graph = json.loads(done.stdout)
    assert graph["nodes"][1:] == shown["nodes"]
    assert graph["edges"] == shown["edges"]
