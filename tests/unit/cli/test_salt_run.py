"""``salt-run``, in this process: what it prints and how it ends. Source: docs/cli.md#salt-run."""

import json
import os
import threading
from functools import partial

import pytest

from saltlite.cli import runs, salt_run
from saltlite.cli.stores import open_jobs, open_stores

JID = "20260102030405000001"


@pytest.fixture
def run(call_with_master):
    return partial(call_with_master, salt_run.main)


def test_a_runner_with_arguments(run):
    assert run("test.arg", "a", "b=1", "c=[1, 2]") == (
        0,
        "args:\n    - a\nkwargs:\n    ----------\n    b:\n        1\n    c:\n        - 1\n"
        "        - 2\n",
        "",
    )
    assert run("test.arg", "--out=json", "--out-indent=-1")[1] == '{"args": [], "kwargs": {}}\n'
    assert run("test.arg", "b=1", "--no-parse=b", "--out=raw")[1] == (
        "{'args': [], 'kwargs': {'b': '1'}}\n"
    )


def test_config(run):
    assert run("config.get", "nodegroups:flat") == (0, "web1 or db1\n", "")
    assert run("config.get", "nosuch") == (0, "", "")


@pytest.mark.parametrize(
    ("words", "out", "err"),
    [
        (["nosuch.func"], "'nosuch.func' is not available.", ""),
        (["nosuch"], "'nosuch' is not available.", ""),
        (["jobs"], "'jobs' is not available. jobs is a module; -d jobs lists its functions.", ""),
        (
            ["jobs.lokup_jid"],
            "'jobs.lokup_jid' is not available. Did you mean 'jobs.lookup_jid'?",
            "",
        ),
        (
            ["manag.up"],
            "'manag.up' is not available. Did you mean 'manage.up'?",
            "",
        ),
        (["jobs.lookup_jid", "x"], "jobs.lookup_jid: 'x' is no job id: it must be 20 digits", ""),
        (["-d", "nosuch"], "", "'nosuch' is not available."),
        (["-d", "jobs.nosuch"], "", "'jobs.nosuch' is not available."),
    ],
)
def test_a_mistake_is_one_line_and_1(run, words, out, err):
    assert run(*words) == (1, out and f"{out}\n", err and f"{err}\n")


def test_wrong_arguments(run):
    code, out, err = run("jobs.lookup_jid")
    assert (code, err) == (1, "")
    assert out.startswith(
        "\nPassed invalid arguments: lookup_jid() missing 1 required positional argument: 'jid'\n"
        "\nUsage:\n\n    Return the printout"
    )


def test_a_keyword_that_is_not_taken_shows_what_is(run):
    code, out, err = run("manage.up", "bogus=1")
    assert code == 1
    assert out.startswith("manage.up:\n    \n")
    assert err == "Passed invalid arguments: up() got an unexpected keyword argument 'bogus'\n"


def test_a_misspelt_keyword_is_told_with_the_right_one(run):
    told = "up() got an unexpected keyword argument 'tgt_typ'; did you mean 'tgt_type'?"
    code, _out, err = run("manage.up", "tgt_typ=list")
    assert (code, err) == (1, f"Passed invalid arguments: {told}\n")


def test_an_exception_is_a_traceback_and_1(run):
    code, out, _err = run("error.error")
    assert code == 1
    assert out.startswith("Exception occurred in runner error.error: Traceback")


@pytest.mark.parametrize(
    ("value", "code"),
    [("{retcode: 3}", 3), ("{data: {retcode: 4}}", 4), ("{retcode: 256}", 1), ("{retcode: 0}", 0)],
)
def test_the_retcode_of_a_map_is_the_exit_code(run, value, code):
    run("cache.store", "bank", "key", value)
    assert run("cache.fetch", "bank", "key")[0] == code


def test_a_check_of_nobody_is_no_check(run):
    assert run("check.pillar", "nosuch") == (
        1,
        "check.pillar: no minion with an accepted key fits 'nosuch'\n",
        "",
    )


def test_jobs_on_record(run, master):
    store = open_stores(master.config).open_jobs()
    load = {"fun": "test.echo", "arg": ["x"], "tgt": "*", "tgt_type": "glob", "user": "root"}
    store.new_job(JID, load, ["web1"])
    store.add_return(JID, "web1", {"return": "hello", "retcode": 0, "success": True})
    store.close()
    assert run("jobs.lookup_jid", JID) == (0, "web1:\n    hello\n", "")
    assert run("jobs.lookup_jid", JID, "--out", "json")[1] == '{\n    "web1": "hello"\n}\n'
    assert run("jobs.lookup_jid", "20200101000000000000") == (0, "", "")
    assert run("jobs.exit_success", JID) == (0, "web1:\n    True\n", "")
    code, out, _err = run("jobs.list_jobs", "search_function=test.echo", "--out=json")
    assert code == 0
    assert list(json.loads(out)) == [JID]
    assert json.loads(out)[JID]["StartTime"] == "2026, Jan 02 03:04:05.000001"


def test_a_run_is_on_record(run):
    run("test.arg", "x", "--jid", JID)
    code, out, _err = run("jobs.list_job", JID, "--out=json")
    entry = json.loads(out)
    assert code == 0
    assert entry["Function"] == "runner.test.arg"
    (returned,) = entry["Result"].values()
    assert returned["return"]["return"] == {"args": ["x"], "kwargs": {}}


def test_manage(run):
    assert run("manage.up") == (0, "- web1\n", "")
    assert run("manage.status") == (0, "down:\n    - ghost\nup:\n    - web1\n", "")
    assert run("manage.versions")[1] == (
        "Master:\n    3006.30\nMinion offline:\n    ----------\n    ghost:\n        False\n"
        "Up to date:\n    ----------\n    web1:\n        3006.30\n"
    )


def test_nothing_is_running(run):
    assert run("jobs.active") == (0, "", "")


def test_events_are_printed_as_they_come(master, capsys):
    seen = threading.Event()

    def fire():
        while not seen.wait(0.02):
            master.fire("my/tag", {"a": 1, "_stamp": "x"})

    thread = threading.Thread(target=fire)
    thread.start()
    try:
        code = salt_run.main(["-c", str(master.folder), "state.event", "my/*", "count=1"])
    finally:
        seen.set()
        thread.join()
    assert code == 0
    assert capsys.readouterr().out == 'my/tag\t{"a": 1, "_stamp": "x"}\nNone\n'


def test_events_need_a_master(run, master, monkeypatch):
    monkeypatch.setattr(runs, "BUS_TIMEOUT_S", 0.05)
    (master.folder / "master_event_pub.ipc").unlink()
    assert run("state.event") == (
        69,
        "The salt master could not be contacted. Is master running?\n",
        "",
    )


def test_documentation(run):
    code, out, _err = run("-d", "jobs.active")
    assert code == 0
    assert out.startswith("jobs.active:\n\n    Return a report")
    assert out.endswith("        salt-run jobs.active\n    \n")
    code, out, _err = run()
    assert code == 0
    assert "config.get:\n    \n        Return an option" in out


def test_in_the_background(run, master, monkeypatch):
    forked = []
    fork = os.fork
    monkeypatch.setattr(os, "fork", lambda: forked.append(fork()) or forked[-1])
    code, out, err = run("test.arg", "x", "--async", "--jid", JID)
    assert (code, out) == (0, "")
    assert err.startswith("[WARNING ] Running in asynchronous mode. Results of this execution")
    assert err.endswith(f"This execution is running under tag salt/run/{JID}\n")
    _pid, status = os.waitpid(forked[-1], 0)
    assert status == 0
    assert open_jobs(master.config).returns(JID)


def test_wrong_options(run, capsys):
    with pytest.raises(SystemExit) as end:
        run("--bogus")
    assert end.value.code == 64
    assert capsys.readouterr().err == (
        "Usage: salt-run [options] <function> [arguments]\n\n"
        "salt-run: error: no such option: --bogus\n"
    )


@pytest.mark.parametrize("jid", ["x", "../x", "99999999999999999999", "30000101000000000000", "1"])
def test_a_job_id_is_a_time_that_has_come(run, capsys, jid):
    with pytest.raises(SystemExit) as end:
        run("test.arg", "--jid", jid)
    assert end.value.code == 64
    assert f"--jid: {jid} is not the time of a job" in capsys.readouterr().err
