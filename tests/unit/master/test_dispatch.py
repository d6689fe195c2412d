"""Every command from every kind of caller: what is answered, and what is left behind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from worker import Minion, World, worker_world

from saltlite.channel.handshake import MinionHandshake
from saltlite.core.messages import as_bytes
from saltlite.core.state_reports import ReportQuery
from saltlite.core.targets import Target
from saltlite.crypto.keys import PrivateKey
from saltlite.errors import KeyPending, KeyRejected, MasterFull, PatternTooSlow, StoreError
from saltlite.master.acl import process_user
from saltlite.master.commands import COMMANDS, Repeats, Sender, matching
from saltlite.master.keystore import KeyState
from saltlite.master.lanes import ASK_ALONE, ASK_SLOW
from saltlite.master.mworker import HANDLER_FAILED, answer_all
from saltlite.transport.codec import pack, unpack

USER_REFUSED = {
    "error": {
        "name": "UserAuthenticationError",
        "message": 'Authentication failure of type "user" occurred',
    }
}
NOT_AUTHENTICATED = {
    "error": {"name": "AuthenticationError", "message": "Authentication error occurred."}
}


@pytest.fixture(scope="session")
def rsa() -> list[PrivateKey]:
    return [PrivateKey.generate(2048) for _ in range(3)]


@pytest.fixture
def options() -> str:
    return "auto_accept: True\n"


@pytest.fixture
def world(tmp_path: Path, rsa: list[PrivateKey], options: str) -> Iterator[World]:
    with worker_world(tmp_path, rsa[0], options) as one:
        yield one


@pytest.fixture
def web1(world: World, rsa: list[PrivateKey]) -> Minion:
    return world.minion("web1", rsa[1])


def test_a_minion_that_signs_in_again_has_nothing_written(
    world: World, web1: Minion, rsa: list[PrivateKey], tmp_path: Path
) -> None:
    def files() -> dict[Path, tuple[int, int, int]]:
        found = {path: path.stat() for path in tmp_path.rglob("*")}
        return {path: (one.st_ino, one.st_mtime_ns, one.st_ctime_ns) for path, one in found.items()}

    before, session = files(), world.ctx.sessions.get("web1")
    world.minion("web1", rsa[1])
    assert files() == before
    assert world.ctx.sessions.get("web1") is session


# --- what never reaches a command --------------------------------------------------------


@pytest.mark.parametrize(
    ("frame", "reply"),
    [
        (b"", {"msg": "bad load"}),
        (b"\xc1", {"msg": "bad load"}),
        (pack(5), "bad load"),
        (pack([]), "bad load"),
        (pack({}), "bad load"),
        (pack({"enc": "clear"}), "bad load"),
        (pack({"enc": "clear", "load": {"cmd": "ping"}}), "bad load"),
        (pack({"enc": "clear", "load": 5, "version": 3}), "payload and load must be a dict"),
        (pack({"enc": "AES", "load": b"x", "version": 3, "id": "a"}), "bad load"),
        (pack({"enc": "aes", "load": b"x", "version": 3, "id": "nobody"}), "bad load"),
        (pack({"enc": "aes", "load": b"x", "version": 3}), "bad load"),
        (pack({"enc": "aes", "load": b"x", "version": 2, "id": "web1"}), "bad load"),
    ],
)
def test_malformed_requests(world: World, web1: Minion, frame: bytes, reply: Any) -> None:
    world.bus.events.clear()
    assert unpack(world.dispatcher.answer(frame)) == reply
    assert world.bus.events == []


@pytest.mark.parametrize("version", [2, 1, 0, -1, "3", 3.0, True, None, [], {}])
def test_old_and_odd_versions(world: World, version: Any) -> None:
    assert world.clear({"cmd": "ping"}, version=version) == "bad load"


def test_a_higher_version_is_taken_as_ours(world: World) -> None:
    assert world.clear({"cmd": "ping", "x": 1}, version=4) == {"cmd": "ping", "x": 1}


# --- the table ------------------------------------------------------------------------------


@pytest.mark.parametrize("cmd", [cmd for enc, cmd in COMMANDS if enc == "aes"])
def test_a_minions_command_in_the_clear_does_not_exist(world: World, cmd: str) -> None:
    assert world.clear({"cmd": cmd, "id": "web1"}) == {}
    assert world.bus.events == []


@pytest.mark.parametrize("cmd", [cmd for enc, cmd in COMMANDS if enc == "clear"])
def test_a_clear_command_of_a_minion_does_not_exist(web1: Minion, cmd: str) -> None:
    assert web1.ask(cmd, key=web1.world.root_key(), user=process_user()) == {}


@pytest.mark.parametrize(
    "cmd", ["_prep_auth_info", "__init__", "__class__", "run", " publish", "PUBLISH", "", None, 5]
)
def test_names_that_are_not_in_the_table(world: World, web1: Minion, cmd: Any) -> None:
    assert world.clear({"cmd": cmd}) == {}
    if isinstance(cmd, str):
        assert web1.ask(cmd) == {}


STRANGERS_REPLIES = {
    "ping": {"cmd": "ping"},
    "publish": NOT_AUTHENTICATED,
    "runner": USER_REFUSED,
    "wheel": USER_REFUSED,
    "mk_token": "",
    "get_token": False,
    "del_token": False,
    "authorize": NOT_AUTHENTICATED,
    "follow": NOT_AUTHENTICATED,
    "_auth": "bad load",
}


@pytest.mark.parametrize("cmd", [cmd for enc, cmd in COMMANDS if enc == "clear"])
def test_a_stranger_and_the_clear_commands(world: World, cmd: str) -> None:
    assert world.clear({"cmd": cmd}) == STRANGERS_REPLIES[cmd]
    assert world.bus.events == []


MINIONS_REPLIES = {
    "_return": False,
    "_syndic_return": {},
    "_minion_event": {},
    "_register_resources": True,
    "_file_hash": "",
    "_file_hash_and_stat": ["", None],
    "_file_find": {"path": "", "rel": ""},
    "_serve_file": {"data": "", "dest": ""},
    "_file_bundle": {"hash_type": "", "files": [], "data": ""},
    "_file_list": [],
    "_file_list_emptydirs": [],
    "_dir_list": [],
    "_symlink_list": {},
    "_file_envs": ["base"],
    "_master_tops": {},
    "_file_recv": False,
    "_mine": False,
    "_mine_get": {},
    "_mine_delete": False,
    "_mine_flush": True,
    "minion_pub": {},
    "minion_publish": {},
    "minion_runner": {},
    "pub_ret": {},
    "revoke_auth": True,
}


@pytest.mark.parametrize(
    "cmd",
    [
        c
        for (enc, c), row in COMMANDS.items()
        if enc == "aes" and row.caller is not Sender.MINION_RAW
    ],
)
def test_a_minions_commands_without_any_field(web1: Minion, cmd: str) -> None:
    if cmd == "_master_opts":
        assert web1.ask(cmd)["default_top"] == "base"
    elif cmd == "revoke_auth":  # its session is gone with its key, and so is the reply's
        frame, _nonce = web1.channel.seal({"cmd": cmd})
        assert unpack(web1.world.dispatcher.answer(frame)) == "bad load"
        assert web1.world.ctx.keys.state("web1") is None
    else:
        assert web1.ask(cmd) == MINIONS_REPLIES[cmd]


@pytest.mark.parametrize(
    "cmd", [cmd for enc, cmd in COMMANDS if enc == "aes" and cmd != "revoke_auth"]
)
def test_how_often_the_same_request_is_served(web1: Minion, cmd: str) -> None:
    frame, _nonce = web1.channel.seal({"cmd": cmd})
    answers = [web1.world.dispatcher.answer(frame) for _ in range(8)]
    refused = [answer == pack("bad load") for answer in answers]
    served = 6 if COMMANDS["aes", cmd].repeats is Repeats.READ else 1
    assert refused == [False] * served + [True] * (8 - served)


def test_every_command_is_described_once() -> None:
    assert {enc for enc, _cmd in COMMANDS} == {"clear", "aes"}
    assert all(cmd == row.name for (_enc, cmd), row in COMMANDS.items())


# --- who is speaking ------------------------------------------------------------------------


def test_a_deleted_key_ends_the_session_at_once(web1: Minion) -> None:
    web1.world.ctx.keys.delete("web1", KeyState.ACCEPTED)
    frame, _nonce = web1.channel.seal({"cmd": "_file_envs"})
    assert unpack(web1.world.dispatcher.answer(frame)) == "bad load"


def test_another_machine_with_the_same_id_is_denied(
    world: World, web1: Minion, rsa: list[PrivateKey]
) -> None:
    with pytest.raises(KeyRejected):
        world.minion("web1", rsa[2])
    assert world.ctx.keys.list(KeyState.DENIED) == ["web1"]
    assert web1.ask("_file_envs") == ["base"]


def test_a_successor_with_the_same_id_gets_another_session(
    world: World, web1: Minion, rsa: list[PrivateKey]
) -> None:
    old = world.ctx.sessions.get("web1")
    world.ctx.keys.delete("web1", KeyState.ACCEPTED)
    world.minion("web1", rsa[2])
    new = world.ctx.sessions.get("web1")
    assert old is not None
    assert new is not None
    assert old.key != new.key


def test_a_clock_that_is_far_off(web1: Minion) -> None:
    for off_s in (-301, 301):
        now_s = web1.world.ctx.wall_s() + off_s
        frame, _nonce = web1.channel.seal({"cmd": "_file_envs"}, now_s=now_s)
        assert unpack(web1.world.dispatcher.answer(frame)) == "bad load"


# --- authentication -------------------------------------------------------------------------


@pytest.mark.parametrize("options", [""])
def test_a_new_key_waits_and_is_let_in_when_its_file_is_moved(
    world: World, rsa: list[PrivateKey]
) -> None:
    with pytest.raises(KeyPending):
        world.minion("web1", rsa[1])
    assert world.ctx.keys.list(KeyState.UNACCEPTED) == ["web1"]
    assert world.ctx.sessions.get("web1") is None
    world.ctx.keys.move("web1", KeyState.UNACCEPTED, KeyState.ACCEPTED)
    assert world.minion("web1", rsa[1]).ask("_file_envs") == ["base"]
    acts = [(tag, data["act"], data["result"]) for tag, data in world.bus.events]
    assert acts == [("salt/auth", "pend", True), ("salt/auth", "accept", True)]


@pytest.mark.parametrize("options", ["max_pending_keys: 1\n"])
def test_too_many_waiting_keys(world: World, rsa: list[PrivateKey]) -> None:
    with pytest.raises(KeyPending):
        world.minion("a", rsa[1])
    with pytest.raises(MasterFull):
        world.minion("b", rsa[2])
    assert world.ctx.keys.list(KeyState.UNACCEPTED) == ["a"]


@pytest.mark.parametrize("options", ["auto_accept: True\nmax_minions: 1\n"])
def test_a_full_master(world: World, rsa: list[PrivateKey]) -> None:
    world.minion("a", rsa[1])
    with pytest.raises(MasterFull):
        world.minion("b", rsa[2])
    world.minion("a", rsa[1])


@pytest.mark.parametrize("field_", ["enc_algo", "sig_algo"])
def test_an_unknown_algorithm_is_answered(world: World, rsa: list[PrivateKey], field_: str) -> None:
    load = unpack(MinionHandshake(rsa[1], "web1").request())["load"]  # type: ignore[index,call-overload]
    reply = world.clear({**load, field_: "OAEP-MD5"})
    assert reply == {"enc": "clear", "load": {"ret": f"bad {field_[:3]} algo"}}
    assert world.bus.events == []


@pytest.mark.parametrize("minion_id", ["..", "a/b", "", "*", "a b", 5, None, ["a"], "x" * 254])
def test_an_id_that_is_none(world: World, rsa: list[PrivateKey], minion_id: Any) -> None:
    load = unpack(MinionHandshake(rsa[1], "web1").request())["load"]  # type: ignore[index,call-overload]
    reply = world.clear({**load, "id": minion_id})
    inner = unpack(as_bytes(reply["load"], "load"))
    assert inner == {"ret": False, "nonce": load["nonce"]}
    assert world.bus.events == []
    assert all(not world.ctx.keys.list(state) for state in KeyState)


# --- pillar ----------------------------------------------------------------------------------


def test_a_pillar_is_sealed_for_its_minion_and_its_grains_are_kept(web1: Minion) -> None:
    web1.world.bus.events.clear()
    frame, nonce = web1.channel.seal(
        {"cmd": "_pillar", "grains": {"os": "Debian", "id": "other"}, "ver": "2"}
    )
    assert web1.channel.open_pillar(web1.world.dispatcher.answer(frame), nonce) == {}
    assert web1.world.ctx.minions.read("grains", "web1") == {"os": "Debian", "id": "web1"}
    assert web1.world.bus.tags() == ["minion/refresh/web1"]


# --- publish and return ----------------------------------------------------------------------


def publish(world: World, **load: Any) -> str:
    reply = world.publish(**load)["load"]
    assert reply.get("error") is None
    return str(reply["jid"])


def test_a_job_is_recorded_announced_and_handed_over(world: World, web1: Minion) -> None:
    world.bus.events.clear()
    world.ctx.wall_s = lambda: 1_700_000_000.5
    reply = world.publish(fun="test.arg", arg=[1, {"__kwarg__": True, "k": "v"}])["load"]
    jid = reply["jid"]
    assert reply == {"jid": jid, "minions": ["web1"], "missing": []}
    assert world.bus.tags() == [jid, f"salt/job/{jid}/new"]
    assert world.jobs.published == [
        {
            "fun": "test.arg",
            "arg": [1, {"__kwarg__": True, "k": "v"}],
            "tgt": "*",
            "jid": jid,
            "ret": "",
            "tgt_type": "glob",
            "not_after": 1_700_000_600,
            "user": process_user(),
        }
    ]
    record = world.ctx.jobs.job(jid)
    assert record is not None
    assert record.minions == ["web1"]
    assert "key" not in record.load


def test_nobody_meant(world: World) -> None:
    reply = world.publish(tgt="nobody")["load"]
    assert reply == {
        "jid": None,
        "minions": [],
        "error": "Master could not resolve minions for target nobody",
    }
    assert world.jobs.published == []


def test_unknown_ids_in_a_list_are_named(world: World, web1: Minion) -> None:
    reply = world.publish(tgt=["web1", "nobody"], tgt_type="list")["load"]
    assert (reply["minions"], reply["missing"]) == (["web1"], ["nobody"])


def test_a_jid_of_ones_own_counts_once(world: World, web1: Minion) -> None:
    jid = "20260102030405000006"
    assert publish(world, jid=jid) == jid
    world.bus.events.clear()
    assert "error" in world.publish(jid=jid)
    assert world.bus.tags() == [f"salt/job/{jid}/error"]
    assert len(world.jobs.published) == 1


@pytest.mark.parametrize(
    "credentials",
    [{"key": "wrong"}, {"key": None}, {"key": ""}, {"key": ["x"]}, {"user": "nobody"}, {"user": 5}],
)
def test_whoever_does_not_know_the_key(
    world: World, web1: Minion, credentials: dict[str, Any]
) -> None:
    if credentials == {"user": "nobody"}:
        credentials = {"user": "nobody", "key": "x"}
    world.bus.events.clear()
    assert world.publish(**credentials, tgt="(a+)+$", tgt_type="pcre") == NOT_AUTHENTICATED
    assert world.bus.events == []
    assert world.jobs.published == []


def test_a_publisher_that_is_away_gives_an_error_and_no_jid(
    world: World, web1: Minion, caplog: pytest.LogCaptureFixture
) -> None:
    world.jobs.fails = True
    for _ in range(3):
        assert "publisher does not take jobs" in world.publish()["error"]
    # Each of them is told; the log says it once.
    assert caplog.text.count("the publisher does not take jobs") == 1


def test_a_disk_of_tokens_that_is_full_is_told_of_once(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Anybody may show a token."""

    def fail(*_given: object) -> None:
        raise StoreError("the disk is broken")

    for name in ("find", "forget"):
        monkeypatch.setattr(world.ctx.login_tokens, name, fail)
    for cmd, reply in (("get_token", {}), ("del_token", False), ("get_token", {})):
        assert world.clear({"cmd": cmd, "token": "a" * 64}) == reply
    assert caplog.text.count("the disk is broken") == 1


def test_a_return_is_stored_then_announced_once(world: World, web1: Minion) -> None:
    jid = publish(world)
    world.bus.events.clear()
    answer = {"jid": jid, "return": True, "retcode": 0, "success": True, "fun": "test.ping"}
    assert web1.ask("_return", **answer) is None
    assert world.ctx.jobs.returns(jid)["web1"]["return"] is True
    assert world.bus.tags() == [f"salt/job/{jid}/ret/web1"]
    data = world.bus.events[0][1]
    assert (data["id"], data["cmd"], "tok" in data, "nonce" in data) == (
        "web1", "_return", False, False,
    )  # fmt: skip
    assert web1.ask("_return", **answer) is None  # the same again, after a timeout
    assert web1.ask("_return", **{**answer, "return": False}) is False
    assert len(world.bus.events) == 1
    assert world.ctx.jobs.returns(jid)["web1"]["return"] is True


STATES = {
    "file_|-motd_|-/etc/motd_|-managed": {
        "result": True,
        "changes": {"mode": {"old": "0600", "new": "0644"}},
        "duration": 2.0,
        "__id__": "motd",
        "__sls__": "motd",
        "name": "/etc/motd",
        "comment": "",
    }
}


def list_reports(world: World) -> list[tuple[str, str, str, str]]:
    found = world.ctx.stores.reports.list_rows(ReportQuery())
    return [(run.minion, run.user, run.fun, row.name) for run, row in found]


def test_a_run_of_states_is_reported_before_the_bus_hears_of_it(
    world: World, web1: Minion, monkeypatch: pytest.MonkeyPatch
) -> None:
    jid = world.publish(fun="state.apply", tgt="web1")["load"]["jid"]
    answer = {"jid": jid, "fun": "state.apply", "return": STATES}
    seen = []
    monkeypatch.setattr(
        world.bus, "fire", lambda tag, _data: seen.append(list_reports(world)) or True
    )
    assert web1.ask("_return", **answer) is None
    wanted = [("web1", process_user(), "state.apply", "/etc/motd")]
    assert seen[-1] == wanted
    # Again, after a timeout: kept if the worker died in between, and once all the same.
    world.ctx.stores.reports.clean(1e12)
    assert web1.ask("_return", **answer) is None
    assert web1.ask("_return", **answer) is None
    assert web1.ask("_return", **{**answer, "return": {}}) is False
    assert list_reports(world) == wanted


def test_a_run_that_nobody_asked_for_is_reported_with_who_called(
    world: World, web1: Minion
) -> None:
    answer = {"jid": "req", "fun": "state.sls", "return": STATES, "user": "sudo_alice"}
    assert web1.ask("_return", **answer) is None
    assert web1.ask("_return", **{**answer, "fun": "test.ping"}) is None
    assert list_reports(world) == [("web1", "sudo_alice", "state.sls", "/etc/motd")]


def test_a_report_that_cannot_be_kept_costs_no_return(
    world: World, web1: Minion, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(_runs: object) -> None:
        raise StoreError("disk full")

    monkeypatch.setattr(world.ctx.stores.reports, "add_runs", full)
    for _ in range(3):
        answer = {"jid": "req", "fun": "state.sls", "return": STATES}
        assert web1.ask("_return", **answer) is None
    assert caplog.text.count("is not kept for reports: disk full") == 1


@pytest.mark.parametrize("jid", ["20260102030405000006", "x/new", "", 5, None])
def test_a_return_nobody_asked_for(world: World, web1: Minion, jid: Any) -> None:
    world.bus.events.clear()
    assert web1.ask("_return", jid=jid, **{"return": True}) is False
    assert world.bus.events == []


def test_a_return_to_a_job_that_may_come_later_is_to_be_sent_again(
    world: World, web1: Minion, rsa: list[PrivateKey], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(world.ctx.jobs, "may_come_later", lambda _jid, _now: True)
    world.bus.events.clear()
    assert web1.ask("_return", jid="20260102030405000006", **{"return": True}) == ""
    assert world.bus.events == []
    # A job that is on record tells who was asked.
    jid = publish(world, tgt="web1")
    assert world.minion("rogue", rsa[2]).ask("_return", jid=jid, **{"return": 1}) is False
    assert web1.ask("_return", jid=jid, **{"return": True}) is None


def test_a_return_of_a_minion_that_was_not_asked(
    world: World, web1: Minion, rsa: list[PrivateKey]
) -> None:
    rogue = world.minion("rogue", rsa[2])
    jid = publish(world, tgt="web1")
    world.bus.events.clear()
    assert rogue.ask("_return", jid=jid, **{"return": "forged"}) is False
    assert world.bus.events == []
    assert world.ctx.jobs.returns(jid) == {}


def test_a_return_without_a_job_gets_one(world: World, web1: Minion) -> None:
    world.bus.events.clear()
    answer = {"jid": "req", "return": 4, "fun": "test.arg", "fun_args": [4]}
    assert web1.ask("_return", **answer) is None
    tag, data = world.bus.events[0]
    jid = data["jid"]
    assert tag == f"salt/job/{jid}/ret/web1"
    job = world.ctx.jobs.job(jid)
    assert job is not None
    assert (job.load["fun"], job.load["arg"], job.minions) == ("test.arg", [4], ["web1"])
    assert world.ctx.jobs.returns(jid)["web1"]["return"] == 4


def test_too_many_returns_without_a_job(world: World, web1: Minion) -> None:
    world.ctx.steady_s = lambda: 100.0
    answers = [web1.ask("_return", jid="req", **{"return": n}) for n in range(12)]
    assert answers == [None] * 10 + [False] * 2


def test_a_return_that_cannot_be_recorded_is_to_be_sent_again(
    world: World, web1: Minion, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    jid = publish(world)

    def full(*_args: Any) -> None:
        raise StoreError("No space left on device")

    monkeypatch.setattr(world.ctx.jobs, "add_returns", full)
    world.bus.events.clear()
    assert web1.ask("_return", jid=jid, **{"return": True}) == ""
    assert world.bus.events == []
    # The disk is one fault, however many requests meet it.
    for _ in range(5):
        assert web1.ask("_return", jid=jid, **{"return": True}) == ""
    assert [one.levelname for one in caplog.records if "No space left" in one.message] == ["ERROR"]


def test_an_error_of_ours_is_answered(
    world: World, web1: Minion, monkeypatch: pytest.MonkeyPatch
) -> None:
    jid = publish(world)
    monkeypatch.setattr(world.ctx.jobs, "add_returns", lambda *_: 1 / 0)
    assert web1.ask("_return", jid=jid, **{"return": True}) == ""


# --- events ----------------------------------------------------------------------------------

ALLOWED = [
    "salt/minion/web1/start",
    "salt/beacon/web1/load/x",
    "salt/beacon/web1/load/",
    "salt/beacon/web1/inotify//etc/hosts",
    "salt/audit/web1/drift",
    "salt/job/20260102030405000006/prog/web1/3",
    "salt/job/20260102030405000006/start/web1",
    "salt/state_result/20260102030405000006/web1/name",
    "minion_start",
    "minion_ping",
    "_salt_error",
    "myco/x",
]
FORBIDDEN = [
    "salt/audit/web2/drift",
    "salt/audit/web1/drift/x",
    "salt/audit/web1/new",
    "salt/beacon/web2/inotify//etc/hosts",
    "salt/beacon/web1//etc/hosts",
    "salt/beacon/web1/inotify///etc",
    "salt/beacon/web1/inotify//etc//hosts",
    "salt/beacon/web1/inotify//etc/../web2",
    "salt/job/20260102030405000006/ret/web2",
    "salt/job/20260102030405000006/ret/web1",
    "salt/job/20260102030405000006/new",
    "salt/job/20260102030405000006/prog/web2/1",
    "salt/minion/web2/start",
    "salt/minion/web1",
    "salt/key",
    "salt/auth",
    "salt/run/x/ret",
    "salt//job",
    "salt/./job",
    "SALT/job",
    "Salt/Key",
    "salt",
    "key",
    "new_job",
    "saltlite/reactor/reaction",
    "saltlite/reactor/dropped",
    "saltlite",
    "salt/reactors/manage/add",
    "minions",
    "syndic/x",
    "20260102030405000006",
]


@pytest.mark.parametrize("tag", ALLOWED)
def test_tags_a_minion_may_use(web1: Minion, tag: str) -> None:
    web1.world.bus.events.clear()
    assert web1.ask("_minion_event", tag=tag, data={"x": 1}, pretag=None) is None
    assert web1.ask("_minion_event", events=[{"tag": tag, "data": {"id": "web2"}}]) is None
    single, listed = web1.world.bus.events
    assert single[0] == listed[0] == tag
    assert single[1]["data"] == {"x": 1}
    assert single[1]["id"] == listed[1]["id"] == "web1"


@pytest.mark.parametrize("tag", FORBIDDEN)
def test_tags_a_minion_may_not_use(web1: Minion, tag: str) -> None:
    web1.world.bus.events.clear()
    refused = {"refused": f"a minion may not use the tag {tag!r}"}
    assert web1.ask("_minion_event", tag=tag, data={}) == refused
    assert web1.ask("_minion_event", events=[{"tag": tag, "data": {}}]) == refused
    pretag = web1.ask("_minion_event", events=[{"tag": "x", "data": {}}], pretag="salt")
    assert pretag == {"refused": "pretag from a minion that is no syndic"}
    assert web1.world.bus.events == []


def test_of_several_events_the_wrong_ones_are_refused(web1: Minion) -> None:
    web1.world.bus.events.clear()
    events = [{"tag": tag, "data": {}} for tag in ("own/1", "salt/key", "own/2")]
    refused = web1.ask("_minion_event", events=events)
    assert refused == {"refused": "a minion may not use the tag 'salt/key'"}
    assert [tag for tag, _ in web1.world.bus.events] == ["own/1", "own/2"]


def test_too_many_events_a_second(web1: Minion) -> None:
    web1.world.ctx.steady_s = lambda: 100.0
    web1.world.bus.events.clear()
    many = [{"tag": "x", "data": {}}] * 60
    assert web1.ask("_minion_event", events=many) is None
    refused = {"refused": "more than 100 events a second"}
    assert web1.ask("_minion_event", events=many) == refused
    assert len(web1.world.bus.events) == 60


# --- mine, peers -----------------------------------------------------------------------------


def test_the_mine(world: World, web1: Minion, rsa: list[PrivateKey]) -> None:
    web2 = world.minion("web2", rsa[2])
    assert web1.ask("_mine", data={"network.ip_addrs": ["10.0.0.1"], "test.ping": True}) is True
    guarded = {"__data__": 5, "__saltmine_acl__": 1, "allow_tgt": "db*", "allow_tgt_type": "glob"}
    assert web1.ask("_mine", data={"x.y": guarded}) is True
    assert web2.ask("_mine_get", tgt="*", fun="test.ping") == {"web1": True}
    assert web2.ask("_mine_get", tgt="*", fun="test.ping,network.ip_addrs") == {
        "test.ping": {"web1": True},
        "network.ip_addrs": {"web1": ["10.0.0.1"]},
    }
    assert web2.ask("_mine_get", tgt="*", fun="x.y") == {}
    assert web1.ask("_mine_delete", fun="test.ping") is True
    assert web2.ask("_mine_get", tgt="*", fun="test.ping") == {}
    assert web1.ask("_mine_flush") is True
    assert web2.ask("_mine_get", tgt="*", fun="network.ip_addrs") == {}


def test_one_question_to_the_mine_is_answered_once(
    world: World, web1: Minion, rsa: list[PrivateKey], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that is asked for again, and a target that many entries share, cost nothing more."""
    web2 = world.minion("web2", rsa[2])
    guarded = {"__data__": 5, "__saltmine_acl__": 1, "allow_tgt": "web*", "allow_tgt_type": "glob"}
    listed = {**guarded, "allow_tgt": ["web2", "db1"], "allow_tgt_type": "list"}
    web1.ask("_mine", data={f"f{one}": listed if one % 2 else guarded for one in range(50)})
    real, looks = matching.means, []

    def means(ctx: Any, target: Target, minion_id: str) -> bool:
        looks.append(target)
        return real(ctx, target, minion_id)

    monkeypatch.setattr(matching, "means", means)
    asked = web2.ask("_mine_get", tgt="*", fun=[f"f{one}" for one in range(50)] * 2)
    assert asked == {f"f{one}": {"web1": 5} for one in range(50)}
    assert len(looks) == 2


@pytest.mark.parametrize(
    "options", ["auto_accept: True\npeer:\n  web1:\n    - test\\..*\n    - publish\\..*\n"]
)
def test_peer_publishing(world: World, web1: Minion, rsa: list[PrivateKey]) -> None:
    web2 = world.minion("web2", rsa[2])
    asked = web1.ask("minion_pub", fun="test.ping", arg=[], tgt="web2", tgt_type="glob", ret="")
    assert asked["minions"] == ["web2"]
    assert world.jobs.published[0]["id"] == "web1"
    web2.ask("_return", jid=asked["jid"], **{"return": True})
    assert web1.ask("pub_ret", jid=asked["jid"]) == {"web2": {"ret": True}}
    assert web2.ask("pub_ret", jid=asked["jid"]) == {}
    for fun in ("cmd.run", "publish.publish", "test.ping,cmd.run", "testx"):
        assert web1.ask("minion_pub", fun=fun, arg=[], tgt="*") == {}
    assert web2.ask("minion_pub", fun="test.ping", arg=[], tgt="*") == {}
    assert len(world.jobs.published) == 1


@pytest.mark.parametrize("options", ["auto_accept: True\npeer:\n  web1:\n    - test\\..*\n"])
def test_a_target_that_takes_too_long(
    world: World, web1: Minion, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Real minions read ``minions`` of any answer that has something in it."""

    def minions_of(*_given: Any, **_options: Any) -> None:
        raise PatternTooSlow("it takes more than 1 s")

    monkeypatch.setattr(matching, "minions_of", minions_of)
    asked = web1.ask("minion_pub", fun="test.ping", arg=[], tgt="w*", tgt_type="glob", ret="")
    assert asked.pop("jid").isdigit()
    assert asked == {"minions": [], "error": "Not published: it takes more than 1 s"}
    assert world.jobs.published == []


@pytest.mark.parametrize("options", ["auto_accept: True\npeer:\n  web1: [test.arg]\n"])
@pytest.mark.parametrize(
    ("given", "published"),
    [
        (["a", "1", "k=[2]", "l=x"], ["a", 1, {"k": [2], "l": "x", "__kwarg__": True}]),
        ([{"k": "1", "__kwarg__": True}, "a=b"], [{"k": "1", "a": "b", "__kwarg__": True}]),
        (["a b", ["k=v"], None], ["a b", ["k=v"], None]),
    ],
)
def test_arguments_of_peers_are_published_as_those_of_users(
    world: World, web1: Minion, given: list[Any], published: list[Any]
) -> None:
    web1.ask("minion_pub", fun="test.arg", arg=given, tgt="web1")
    assert world.jobs.published[0]["arg"] == published


# --- several at once --------------------------------------------------------------------------


@dataclass
class Together:
    """Requests of minions that a worker is handed at once."""

    world: World
    frames: list[bytes] = field(default_factory=list)
    openers: list[Any] = field(default_factory=list)

    def add(self, minion: Minion, cmd: str, **load: Any) -> None:
        frame, nonce = minion.channel.seal({"cmd": cmd, **load})
        self.frames.append(frame)
        self.openers.append(lambda reply: minion.channel.open(reply, nonce))

    def replies(self) -> list[bytes]:
        return answer_all(self.world.dispatcher, self.frames)

    def answers(self) -> list[Any]:
        pairs = zip(self.openers, self.replies(), strict=True)
        return [reply if reply == ASK_ALONE else opener(reply) for opener, reply in pairs]


@pytest.fixture
def web2(world: World, rsa: list[PrivateKey]) -> Minion:
    return world.minion("web2", rsa[2])


def test_returns_together_wait_for_the_disk_once(
    world: World, web1: Minion, web2: Minion, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = publish(world), publish(world)
    world.bus.events.clear()
    flushed: list[int] = []
    wait = world.ctx.jobs._wait_for_disk
    monkeypatch.setattr(
        world.ctx.jobs,
        "_wait_for_disk",
        lambda: (flushed.append(len(world.bus.events)), wait())[1],
    )
    together = Together(world)
    together.add(web1, "_return", jid=first, **{"return": 1})
    together.add(web2, "_return", jid=first, **{"return": 2})
    together.add(web1, "_return", jid=second, **{"return": 3})
    assert together.answers() == [None, None, None]
    assert flushed == [0]  # once, and before anybody heard of it
    assert world.bus.tags() == [
        f"salt/job/{first}/ret/web1",
        f"salt/job/{first}/ret/web2",
        f"salt/job/{second}/ret/web1",
    ]
    assert {id_: one["return"] for id_, one in world.ctx.jobs.returns(first).items()} == {
        "web1": 1,
        "web2": 2,
    }


def test_each_of_several_is_judged_by_itself(world: World, web1: Minion, web2: Minion) -> None:
    jid = publish(world)
    world.bus.events.clear()
    together = Together(world)
    together.add(web1, "_return", jid=jid, **{"return": 1})
    together.add(web1, "_return", jid=jid, **{"return": 1})  # the same again
    together.add(web1, "_return", jid=jid, **{"return": 2})  # and another one
    together.add(web2, "_return", jid="20200101000000000000", **{"return": 1})  # not asked
    together.add(web2, "_return", jid=5, **{"return": 1})  # malformed
    together.add(web2, "_minion_event", tag="own/tag", data={})
    together.add(web2, "no_such_command")
    together.add(web2, "_return", jid=jid, **{"return": 4})
    assert together.answers() == [None, None, False, False, False, None, {}, None]
    assert sorted(world.bus.tags()) == [
        "own/tag",
        f"salt/job/{jid}/ret/web1",
        f"salt/job/{jid}/ret/web2",
    ]


def test_a_frame_that_is_none_does_not_hurt_the_others(world: World, web1: Minion) -> None:
    jid = publish(world)
    together = Together(world)
    together.add(web1, "_return", jid=jid, **{"return": 1})
    together.frames += [b"\xc1", together.frames[0]]
    good, broken, repeated = together.replies()
    assert together.openers[0](good) is None
    assert unpack(broken) == {"msg": "bad load"}
    assert unpack(repeated) == "bad load"


def test_what_may_take_long_is_asked_alone_and_unspent(world: World, web1: Minion) -> None:
    jid = publish(world)
    together = Together(world)
    together.add(web1, "_mine_get", tgt="*", fun="test.ping")
    together.add(web1, "_return", jid=jid, **{"return": 1})
    assert together.answers() == [ASK_ALONE, None]
    alone = Together(world, together.frames[:1], together.openers[:1])
    assert alone.answers() == [{}]


def test_a_publication_is_asked_alone(world: World, web1: Minion) -> None:
    frame = pack({"enc": "clear", "load": {"cmd": "publish"}, "version": 3})
    world.bus.events.clear()
    assert Together(world, [frame, frame]).replies() == [ASK_ALONE, ASK_ALONE]
    assert world.bus.events == []


def test_commands_that_share_a_turn_have_the_usual_time() -> None:
    shared = {name for name, command in COMMANDS.items() if command.shares}
    assert shared == {("clear", "_auth"), ("aes", "_return"), ("aes", "_minion_event")}
    assert not any(COMMANDS[name].limit_s for name in shared)


def test_returns_that_cannot_be_recorded_together_are_tried_one_by_one(
    world: World, web1: Minion, web2: Minion, monkeypatch: pytest.MonkeyPatch
) -> None:
    jid = publish(world)
    world.bus.events.clear()
    add = world.ctx.jobs.add_returns

    def only_of_web2(returns: Any) -> Any:
        if any(minion_id == "web1" for _jid, minion_id, _ret in returns):
            raise StoreError("too large")
        return add(returns)

    monkeypatch.setattr(world.ctx.jobs, "add_returns", only_of_web2)
    together = Together(world)
    together.add(web1, "_return", jid=jid, **{"return": 1})
    together.add(web2, "_return", jid=jid, **{"return": 2})
    assert together.answers() == ["", None]
    assert world.bus.tags() == [f"salt/job/{jid}/ret/web2"]


def test_an_error_of_ours_is_answered_to_all_it_concerns(
    world: World, web1: Minion, monkeypatch: pytest.MonkeyPatch
) -> None:
    jid = publish(world)
    monkeypatch.setattr(world.dispatcher, "finish", lambda _begun: 1 / 0)
    together = Together(world)
    together.add(web1, "_return", jid=jid, **{"return": 1})
    together.frames.append(pack({"enc": "clear", "load": {"cmd": "ping"}, "version": 3}))
    assert together.replies() == [HANDLER_FAILED, ASK_ALONE]


def test_what_is_slow_is_handed_back_where_there_is_no_leave(world: World, web1: Minion) -> None:
    frame, _nonce = web1.channel.seal({"cmd": "_pillar", "grains": {}, "id": "web1"})
    assert answer_all(world.dispatcher, [frame], slow=False) == [ASK_SLOW]
    (reply,) = answer_all(world.dispatcher, [frame])  # its nonce was not used
    assert "pillar" in unpack(reply)
    assert "pillar" in {cmd.lstrip("_") for (_enc, cmd), one in COMMANDS.items() if one.slow}
