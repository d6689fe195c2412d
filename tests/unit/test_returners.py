"""The built-in returners, in files of their own."""

import errno
import json
import os
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from saltlite.config.minion import MinionConfig, ModuleOptions
from saltlite.core.job_query import JobQuery
from saltlite.errors import FunctionUnavailable, StoreError
from saltlite.jobs.deliver import deliver, missing_returners, returner_names
from saltlite.jobs.returner_context import options
from saltlite.jobs.stored import source
from saltlite.loader.catalogue import RETURNERS
from saltlite.loader.returners import resolve
from saltlite.returners import rawfile_json
from saltlite.returners import syslog as syslog_returner

JID = "20260102030405000006"
RET = {
    "id": "web1",
    "jid": JID,
    "fun": "test.echo",
    "fun_args": ["hi"],
    "return": {"a": [1]},
    "retcode": 0,
    "success": True,
}


@dataclass
class Context:
    extra: dict = field(default_factory=dict)
    functions: object = None

    @property
    def config(self):
        paths = SimpleNamespace(extension_modules="/nonexistent", module_dirs=(), cachedir="/x")
        return SimpleNamespace(extra=self.extra, paths=paths)


@pytest.fixture
def database(tmp_path):
    return Context({"sqlite3.database": str(tmp_path / "d" / "salt.db")})


@pytest.mark.parametrize(
    ("ret", "option", "names"),
    [
        ("", "", []),
        ("a, b,a", ["c", "a"], ["a", "b", "c"]),
        (None, "local", ["local"]),
        (["x"], "", ["x"]),
    ],
)
def test_names_of_returners(ret, option, names):
    assert returner_names(ret, option) == names


def test_options_in_their_order():
    ctx = Context({"x.a": 1, "x": {"b": 2}, "other.x.a": 3})
    assert options(ctx, "x", None, {"a": 0, "b": 0, "c": 0}) == {"a": 1, "b": 2, "c": 0}
    assert options(ctx, "x", {"ret_config": "other"}, {"a": 0}) == {"a": 3}
    given = {"ret_kwargs": {"a": 9, "z": 1}}
    assert options(ctx, "x", given, {"a": 0}) == {"a": 9}


def test_local_prints(capsys):
    resolve("local", Context()).call("returner", RET)
    assert capsys.readouterr().out == f"{RET}\n"


def test_rawfile_json_appends_one_line_each(tmp_path):
    path = tmp_path / "log" / "events"
    returner = resolve("rawfile_json", Context({"rawfile_json.filename": str(path)}))
    returner.call("returner", RET)
    returner.call("event_return", [{"tag": "t", "data": {"b": b"x"}}])
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert lines == [RET, {"tag": "t", "data": {"b": "x"}}]


def test_rawfile_json_writes_a_line_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "events"
    returner = resolve("rawfile_json", Context({"rawfile_json.filename": str(path)}))
    returner.call("returner", RET)
    before, write, left = path.read_bytes(), os.write, [40, 10]

    def write_short(fd, data):
        if not left:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(fd, bytes(data)[: left.pop()])

    monkeypatch.setattr(os, "write", write_short)
    with pytest.raises(StoreError, match=r"events: No space left on device$"):
        returner.call("returner", {**RET, "return": "x" * 100})
    assert path.read_bytes() == before
    left += [1 << 20, 7]
    returner.call("returner", RET)
    assert path.read_bytes() == before * 2


def test_rawfile_json_says_what_it_cannot_write(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(rawfile_json, "RECORD_BYTES", 1000)
    returner = resolve("rawfile_json", Context({"rawfile_json.filename": str(tmp_path)}))
    with pytest.raises(StoreError, match=f"cannot write {tmp_path}: Is a directory"):
        returner.call("returner", RET)
    path = tmp_path / "events"
    returner = resolve("rawfile_json", Context({"rawfile_json.filename": str(path)}))
    with pytest.raises(StoreError, match="at most 1000 are allowed"):
        returner.call("returner", {**RET, "return": "x" * 1000})
    returner.call("event_return", [{"tag": "a"}, {"tag": "big", "data": "x" * 1000}, {"tag": "b"}])
    assert [json.loads(line)["tag"] for line in path.read_text().splitlines()] == ["a", "b"]
    assert "The event big is not kept" in caplog.text


@pytest.mark.parametrize("key", [b"\xff", (1, 2)])
def test_a_key_that_json_has_not_costs_no_record(tmp_path, database, monkeypatch, key):
    path = tmp_path / "events"
    raw = resolve("rawfile_json", Context({"rawfile_json.filename": str(path)}))
    raw.call("event_return", [{"tag": "a", "data": {key: 1}}, {"tag": "b"}])
    assert [json.loads(line)["tag"] for line in path.read_text().splitlines()] == ["a", "b"]
    value = {**RET, "return": {key: 1}}
    kept = resolve("sqlite3", database)
    kept.call("returner", value)
    assert list(kept.call("get_jid", JID)) == ["web1"]
    sent = []
    monkeypatch.setattr(syslog_returner.syslog, "openlog", lambda *_args: None)
    monkeypatch.setattr(syslog_returner.syslog, "syslog", lambda *args: sent.append(args))
    resolve("syslog", Context()).call("returner", value)
    text = "\ufffd" if key == b"\xff" else "(1, 2)"
    assert json.loads(sent[0][1])["return"] == {text: 1}


def test_rawfile_json_leaves_out_an_event_that_is_no_json(tmp_path, caplog):
    path = tmp_path / "events"
    endless = {}
    endless["itself"] = endless
    raw = resolve("rawfile_json", Context({"rawfile_json.filename": str(path)}))
    raw.call("event_return", [{"tag": "a", "data": endless}, {"tag": "b"}])
    assert [json.loads(line)["tag"] for line in path.read_text().splitlines()] == ["b"]
    assert "The event a is not kept: rawfile_json: a record is no JSON" in caplog.text


def test_syslog_sends_json_under_its_tag(monkeypatch):
    sent = []
    monkeypatch.setattr(syslog_returner.syslog, "openlog", lambda *args: sent.append(args))
    monkeypatch.setattr(syslog_returner.syslog, "syslog", lambda *args: sent.append(args))
    ctx = Context({"syslog.level": "LOG_ERR", "syslog.options": ["LOG_PID"]})
    resolve("syslog", ctx).call("returner", RET)
    (tag, flags), (priority, text) = sent
    assert (tag, flags) == ("salt-minion", syslog_returner.syslog.LOG_PID)
    assert priority == syslog_returner.syslog.LOG_ERR | syslog_returner.syslog.LOG_USER
    assert json.loads(text) == RET


def test_syslog_says_which_word_it_does_not_know(monkeypatch, caplog):
    monkeypatch.setattr(syslog_returner.syslog, "syslog", lambda *_: pytest.fail("was sent"))
    resolve("syslog", Context({"syslog.facility": "LOG_NOSUCH"})).call("returner", RET)
    assert "LOG_NOSUCH" in caplog.text


def test_sqlite3_keeps_jobs_and_returns(database):
    returner = resolve("sqlite3", database)
    load = {"fun": "test.echo", "arg": ["hi"], "tgt": "*", "tgt_type": "glob", "user": "root"}
    returner.call("save_load", JID, load, ["web1"])
    returner.call("save_load", JID, {"fun": "another"}, [])
    returner.call("returner", RET)
    returner.call("returner", {**RET, "id": "db1", "success": False})
    assert returner.call("get_load", JID) == load
    assert returner.call("get_load", "1") is None
    assert returner.call("get_jid", JID) == {
        "web1": {"return": {"a": [1]}, "success": True, "retcode": 0},
        "db1": {"return": {"a": [1]}, "success": False, "retcode": 1},
    }
    assert returner.call("get_minions") == ["db1", "web1"]
    assert returner.call("get_fun", "test.echo") == {"db1": {"a": [1]}, "web1": {"a": [1]}}
    assert returner.call("get_jids")[JID]["StartTime"] == "2026, Jan 02 03:04:05.000006"


def test_a_returner_is_read_as_a_store_of_jobs(database):
    jobs = source("sqlite3", database)
    for number in range(3):
        jid = f"2026010{number + 1}000000000000"
        load = {"fun": "test.ping" if number else "cmd.run", "tgt": "*", "Minions": ["web1"]}
        jobs.record(jid, load, "web1", {"return": number, "success": True})
    assert jobs.job("20260101000000000000").minions == ["web1"]
    assert jobs.job("x") is None
    assert jobs.returns("20260102000000000000")["web1"]["return"] == 1
    assert [job.jid[7] for job in jobs.search(JobQuery(newest_first=True, limit=2))] == ["3", "2"]
    assert [job.jid[7] for job in jobs.search(JobQuery(fun="test.*", since="20260103"))] == ["3"]
    assert [job.jid[7] for job in jobs.search(JobQuery(until="20260102"))] == ["1", "2"]
    assert [ret["return"] for _job, ret in jobs.returns_of("web1", since="20260102")] == [2, 1]
    assert list(jobs.search(JobQuery(metadata={"a": "b"}))) == []


def test_several_returners_as_one(database, tmp_path):
    path = tmp_path / "events"
    database.extra |= {
        "multi_returner": ["multi_returner", "rawfile_json", "sqlite3"],
        "rawfile_json.filename": str(path),
    }
    returner = resolve("multi_returner", database)
    returner.call("save_load", JID, {"fun": "a"}, ["web1"])
    returner.call("returner", RET)
    assert json.loads(path.read_text()) == RET
    assert returner.call("get_load", JID) == {"fun": "a"}
    assert list(returner.call("get_jid", JID)) == ["web1"]
    assert list(returner.call("get_jids")) == [JID]
    with pytest.raises(FunctionUnavailable, match="names no returner"):
        resolve("multi_returner", Context()).call("returner", RET)


def test_one_that_fails_does_not_keep_the_next(tmp_path, caplog):
    path = tmp_path / "events"
    ctx = Context({"rawfile_json.filename": str(path), "sqlite3.database": "/proc/nosuch/x.db"})
    deliver(["nosuch", "sqlite3", "rawfile_json"], RET, ctx)
    assert json.loads(path.read_text()) == RET
    assert f"Returner nosuch is not available; job {JID}" in caplog.text
    assert f"Returner sqlite3 failed with the return of job {JID}" in caplog.text


def test_a_users_returner_goes_first(tmp_path):
    from saltlite.config.minion import PathOptions

    folder = tmp_path / "returners"
    folder.mkdir()
    (folder / "local.py").write_text(
        "def returner(ret):\n    open(__opts__['where'], 'w').write(ret['id'])\n"
    )
    config = MinionConfig(
        paths=PathOptions(extension_modules=str(tmp_path)), extra={"where": str(tmp_path / "out")}
    )
    ctx = SimpleNamespace(config=config, functions=None, grains={}, pillar={}, state={})
    deliver(["local"], RET, ctx)
    assert (tmp_path / "out").read_text() == "web1"


def test_a_disabled_returner_is_not_used():
    config = MinionConfig(modules=ModuleOptions(disable_returners=["local"]))
    with pytest.raises(FunctionUnavailable, match="disabled"):
        resolve("local", SimpleNamespace(config=config, functions=None))


def test_the_masters_own_store_is_no_minions_returner():
    with pytest.raises(FunctionUnavailable, match="master"):
        resolve("local_cache", Context()).call("returner", RET)


def test_every_returner_takes_returns():
    assert all(resolve(name, Context()).can("returner") for name in RETURNERS)
    with pytest.raises(FunctionUnavailable):
        resolve("os", Context())


def test_returners_that_are_not_there_are_named_at_the_start(tmp_path):
    paths = SimpleNamespace(extension_modules=str(tmp_path), module_dirs=(), returner_dirs=())
    config = SimpleNamespace(paths=paths, extra={})
    named = ["sqlite3", "elasticsearch", "pgjsonb"]
    assert missing_returners(named, config) == ["elasticsearch"]
    (tmp_path / "returners").mkdir()
    (tmp_path / "returners" / "elasticsearch.py").write_text("def returner(ret): pass\n")
    assert missing_returners(named, config) == []
