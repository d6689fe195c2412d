"""What ``startup_states`` makes a minion run."""

from __future__ import annotations

import dataclasses
import logging
from typing import Any

import pytest

from saltlite.config.load import load_minion
from saltlite.core.ids import valid_jid
from saltlite.minion.process import return_load
from saltlite.minion.startup import startup_job
from saltlite.minion.taken_job import TakenJob


def files(tmp_path: Any, **options: Any) -> Any:
    config = load_minion(str(tmp_path), {}, cache_id=False)
    return dataclasses.replace(config.files, **options)


@pytest.mark.parametrize(
    ("options", "fun", "arg"),
    [
        ({"startup_states": "highstate"}, "state.highstate", []),
        ({"startup_states": "sls", "sls_list": ["a", "b"]}, "state.sls", [["a", "b"]]),
        ({"startup_states": "top", "top_file": "other.sls"}, "state.top", ["other.sls"]),
    ],
)
def test_the_job_that_is_asked_for(
    tmp_path: Any, options: dict[str, Any], fun: str, arg: list[Any]
) -> None:
    job = startup_job(files(tmp_path, **options), "web1")
    assert job is not None
    assert (job["fun"], job["arg"], job["tgt"]) == (fun, arg, "web1")
    assert valid_jid(job["jid"])
    load = return_load("web1", TakenJob.of(job), {"jid": job["jid"], "fun": fun, "return": {}})
    assert load["jid"] == "req"  # the master gives it one


def test_none_by_default(tmp_path: Any) -> None:
    assert startup_job(files(tmp_path), "web1") is None


@pytest.mark.parametrize(("kind", "needed"), [("sls", "sls_list"), ("top", "top_file")])
def test_what_is_not_said_is_told(
    tmp_path: Any, caplog: pytest.LogCaptureFixture, kind: str, needed: str
) -> None:
    with caplog.at_level(logging.ERROR):
        assert startup_job(files(tmp_path, startup_states=kind), "web1") is None
    assert f"startup_states: {kind} needs {needed}" in caplog.text
