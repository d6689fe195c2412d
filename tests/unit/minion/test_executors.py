"""Executors: which one runs a function, and what they are given."""

from __future__ import annotations

import textwrap

import pytest

from saltlite.config.load import load_minion
from saltlite.context import MinionContext
from saltlite.errors import FunctionError
from saltlite.executors.splay import splay_s
from saltlite.host import Host
from saltlite.loader.registry import Registry
from saltlite.minion.executors import execute
from saltlite.minion.job import run_job
from saltlite.minion.taken_job import TakenJob

OWN = """
    def execute(opts, data, func, args, kwargs):
        if data.get("skip"):
            return None
        return [opts["id"], data["fun"], func(*args, **kwargs), __salt__["test.echo"]("x")]
"""


@pytest.fixture
def ctx(tmp_path):
    folder = tmp_path / "code/executors"
    folder.mkdir(parents=True)
    (folder / "own.py").write_text(textwrap.dedent(OWN))
    (tmp_path / "minion").write_text(
        f"id: m1\nroot_dir: {tmp_path}\nmodule_dirs: [{tmp_path}/code]\nsplaytime: 0\n"
    )
    made = MinionContext(config=load_minion(tmp_path), host=Host(), grains={}, pillar={})
    made.functions = Registry(made)
    return made


def ran(ctx, **job):
    return run_job(TakenJob.of({"fun": "test.arg_clean", "arg": [1], "jid": "x", **job}), ctx)


CLEAN = {"args": [1], "kwargs": {}}


@pytest.mark.parametrize("names", ["direct_call", ["direct_call"], "splay,direct_call"])
def test_the_function_runs(ctx, names):
    assert ran(ctx, module_executors=names)["return"] == CLEAN


def test_a_users_own_goes_first_and_gets_all(ctx):
    value = ["m1", "test.arg_clean", CLEAN, "x"]
    assert ran(ctx, module_executors=["own", "direct_call"])["return"] == value


def test_one_that_gives_nothing_leaves_it_to_the_next(ctx):
    assert ran(ctx, module_executors=["own", "direct_call"], skip=True)["return"] == CLEAN
    assert ran(ctx, module_executors=["own"], skip=True)["return"] is None


def test_one_that_is_not_there(ctx):
    found = ran(ctx, module_executors=["nosuch"])
    assert (found["return"], found["retcode"]) == ("ERROR: 'nosuch' executor is not available", 1)


@pytest.mark.parametrize(
    "job",
    [
        {"module_executors": 5},
        {"module_executors": "splay", "executor_opts": {"splaytime": "x"}},
    ],
)
def test_nonsense_is_refused(ctx, job):
    with pytest.raises(FunctionError):
        execute(lambda: None, [], {}, TakenJob.of(job), ctx)


def test_the_wait_is_the_same_each_time_and_spread():
    waits = [splay_s(300, f"web{number}") for number in range(1000)]
    assert waits == [splay_s(300, f"web{number}") for number in range(1000)]
    assert 0 <= min(waits) < 10
    assert 290 < max(waits) < 300
    assert splay_s(0, "x") == 0
