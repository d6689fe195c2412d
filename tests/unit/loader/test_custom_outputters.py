"""Outputters of users' files."""

from __future__ import annotations

import logging

import pytest

from saltlite.config.load import load_minion
from saltlite.core.output_options import OutputOptions
from saltlite.loader import shim
from saltlite.loader.outputters import render


@pytest.fixture
def show(tmp_path):
    (tmp_path / "minion").write_text(f"id: m1\nroot_dir: {tmp_path}\n")
    config = load_minion(tmp_path)
    path = tmp_path / "var/cache/salt/minion/extmods/output/own.py"
    path.parent.mkdir(parents=True)

    def show(text, name="own", **options):
        path.write_text(text)
        return render({"m1": 1}, name, OutputOptions(**options), config)

    yield show
    shim.uninstall()


def test_it_shows_the_value(show):
    assert show("def output(data, **kw): return f'{data} {kw}\\n'\n", retcode=3) == (
        "{'m1': 1} {'_retcode': 3}"
    )


def test_it_sees_the_options_of_the_output(show):
    text = "def output(data, **kw): return f\"{__opts__['color']} {__opts__['id']}\"\n"
    assert show(text, color=True) == "True m1"


def test_one_with_our_name_goes_before_ours(show):
    text = "def __virtual__():\n    return 'json'\ndef output(data, **kw): return 'theirs'\n"
    assert show(text, "json") == "theirs"
    assert show(text, "yaml") == "m1: 1"


@pytest.mark.parametrize("text", ["def output(data, **kw): 1 / 0\n", "def output(:\n", "x = 1\n"])
def test_one_that_fails_leaves_it_to_ours(show, caplog, text):
    with caplog.at_level(logging.ERROR):
        assert show(text) == "m1:\n    1"
    assert all("\n" not in record.getMessage() for record in caplog.records)
    assert caplog.records
