"""Functions that speak to the minion or the master, with stand-ins for both."""

from __future__ import annotations

import pytest

from saltlite.config.load import load_minion
from saltlite.context import MinionContext
from saltlite.errors import FunctionError
from saltlite.host import Host
from saltlite.loader.registry import Registry

JOBS = [
    {"jid": "1", "fun": "test.sleep", "pid": 10},
    {"jid": "2", "fun": ["test.ping", "state.apply"], "pid": 11},
]


class Jobs:
    def __init__(self):
        self.signals = []

    def running(self):
        return JOBS

    def signal(self, jid, number):
        self.signals.append((jid, number))
        return f"Signal {number} sent to job {jid}" if jid in "12" else ""


class Events:
    def __init__(self):
        self.fired = []

    def fire(self, tag, data):
        self.fired.append((tag, data))


class Master:
    def __init__(self):
        self.asked = []

    def request(self, load):
        self.asked.append(load)
        return True


@pytest.fixture
def ctx(tmp_path):
    (tmp_path / "minion").write_text(f"id: m1\nroot_dir: {tmp_path}\n")
    ctx = MinionContext(
        config=load_minion(tmp_path), host=Host(), grains={"os": "Debian"}, pillar={"a": 1},
        events=Events(), jobs=Jobs(), master=Master(), job={"jid": "1"},
    )  # fmt: skip
    ctx.functions = Registry(ctx)
    return ctx


@pytest.fixture
def call(ctx):
    return ctx.functions.call


def test_running_leaves_out_the_one_who_asks(call):
    assert call("saltutil.running") == [JOBS[1]]
    assert call("saltutil.is_running", "state.*") == [JOBS[1]]
    assert call("saltutil.is_running", "test.sleep") == []


def test_find_job(call):
    assert call("saltutil.find_job", "1") == JOBS[0]
    assert call("saltutil.find_job", 2) == JOBS[1]
    assert call("saltutil.find_job", "3") == {}


@pytest.mark.parametrize(
    ("fun", "args", "signals"),
    [
        ("signal_job", ["2", 10], [("2", 10)]),
        ("term_job", [2], [("2", 15)]),
        ("kill_job", ["2"], [("2", 9)]),
        ("term_all_jobs", [], [("2", 15)]),
        ("kill_all_jobs", [], [("2", 9)]),
    ],
)
def test_signals(ctx, call, fun, args, signals):
    answer = call(f"saltutil.{fun}", *args)
    assert ctx.jobs.signals == signals
    assert "sent to job 2" in str(answer)


@pytest.mark.parametrize(
    ("fun", "tag"),
    [
        ("refresh_pillar", "pillar_refresh"), ("pillar_refresh", "pillar_refresh"),
        ("refresh_modules", "module_refresh"), ("refresh_beacons", "beacons_refresh"),
        ("refresh_matchers", "matchers_refresh"), ("refresh_grains", "grains_refresh"),
    ],
)  # fmt: skip
def test_refreshes_are_events(ctx, call, fun, tag):
    assert call(f"saltutil.{fun}") is True
    assert [fired for fired, _ in ctx.events.fired] == [tag]


def test_refresh_grains_of_a_job(ctx, call):
    ctx.refresh_grains = lambda: {"os": "Fresh"}
    assert call("saltutil.refresh_grains") is True
    assert call("grains.get", "os") == "Fresh"
    assert ctx.events.fired == []


def test_revoke_auth(ctx, call):
    assert call("saltutil.revoke_auth", preserve_minion_cache=True) is True
    assert ctx.master.asked == [{"cmd": "revoke_auth", "preserve_minion_cache": True}]
    ctx.master = None
    assert call("saltutil.revoke_auth") is False


def test_regen_keys_removes_the_key_only(ctx, call, tmp_path):
    pki = tmp_path / "etc/salt/pki/minion"
    pki.mkdir(parents=True)
    for name in ("minion.pem", "minion.pub", "minion_master.pub"):
        (pki / name).write_text("x")
    assert call("saltutil.regen_keys") is None
    assert [path.name for path in pki.iterdir()] == ["minion_master.pub"]
    call("saltutil.regen_keys")


def test_clear_cache_leaves_what_cannot_be_had_again(call, tmp_path):
    cache = tmp_path / "var/cache/salt/minion"
    for name in ("files/base", "outbox", "proc"):
        (cache / name).mkdir(parents=True)
    assert call("saltutil.clear_cache") is True
    assert sorted(path.name for path in cache.iterdir()) == ["outbox", "proc"]


def test_clear_job_cache(call, tmp_path):
    jobs = tmp_path / "var/cache/salt/minion/minion_jobs"
    (jobs / "1").mkdir(parents=True)
    call("saltutil.clear_job_cache")
    assert (jobs / "1").exists()
    call("saltutil.clear_job_cache", hours=-1)
    assert not (jobs / "1").exists()


def test_events_of_the_minion(ctx, call):
    assert call("event.fire", {"a": 1}, "my/tag") is True
    assert call("event.fire", "text", "my/tag") is False  # as Salt, which sends maps only
    assert ctx.events.fired == [("my/tag", {"a": 1})]


def test_events_of_the_master(ctx, call):
    assert call("event.fire_master", {"a": 1}, "my/tag") is True
    assert ctx.master.asked == [
        {"cmd": "_minion_event", "tag": "my/tag", "data": {"a": 1}, "pretag": None, "id": "m1"}
    ]


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ({"refused": "a minion may not use the tag 'salt/key'"}, "may not use the tag 'salt/key'"),
        ({}, "does not say why"),
        (False, "does not say why"),
        ("", "does not say why"),
    ],
)
def test_a_refused_event_is_false_and_says_why(ctx, call, caplog, reply, reason):
    ctx.master.request = lambda load: reply
    assert call("event.send", "salt/key", {"a": 1}) is False
    assert call("event.fire_master", {"a": 1}, "salt/key") is False
    assert [reason in one.getMessage() for one in caplog.records] == [True, True]


def test_event_send(ctx, call, monkeypatch):
    monkeypatch.setenv("MINE", "e")
    call(
        "event.send", "t", {"a": 1}, b=2, __pub_jid="1", with_grains=True, with_pillar=["a", "z"],
        with_env=["MINE"],
    )  # fmt: skip
    assert ctx.master.asked[0]["data"] == {
        "environ": {"MINE": "e"}, "grains": {"os": "Debian"}, "pillar": {"a": 1, "z": ""},
        "b": 2, "a": 1,
    }  # fmt: skip


def test_the_id_in_an_event_is_the_minions_own(ctx, call):
    call("event.fire_master", {}, "t", preload={"id": "somebody", "extra": 1})
    assert ctx.master.asked[0]["id"] == "m1"
    assert ctx.master.asked[0]["extra"] == 1


def test_events_without_a_master(ctx, call):
    ctx.master = None
    assert call("event.send", "t") is False


def test_match_ifelse(call):
    assert call("match.ifelse", "x*", 1, "m*", 2, 3) == 2
    assert call("match.ifelse", "x*", 1, 3) == 3
    with pytest.raises(FunctionError):
        call("match.ifelse", "m*", 1)


def test_sys_doc(call):
    assert list(call("sys.doc", "test.ping")) == ["test.ping"]
    assert "test.echo" in call("sys.doc", "test")
    assert len(call("sys.doc")) > 100
    assert "cmd" in call("sys.list_modules")
