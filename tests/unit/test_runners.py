"""Runners over a store, a client and a bus that are plain Python."""

import json
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

import pytest

from saltlite.client.runner import RunnerClient
from saltlite.config.master import MasterConfig, ProcessOptions, TargetOptions
from saltlite.errors import FunctionUnavailable, StoreError
from saltlite.loader.master_functions import RunnerFunctions, docs, resolve
from saltlite.runner_context import RunnerContext
from saltlite.runners import cache, jobs, manage, match, mine, saltutil, state, survey
from saltlite.transport.bus import Event

ONE = "20260102030405000001"
TWO = "20260102030405000002"
THREE = "20260103030405000003"


@dataclass
class Record:
    jid: str
    load: dict
    minions: list = field(default_factory=list)


class Store:
    def __init__(self):
        self.known = {}
        self.found = {}
        self.recorded = []

    def add(self, jid, fun, minions=(), returns=None, **load):
        base = {"fun": fun, "arg": [], "tgt": "*", "tgt_type": "glob", "user": "root"}
        self.known[jid] = Record(jid, {**base, **load}, list(minions))
        self.found[jid] = returns or {}

    def job(self, jid):
        return self.known.get(jid)

    def returns(self, jid):
        return self.found.get(jid, {})

    def search(self, query):
        for jid in sorted(self.known, reverse=query.newest_first):
            if jid >= query.since and (not query.until or jid[: len(query.until)] <= query.until):
                yield self.known[jid]

    def returns_of(self, minion, *, since=""):
        for jid in sorted(self.known, reverse=True):
            if jid >= since and minion in self.found[jid]:
                yield self.known[jid], self.found[jid][minion]

    def record(self, jid, load, minion, ret):
        self.recorded.append((jid, load, minion, ret))


class Local:
    def __init__(self):
        self.answers = {}
        self.asked = []

    def cmd(self, tgt, fun, arg=(), **kwargs):
        self.asked.append((tgt, fun, kwargs))
        return self.answers.get(fun if isinstance(fun, str) else tuple(fun), {})


class Keys:
    def __init__(self, accepted):
        self.states = {"minions": accepted, "minions_pre": ["new1"], "minions_rejected": []}

    def list(self, state):
        return self.states.get(state, [])

    def delete(self, minion, state):
        self.states[state].remove(minion)
        return True


class Cache:
    def __init__(self):
        self.banks = {}

    def fetch(self, bank, key):
        return self.banks.get(bank, {}).get(key)

    def store(self, bank, key, data):
        self.banks.setdefault(bank, {})[key] = data

    def drop(self, bank, key, name):
        self.banks.get(bank, {}).get(key, {}).pop(name, None)

    def flush(self, bank, key=None):
        if key is None:
            return self.banks.pop(bank, None) is not None
        return self.banks.get(bank, {}).pop(key, None) is not None

    def list(self, bank):
        return sorted(self.banks.get(bank, {}))

    def mtime_s(self, bank, key):
        return 5.5 if key in self.banks.get(bank, {}) else None


class Fired(list):
    def fire(self, tag, data):
        self.append((tag, data))


class Listener:
    def __init__(self, events):
        self.events = list(events)
        self.closed = False

    def get(self, timeout_s):
        return self.events.pop(0)

    def close(self):
        self.closed = True


@pytest.fixture
def ctx():
    minions = ["db1", "ghost", "web1"]
    written = []
    found = RunnerContext(
        config=MasterConfig(
            process=ProcessOptions(id="m_master"),
            targets=TargetOptions(nodegroups={"flat": "web1 or db1"}),
        ),
        jobs=Store(),
        keys=Keys(minions),
        key_material=None,
        cache=Cache(),
        events=Fired(),
        local=Local(),
        listen=lambda prefix: Listener([]),
        accepted=lambda: minions,
        connected=lambda: {"web1": "192.0.2.7"},
        expected=lambda tgt, kind: [one for one in minions if fnmatchcase(one, tgt)],
        cached=lambda tgt, kind: [one for one in minions if fnmatchcase(one, tgt)],
        write=written.append,
    )
    found.jobs.add(
        ONE,
        "test.echo",
        ["web1", "db1"],
        {"web1": {"return": "hello", "retcode": 0, "success": True}},
        arg=["hello"],
    )
    found.jobs.add(TWO, "saltutil.find_job", ["db1"], arg=[ONE], tgt=["db1"], tgt_type="list")
    found.jobs.add(
        THREE,
        "cmd.run",
        ["web1"],
        {"web1": {"return": "", "retcode": 3, "success": False, "out": "txt", "other": 1}},
        kwargs={"metadata": {"x": 1}},
    )
    return found


def test_lookup_jid_gives_the_returns_and_the_outputter(ctx):
    assert jobs.lookup_jid(ctx, ONE) == {"outputter": "nested", "data": {"web1": "hello"}}
    assert jobs.lookup_jid(ctx, THREE)["outputter"] == "txt"
    assert jobs.lookup_jid(ctx, "20300101000000000000")["data"] == {}
    assert jobs.lookup_jid(ctx, ONE, missing=True)["data"]["db1"] == "Minion did not return"
    assert jobs.lookup_jid(ctx, ONE, returned=False)["data"] == {}


def test_list_job_shows_all_of_a_job(ctx):
    assert jobs.list_job(ctx, ONE) == {
        "jid": ONE,
        "Function": "test.echo",
        "Arguments": ["hello"],
        "Target": "*",
        "Target-type": "glob",
        "User": "root",
        "StartTime": "2026, Jan 02 03:04:05.000001",
        "Minions": ["web1", "db1"],
        "Result": {"web1": {"return": "hello", "retcode": 0, "success": True}},
    }
    assert jobs.list_job(ctx, THREE)["Metadata"] == {"x": 1}
    assert jobs.list_job(ctx, THREE)["Result"]["web1"] == {
        "return": "",
        "retcode": 3,
        "success": False,
        "out": "txt",
    }


def test_list_job_of_an_unknown_jid_says_so(ctx):
    assert jobs.list_job(ctx, "20200101000000000000") == {
        "jid": "20200101000000000000",
        "Error": "Cannot contact returner or no job with this jid",
        "StartTime": "2020, Jan 01 00:00:00.000000",
        "Result": {},
    }
    assert jobs.list_job(ctx, "nonsense")["StartTime"] == ""


def test_print_job_is_the_same_under_the_jid(ctx):
    entry = jobs.list_job(ctx, ONE)
    del entry["jid"]
    assert jobs.print_job(ctx, ONE) == {ONE: entry}


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({}, [ONE, TWO, THREE]),
        ({"search_function": "test.e*"}, [ONE]),
        ({"search_function": "test.e*,cmd.run"}, [ONE, THREE]),
        ({"search_function": ["cmd.*"]}, [THREE]),
        ({"search_target": "web1"}, [ONE, THREE]),
        ({"search_target": "db1"}, [ONE, TWO]),
        ({"search_metadata": {"x": 1}}, [THREE]),
        ({"search_metadata": {"x": 2}}, []),
        ({"start_time": "2026-01-03"}, [THREE]),
        ({"start_time": "20260103"}, [THREE]),
        ({"start_time": 20260103}, [THREE]),
        ({"end_time": "2026, Jan 02 23:00"}, [ONE, TWO]),
        ({"start_time": "2030-01-01"}, []),
    ],
)
def test_list_jobs_filters(ctx, wanted, found):
    assert list(jobs.list_jobs(ctx, **wanted)) == found


def test_list_jobs_refuses_what_is_no_time(ctx):
    with pytest.raises(ValueError, match="not a time"):
        jobs.list_jobs(ctx, start_time="someday")


def test_list_jobs_with_an_outputter(ctx):
    assert jobs.list_jobs(ctx, outputter="txt", search_function="cmd.run")["outputter"] == "txt"


def test_list_jobs_filter_leaves_out_questions(ctx):
    assert [one["JID"] for one in jobs.list_jobs_filter(ctx, 2)] == [ONE, THREE]
    assert [one["JID"] for one in jobs.list_jobs_filter(ctx, 1)] == [THREE]
    assert len(jobs.list_jobs_filter(ctx, 9, filter_find_job=False)) == 3


def test_last_run(ctx):
    assert list(jobs.last_run(ctx)) == [THREE]
    assert list(jobs.last_run(ctx, function="test.echo")) == [ONE]
    assert list(jobs.last_run(ctx, target="db1")) == [TWO]
    assert list(jobs.last_run(ctx, metadata={"x": 1})) == [THREE]
    assert jobs.last_run(ctx, function="nosuch") is False


def test_active_joins_what_minions_say(ctx):
    running = {"jid": ONE, "fun": "test.echo", "arg": [1], "tgt": "*", "tgt_type": "glob", "pid": 7}
    ctx.local.answers["saltutil.running"] = {
        "db1": [running],
        "web1": [{**running, "pid": 8}],
        "bad": "nonsense",
        "worse": ["nonsense", {"jid": 5}],
    }
    found = jobs.active(ctx)
    assert list(found) == [ONE]
    assert found[ONE]["Running"] == [{"db1": 7}, {"web1": 8}]
    assert found[ONE]["Returned"] == ["web1"]
    assert found[ONE]["Function"] == "test.echo"


def test_exit_success(ctx):
    assert jobs.exit_success(ctx, ONE) == {"db1": False, "web1": True}
    assert jobs.exit_success(ctx, THREE) == {"web1": False}


def test_manage_up_and_down(ctx):
    ctx.local.answers["test.ping"] = {"web1": True, "db1": True, "stranger": True}
    assert manage.status(ctx) == {"up": ["db1", "web1"], "down": ["ghost"]}
    assert manage.up(ctx) == ["db1", "web1"]
    assert manage.down(ctx, tgt="g*") == ["ghost"]
    assert manage.down(ctx, removekeys=True) == ["ghost"]
    assert "ghost" not in ctx.keys.list("minions")


def test_manage_versions_groups(ctx):
    ctx.local.answers["test.version"] = {"web1": "3006.30", "db1": "3008.5"}
    assert manage.versions(ctx) == {
        "Master": "3006.30",
        "Up to date": {"web1": "3006.30"},
        "Minion newer than master": {"db1": "3008.5"},
        "Minion offline": {"ghost": False},
    }
    ctx.local.answers["test.version"] = {"web1": "3005.1+x", "db1": 5}
    assert manage.versions(ctx)["Minion requires update"] == {"web1": "3005.1+x"}


def test_manage_overview_has_each_minions_last_states_and_no_test_of_them(ctx):
    step = {"__run_num__": 0, "result": True, "changes": {}}
    changed, failed = {**step, "changes": {"x": 1}}, {**step, "result": False}
    trial = {**step, "result": None, "changes": {"x": 1}}
    ctx.jobs.add(ONE, "state.apply", returns={
        "web1": {"return": {"a": step, "b": changed, "c": failed}, "retcode": 2},
        "db1": {"return": {"a": step}, "retcode": 0, "success": True},
    })  # fmt: skip
    ctx.jobs.add(TWO, "state.apply", returns={"web1": {"return": {"a": trial}, "retcode": 0}})
    ctx.jobs.add(THREE, "state.show_top", returns={"db1": {"return": {"base": []}, "retcode": 0}})
    found = manage.overview(ctx)
    assert sorted(found) == ["db1", "ghost", "web1"]
    assert found["web1"]["states"] == {
        "jid": ONE, "fun": "state.apply", "success": False, "total": 3, "changed": 1, "failed": 1,
    }  # fmt: skip
    assert found["db1"]["states"]["success"] is True
    assert found["ghost"]["states"] is None
    assert (found["web1"]["connected"], found["db1"]["connected"]) == (True, False)
    assert found["web1"]["last_heard"] == 1767323045.000002  # TWO was its newest
    assert found["ghost"]["last_heard"] is None


def test_manage_present(ctx):
    assert manage.present(ctx) == manage.alived(ctx) == ["web1"]
    assert manage.not_present(ctx) == manage.not_alived(ctx) == ["db1", "ghost"]
    assert manage.present(ctx, subset=["db1"]) == []


def events(*tags):
    return [Event(tag, {"b": 1, "a": "é"}) for tag in tags]


def test_state_event_prints_what_matches(ctx):
    seen = []
    listener = Listener(events("salt/job/1/new", "salt/auth", "salt/job/1/ret/web1"))
    ctx.listen = lambda prefix: seen.append(prefix) or listener
    lines = []
    ctx.write = lines.append
    assert state.event(ctx, "salt/job/*", count=2) is None
    assert seen == ["salt/job/"]
    assert lines == [
        'salt/job/1/new\t{"b": 1, "a": "é"}',
        'salt/job/1/ret/web1\t{"b": 1, "a": "é"}',
    ]
    assert listener.closed


def test_state_event_pretty_quiet_and_bytes(ctx):
    lines = []
    ctx.write = lines.append
    ctx.listen = lambda prefix: Listener([Event("t", {"b": b"\xc3\xa9", "a": 1})])
    state.event(ctx, count=1, pretty=True)
    tag, _, text = lines[0].partition("\t")
    assert tag == "t"
    assert text == '{\n    "a": 1,\n    "b": "é"\n}'
    assert list(json.loads(text)) == ["a", "b"]
    ctx.listen = lambda prefix: Listener(events("t"))
    state.event(ctx, count=1, quiet=True)
    assert len(lines) == 1


# --- the rest of them ----------------------------------------------------------------------------


def test_why_names_each_that_is_missing(ctx):
    ctx.jobs.known[ONE].minions += ["new1", "ghost"]
    ctx.local.answers[("saltutil.find_job", "saltutil.received")] = {
        "db1": {"saltutil.find_job": {"jid": ONE, "fun": "test.echo", "pid": 9}}
    }
    found = jobs.why(ctx, ONE)
    assert {minion: one["reason"] for minion, one in found.items()} == {
        "db1": "running",
        "new1": "key",
        "ghost": "not connected",
    }
    assert jobs.why(ctx, "20300101000000000000") == {"Error": jobs.UNKNOWN}


def test_why_does_not_ask_who_is_known_to_be_silent(ctx):
    from saltlite.jobs.why import reasons

    assert reasons(ctx, ONE, ["db1"], silent={"db1"})["db1"]["reason"] == "not connected"
    assert ctx.local.asked == []


def test_changes_of_a_minion(ctx):
    found = jobs.changes(ctx, "web1", since="2026-01-01")
    assert {jid: entry["Changes"] for jid, entry in found.items()} == {THREE: "not told"}
    assert found[THREE]["Function"] == "cmd.run"
    assert jobs.changes(ctx, "web1", since="2026-01-01", until="2026-01-02 23:00") == {}
    assert jobs.changes(ctx, "web1", since="2026-01-04") == {}


def test_jobs_of_a_user(ctx):
    ctx.jobs.known[TWO].load["user"] = "sudo_alice"
    assert list(jobs.list_jobs(ctx, search_user="sudo_*")) == [TWO]


def test_caches(ctx):
    ctx.cache.store("grains", "web1", {"os": "Debian"})
    ctx.cache.store("mine", "web1", {"a": 1, "b": 2})
    others = {one: {} for one in ctx.cached("*", "glob") if one != "web1"}
    assert cache.grains(ctx, "*") == {"web1": {"os": "Debian"}, **others}
    assert cache.mine(ctx, "db*") == {}
    assert cache.clear_mine_func(ctx, "web1", clear_mine_func_flag="a") is True
    assert cache.mine(ctx) == {"web1": {"b": 2}}
    assert cache.clear_mine_func(ctx, clear_mine_func_flag="b") is False
    assert cache.clear_all(ctx) is False
    assert cache.clear_all(ctx, "nosuch") is True  # as in Salt: there is nothing left of it
    assert cache.clear_all(ctx, "web*") is True
    assert set(map(str, cache.grains(ctx, "*").values())) <= {"{}"}


def test_banks(ctx):
    client = RunnerClient(ctx)
    assert client.cmd("cache.store", ["a/b", "k", {"x": 1}]) is None
    assert client.cmd("cache.fetch", ["a/b", "k"]) == {"x": 1}
    assert client.cmd("cache.fetch", ["a/b", "none"]) == {}
    assert client.cmd("cache.list", ["a/b"]) == ["k"]
    assert client.cmd("cache.contains", ["a/b", "k"]) is True
    assert client.cmd("cache.updated", ["a/b", "k"]) == 5
    assert client.cmd("cache.flush", ["a/b"]) is True
    assert client.cmd("cache.flush", ["a/b"]) is False
    assert client.cmd("cache.contains", ["a/b"]) is False
    assert "not supported" in client.cmd("cache.list", ["a"], {"cachedir": "/etc"})


def test_the_mine_from_the_master(ctx):
    hidden = {"__data__": [1], "__saltmine_acl__": 1, "allow_tgt": "db1"}
    ctx.cache.store("mine", "web1", {"a": hidden, "b": 2})
    ctx.cache.store("mine", "db1", {"a": 3})
    assert mine.get(ctx, "*", "a") == {"db1": 3, "web1": [1]}
    assert mine.get(ctx, "*", "a,b,c") == {"a": {"db1": 3, "web1": [1]}, "b": {"web1": 2}}
    ctx.local.answers["mine.update"] = {"web1": True}
    assert mine.update(ctx, "*") == {"web1": True}


def test_surveys_group_by_what_is_returned(ctx):
    ctx.local.answers["test.x"] = {"a": {"k": 1}, "b": "two\nlines", "c": {"k": 1}}
    pools = survey.hash_(ctx, "*", "test.x")
    assert pools == [
        {"pool": ["a", "c"], "result": "{'k': 1}"},
        {"pool": ["b"], "result": "two\nlines"},
    ]
    assert survey.hash_(ctx, "*", "test.x", survey_sort="up") == pools[::-1]
    lines = []
    ctx.write = lines.append
    assert survey.diff(ctx, "*", "test.x") == pools
    assert "+two" in lines
    with pytest.raises(ValueError, match="target"):
        survey.hash_(ctx, "*")


def test_compound_targets_are_tried_out(ctx):
    assert match.compound_matches(ctx, "web*", "web1") == {"res": "web1"}
    assert match.compound_matches(ctx, "db*", "web1") == {"res": False}


def test_custom_code_is_copied_to_the_master(ctx, tmp_path, monkeypatch):
    from saltlite.config.master import FileOptions, PathOptions

    (tmp_path / "srv" / "_runners").mkdir(parents=True)
    (tmp_path / "srv" / "_runners" / "mine_own.py").write_text(
        "def hello(name='you'):\n    return [name, sorted(__salt__)[0]]\n"
    )
    ctx.config = MasterConfig(
        paths=PathOptions(cachedir=str(tmp_path), extension_modules=str(tmp_path / "ext")),
        files=FileOptions(file_roots={"base": [str(tmp_path / "srv")]}),
    )
    ctx.functions = RunnerFunctions(ctx)
    assert saltutil.sync_runners(ctx) == ["runners.mine_own"]
    found = saltutil.sync_all(ctx, extmod_blacklist=["mine_own"])
    assert found["runners"] == []
    saltutil.sync_runners(ctx)
    assert RunnerClient(ctx).cmd("mine_own.hello") == ["you", "auth.del_token"]


def test_execution_functions_on_the_master(ctx):
    assert RunnerClient(ctx).cmd("salt.cmd", ["test.echo", "hi"]) == "hi"
    ctx.local.answers["test.ping"] = {"web1": True}
    assert RunnerClient(ctx).cmd("salt.execute", ["*", "test.ping"]) == {"web1": True}


def test_events_are_sent(ctx):
    assert RunnerClient(ctx).cmd("event.send", ["my/tag", {"a": 1}]) is True
    assert ("my/tag", {"a": 1}) in ctx.events


def test_pillar_of_a_minion(ctx, tmp_path):
    from saltlite.config.master import PathOptions, PillarOptions

    (tmp_path / "top.sls").write_text("base:\n  '*': [one]\n  'web*': [two]\n")
    (tmp_path / "one.sls").write_text("a: {{ grains.get('os', 'none') }}\n")
    (tmp_path / "two.sls").write_text("b: {{ opts['id'] }}\n")
    ctx.config = MasterConfig(
        process=ProcessOptions(id="m_master"),
        paths=PathOptions(cachedir=str(tmp_path / "c"), extension_modules=str(tmp_path / "e")),
        pillar=PillarOptions(pillar_roots={"base": [str(tmp_path)]}),
    )
    client = RunnerClient(ctx)
    ctx.cache.store("grains", "web1", {"os": "Debian"})
    assert client.cmd("pillar.show_pillar", ["web1"]) == {"a": "Debian", "b": "web1"}
    assert client.cmd("pillar.show_pillar", ["web1"], {"os": "Foo"})["a"] == "Foo"
    assert client.cmd("pillar.show_pillar") == {"a": "none"}


def test_top_files_of_pillar_are_shown_with_all_targets(ctx, tmp_path):
    # Source: compared with Salt 3006.30.
    from saltlite.config.master import PathOptions, PillarOptions

    base, dev = tmp_path / "base", tmp_path / "dev"
    base.mkdir()
    dev.mkdir()
    (base / "top.sls").write_text(
        "include: [more]\n"
        "base:\n"
        "  {{ grains.get('id', 'none') }}: [one]\n"
        "  '*': [a]\n"
        "  'role:web': [three, {ignore_missing: true}, {match: grain}, three, one]\n"
        "  other: [{dev: one}]\n"
    )
    (base / "more.sls").write_text("base: {'*': [b, b]}\n")
    (dev / "top.sls").write_text("dev: {q: [x]}\n")
    ctx.config = MasterConfig(
        process=ProcessOptions(id="m_master"),
        paths=PathOptions(cachedir=str(tmp_path / "c"), extension_modules=str(tmp_path / "e")),
        pillar=PillarOptions(pillar_roots={"base": [str(base)], "dev": [str(dev)]}),
    )
    client = RunnerClient(ctx)
    ctx.cache.store("grains", "web1", {"id": "web1"})
    expected = {
        "base": {
            "web1": ["one"],
            "*": ["b"],
            "role:web": [{"match": "grain"}, "three", "one"],
            "other": [],
        },
        "dev": {"q": ["x"]},
    }
    assert client.cmd("pillar.show_top", ["web1"]) == expected
    assert client.cmd("pillar.show_top") == expected
    assert client.cmd("pillar.show_top", ["db1"])["base"]["none"] == ["one"]
    (base / "top.sls").write_text("base: {{ nothing.x }}\n")
    (error,) = client.cmd("pillar.show_top", ["web1"])
    assert error.startswith("Rendering Primary Top file failed, render error:\n")


def test_what_is_not_here_is_said_in_a_sentence(ctx):
    for name, arg in (("manage.safe_accept", ["web1"]),):
        ran = RunnerClient(ctx).run(name, arg, {})
        assert not ran.success
        assert "Traceback" not in ran.return_


# --- how runners are run -------------------------------------------------------------------------


def test_a_run_is_announced_recorded_and_returned(ctx):
    ran = RunnerClient(ctx).run("test.arg", ["a"], {"b": 1, "__c": 2}, jid=ONE)
    assert (ran.success, ran.wrong) == (True, None)
    assert ran.return_ == {"args": ["a"], "kwargs": {"b": 1}}
    (new_tag, new), (ret_tag, ret) = ctx.events
    assert (new_tag, ret_tag) == (f"salt/run/{ONE}/new", f"salt/run/{ONE}/ret")
    assert new["fun"] == "runner.test.arg"
    assert new["fun_args"] == ["a", {"b": 1, "__c": 2}]
    assert ret["return"] == ran.return_
    assert ret["success"] is True
    jid, load, minion, kept = ctx.jobs.recorded[0]
    assert (jid, minion, load["fun"], load["tgt"]) == (
        ONE,
        "m_master",
        "runner.test.arg",
        "m_master",
    )
    assert kept["return"]["return"] == ran.return_


def test_an_exception_becomes_a_text(ctx):
    ran = RunnerClient(ctx).run("error.error", ["SyntaxError"], {"message": "hey"})
    assert not ran.success
    assert ran.return_.startswith("Exception occurred in runner error.error: Traceback")
    assert ran.return_.endswith("SyntaxError: hey")
    assert ctx.events[1][1]["success"] is False


def test_a_record_that_cannot_be_kept_does_not_stop_it(ctx, caplog):
    def full(*_):
        raise StoreError("disk is full")

    ctx.jobs.record = full
    assert RunnerClient(ctx).cmd("test.arg", ["a"]) == {"args": ["a"], "kwargs": {}}
    assert "disk is full" in caplog.text


@pytest.mark.parametrize(
    "name", ["nosuch.func", "nosuch", "jobs.nosuch", "jobs._entry", "jobs.", ""]
)
def test_what_is_not_there(ctx, name):
    with pytest.raises(FunctionUnavailable):
        RunnerClient(ctx).run(name, [], {})
    assert ctx.events == []


@pytest.mark.parametrize(
    ("name", "args", "kwargs", "text"),
    [
        ("jobs.lookup_jid", [], {}, "lookup_jid() missing 1 required positional argument: 'jid'"),
        (
            "jobs.lookup_jid",
            ["1"],
            {"bogus": 1},
            "lookup_jid() got an unexpected keyword argument 'bogus'",
        ),
        ("jobs.active", [1, 2], {}, "active() too many positional arguments"),
    ],
)
def test_wrong_arguments_are_said_before_anything_happens(ctx, name, args, kwargs, text):
    ran = RunnerClient(ctx).run(name, args, kwargs)
    assert ran.wrong == text
    assert ctx.events == []
    with pytest.raises(TypeError):
        RunnerClient(ctx).cmd(name, args, kwargs)


def test_config_get(ctx):
    client = RunnerClient(ctx)
    assert client.cmd("config.get", ["nodegroups:flat"]) == "web1 or db1"
    assert client.cmd("config.get", ["nodegroups:none"]) == ""
    assert client.cmd("config.get", ["none"], {"default": 5}) == 5
    assert client.cmd("config.get", ["worker_threads"]) == 5


def test_jids_of_runs_go_up(ctx):
    client = RunnerClient(ctx)
    jids = [client.next_jid() for _ in range(50)]
    assert jids == sorted(set(jids))


def test_every_runner_has_documentation_with_an_example():
    found = docs()
    assert "jobs.lookup_jid" in found
    for name, doc in found.items():
        assert "CLI Example:" in doc, name
        function = name.partition(".")[2]
        assert f"salt-run {name}" in doc or f"``{function}``" in doc, name
    assert list(docs(["jobs.active"])) == ["jobs.active"]
    assert set(docs(["test"])) == {
        "test.arg",
        "test.get_opts",
        "test.metasyntactic",
        "test.raw_arg",
        "test.sleep",
        "test.stdout_print",
    }
    assert docs(["tes"]) == {}


def test_the_rest_of_test(ctx):
    written = []
    ctx.write = written.append
    client = RunnerClient(ctx)
    assert client.cmd("test.raw_arg", [1], {"__a": 2}) == {"args": [1], "kwargs": {"__a": 2}}
    assert client.cmd("test.sleep", [0]) is True
    assert client.cmd("test.stdout_print") == "bar"
    assert written == ["foo"]
    assert client.cmd("jobs.master") == []
    assert resolve("test.arg", ctx).doc.startswith("\n    Return")
