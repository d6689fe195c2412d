"""docs/modules.md: what it lists is there, and its example does what it says."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from programs import need
from salt_names import answered_names

from saltlite.config.load import load_minion
from saltlite.context import MinionContext
from saltlite.host import Host
from saltlite.loader import shim
from saltlite.loader.catalogue import KINDS
from saltlite.loader.registry import Registry
from saltlite.minion.job import run_job
from saltlite.minion.taken_job import TakenJob

PAGE = (Path(__file__).parents[2] / "docs/modules.md").read_text()


def test_every_answer_is_listed_and_no_other() -> None:
    listed = PAGE.partition("These answer, with our own code")[2].partition("Exceptions raised")[0]
    assert set(re.findall(r"`(salt\.[a-z_.]+)`", listed)) == answered_names()


@pytest.mark.parametrize("kind", ["states", "grains", "renderers", "returners", "utils", "runners"])
def test_the_options_with_directories_are_named(kind: str) -> None:
    assert f"`{KINDS[kind].option}`" in PAGE


def test_the_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need("git")  # so says its own __virtual__
    monkeypatch.setattr("sys.path", list(sys.path))
    code = PAGE.partition("```python\n")[2].partition("```")[0]
    roots = tmp_path / "srv"
    (roots / "_modules").mkdir(parents=True)
    (roots / "_modules/deploy.py").write_text(code)
    (tmp_path / "minion").write_text(
        f"id: m1\nroot_dir: {tmp_path}\nfile_client: local\nfile_roots: {{base: [{roots}]}}\n"
    )
    ctx = MinionContext(config=load_minion(tmp_path), host=Host(), grains={}, pillar={})
    ctx.functions = Registry(ctx)
    assert ctx.functions.call("saltutil.sync_modules") == ["modules.deploy"]
    fields = run_job(
        TakenJob.of({"fun": "release.list", "arg": ["/no/such/place"], "jid": "1"}), ctx
    )
    shim.uninstall()
    assert fields["return"] == "ERROR: /no/such/place is not there"
