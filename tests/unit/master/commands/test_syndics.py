"""What an upper master takes from syndics, and what it does not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from worker import Minion, World, worker_world

from saltlite.crypto.keys import PrivateKey
from saltlite.master.acl import process_user

OPTIONS = "auto_accept: True\norder_masters: True\nsyndics: ['syn*']\n"
NOT_ON_RECORD = "20260102030405000006"


@pytest.fixture(scope="session")
def rsa() -> list[PrivateKey]:
    return [PrivateKey.generate(2048) for _ in range(3)]


@pytest.fixture
def options() -> str:
    return OPTIONS


@pytest.fixture
def world(tmp_path: Path, rsa: list[PrivateKey], options: str) -> Iterator[World]:
    with worker_world(tmp_path, rsa[0], options) as one:
        yield one


@pytest.fixture
def syndic(world: World, rsa: list[PrivateKey]) -> Minion:
    return world.minion("syn1", rsa[1])


@pytest.fixture
def web1(world: World, rsa: list[PrivateKey]) -> Minion:
    return world.minion("web1", rsa[2])


def part(jid: str, minion: str = "m1", value: object = True, **more: Any) -> dict[str, Any]:
    """As a real syndic sends it."""
    fields = {"return": value, "retcode": 0, "success": True, "fun_args": []}
    return {
        "cmd": "_syndic_return", "id": "syn1", "jid": jid, "fun": "test.ping", "arg": None,
        "tgt": None, "tgt_type": None, "load": {}, "return": {minion: fields}, **more,
    }  # fmt: skip


def publish(world: World, **load: Any) -> str:
    jid = world.publish(**load)["load"]["jid"]
    assert isinstance(jid, str)
    world.bus.events.clear()
    return jid


def returned(world: World, jid: str) -> dict[str, Any]:
    return {one: data["return"] for one, data in world.ctx.jobs.returns(jid).items()}


# --- down --------------------------------------------------------------------------------


def test_a_job_goes_down_though_nobody_here_is_meant(world: World, syndic: Minion) -> None:
    reply = world.publish(tgt="*", to=7)
    assert (reply["load"]["minions"], reply["load"]["missing"]) == ([], [])
    (job,) = world.jobs.published
    assert (job["tgt"], job["to"], job["auth_list"]) == ("*", 7, [])
    assert job["jid"] == reply["load"]["jid"]


def test_a_syndic_is_not_waited_for_and_may_answer(world: World, syndic: Minion) -> None:
    jid = publish(world, tgt="*")
    assert world.ctx.jobs.minions(jid) == []
    load = {"id": "syn1", "return": True, "fun": "test.ping"}
    assert syndic.ask("_return", jid=jid, **load) is None
    assert returned(world, jid) == {"syn1": True}
    assert syndic.ask("_return", jid=publish(world, tgt="web*"), **load) is False


def test_a_malformed_target_goes_nowhere(world: World, syndic: Minion) -> None:
    assert world.publish(tgt="a and and b", tgt_type="compound")["load"]["jid"] is None
    assert world.jobs.published == []


def test_what_a_minion_publishes_stays_with_the_minions_of_this_master(
    tmp_path: Path, rsa: list[PrivateKey]
) -> None:
    with worker_world(tmp_path, rsa[0], f"{OPTIONS}peer: {{web1: [test.ping]}}\n") as world:
        web1 = world.minion("web1", rsa[2])
        load = {"fun": "test.ping", "arg": [], "tgt": "*", "tgt_type": "glob", "ret": ""}
        web1.ask("minion_pub", **load, tmo=5, form="clean", id="web1")
        (job,) = world.jobs.published
        assert (job["tgt"], job["tgt_type"]) == (["web1"], "list")


# --- up: returns -------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["list", "one"])
def test_a_return_is_on_record_and_on_the_bus(world: World, syndic: Minion, form: str) -> None:
    jid = publish(world)
    load = {"load": [part(jid)]} if form == "list" else part(jid)
    load.pop("cmd", None)
    assert syndic.ask("_syndic_return", **load) is None
    assert returned(world, jid) == {"m1": True}
    ((tag, data),) = world.bus.events
    assert tag == f"salt/job/{jid}/ret/m1"
    assert (data["id"], data["return"], data["fun"]) == ("m1", True, "test.ping")


def test_what_comes_twice_is_there_once(world: World, syndic: Minion) -> None:
    jid = publish(world)
    for value in (1, 1, 2):
        assert syndic.ask("_syndic_return", load=[part(jid, value=value)]) is None
    assert returned(world, jid) == {"m1": 1}
    assert len(world.bus.events) == 1


def test_the_outputter_and_the_master_go_along(world: World, syndic: Minion) -> None:
    jid = publish(world)
    syndic.ask("_syndic_return", load=[part(jid, out="highstate", master_id="x")])
    assert world.ctx.jobs.returns(jid)["m1"]["out"] == "highstate"
    assert world.bus.events[0][1]["master_id"] == "x"


def test_a_lower_masters_own_job_is_told(world: World, syndic: Minion) -> None:
    load = {"fun": "test.echo", "arg": ["x"], "tgt": "m1", "tgt_type": "glob", "ret": "",
            "jid": NOT_ON_RECORD, "user": "anna", "cmd": "publish", "key": "secret",
            "kwargs": {"token": "secret", "metadata": {"a": 1}}, "Minions": ["m1"]}  # fmt: skip
    syndic.ask("_syndic_return", load=[part(NOT_ON_RECORD, load=load)])
    record = world.ctx.jobs.job(NOT_ON_RECORD)
    assert record is not None
    assert (record.load["user"], record.load["syndic"]) == ("anna", "syn1")
    assert "secret" not in repr(record.load)
    assert returned(world, NOT_ON_RECORD) == {"m1": True}


def test_a_job_of_which_only_the_return_is_known(world: World, syndic: Minion) -> None:
    """A syndic of 3006 sends no load of jobs of its own master."""
    syndic.ask("_syndic_return", load=[part(NOT_ON_RECORD)])
    record = world.ctx.jobs.job(NOT_ON_RECORD)
    assert record is not None
    assert (record.load["fun"], record.load["tgt"]) == ("test.ping", "unknown-target")
    assert returned(world, NOT_ON_RECORD) == {"m1": True}


def test_so_many_new_jobs_a_second(world: World, syndic: Minion) -> None:
    world.ctx.steady_s = lambda: 100.0
    jids = [f"2026010203040500{number:04}" for number in range(520)]
    syndic.ask("_syndic_return", load=[part(jid) for jid in jids])
    assert world.ctx.jobs.count() == 500


FUTURE = "29990102030405000006"


@pytest.mark.parametrize(
    ("jid", "load"),
    [
        (FUTURE, {}),
        (FUTURE, {"fun": "test.ping", "tgt": "*"}),
        (NOT_ON_RECORD, {"fun": "test.ping"}),
        (NOT_ON_RECORD, {"fun": 5, "tgt": "*"}),
        (NOT_ON_RECORD, {"fun": "test.ping", "tgt": "*", "arg": ["x" * 2_000_000]}),
        ("req", {"fun": "test.ping", "tgt": "*"}),
        ("nocache", {"fun": "test.ping", "tgt": "*"}),
    ],
)
def test_a_job_that_is_none_is_not_on_record(
    world: World, syndic: Minion, jid: str, load: dict[str, Any]
) -> None:
    assert syndic.ask("_syndic_return", load=[part(jid, load=load)]) is None
    assert world.ctx.jobs.count() == 0
    assert world.bus.events == [] or "salt/auth" in world.bus.tags()


@pytest.mark.parametrize("jid", ["../../x", "", 5, None, "2" * 300, ["x"]])
def test_a_jid_that_is_none_is_refused(world: World, syndic: Minion, jid: Any) -> None:
    assert syndic.ask("_syndic_return", load=[part(jid)]) == {}


def test_a_minion_of_this_master_speaks_for_itself(
    world: World, syndic: Minion, web1: Minion
) -> None:
    jid = publish(world)
    syndic.ask("_syndic_return", load=[part(jid, "web1", "forged"), part(jid, "m1")])
    assert returned(world, jid) == {"m1": True}
    web1.ask("_return", jid=jid, id="web1", fun="test.ping", **{"return": "own"})
    assert returned(world, jid) == {"m1": True, "web1": "own"}


def test_the_same_id_as_minion_and_syndic(world: World, syndic: Minion) -> None:
    """Salt's issue 24669: the minion on the lower master's machine has the syndic's id."""
    jid = publish(world)
    syndic.ask("_syndic_return", load=[part(jid, "syn1")])
    assert returned(world, jid) == {"syn1": True}


@pytest.mark.parametrize(
    ("tgt", "tgt_type", "minion", "is_taken"),
    [
        ("m*", "glob", "m1", True), ("m*", "glob", "x1", False),
        (["m1"], "list", "m1", True), (["m1"], "list", "m2", False), ("m1,m3", "list", "m3", True),
        ("G@os:x", "compound", "m1", True),
        ("*", "glob", "../x", False), ("*", "glob", "", False), ("*", "glob", "x" * 254, False),
    ],
)  # fmt: skip
def test_only_who_was_asked_is_returned_for(
    world: World, syndic: Minion, tgt: Any, tgt_type: str, minion: str, is_taken: bool
) -> None:
    jid = publish(world, tgt=tgt, tgt_type=tgt_type)
    syndic.ask("_syndic_return", load=[part(jid, minion)])
    assert list(returned(world, jid)) == ([minion] if is_taken else [])


@pytest.mark.parametrize("field", [{"retcode": "x"}, {"success": 5}, {"fun_args": 5}])
def test_a_malformed_return_is_left_out_and_the_others_are_not(
    world: World, syndic: Minion, field: dict[str, Any]
) -> None:
    jid = publish(world)
    wrong = part(jid, "m2")
    wrong["return"]["m2"] |= field
    syndic.ask("_syndic_return", load=[wrong, part(jid)])
    assert returned(world, jid) == {"m1": True}


@pytest.mark.parametrize(
    "load",
    [
        {"load": [5]},
        {"load": [{}]},
        {"load": 5},
        {},
        {"load": [{"jid": NOT_ON_RECORD, "return": 5}]},
    ],
)
def test_what_is_no_syndic_return_is_refused(world: World, syndic: Minion, load: Any) -> None:
    assert syndic.ask("_syndic_return", **load) == {}


def test_so_many_returns_at_once_and_no_more(world: World, syndic: Minion) -> None:
    jid = publish(world)
    many = part(jid)
    many["return"] = {f"m{number}": {"return": 1} for number in range(1200)}
    assert syndic.ask("_syndic_return", load=[many]) is None
    assert len(returned(world, jid)) == 1200
    many["return"] = {f"n{number}": {"return": 1} for number in range(20_001)}
    assert syndic.ask("_syndic_return", load=[many]) == {}
    assert len(returned(world, jid)) == 1200


# --- who is one --------------------------------------------------------------------------


def test_a_minion_is_no_syndic_by_saying_so(world: World, web1: Minion) -> None:
    jid = publish(world)
    assert web1.ask("_syndic_return", load=[part(jid)]) == {}
    refused = web1.ask("_minion_event", events=[{"tag": "x", "data": {}}], pretag="syndic/web1")
    assert refused == {"refused": "pretag from a minion that is no syndic"}
    assert returned(world, jid) == {}
    assert world.bus.events == []


def test_one_that_salt_has_marked_is_one_until_its_key_goes(
    world: World, web1: Minion, tmp_path: Path
) -> None:
    from saltlite.master.keyactions import KeyActions

    marker = world.ctx.shared.cachedir / "syndics" / "web1"
    marker.parent.mkdir()
    marker.touch()
    jid = publish(world)
    assert web1.ask("_syndic_return", load=[part(jid)]) is None
    assert publish(world, tgt="*")
    assert world.jobs.published
    KeyActions(world.ctx.config, world.ctx.stores).delete("web1")
    assert not marker.exists()


@pytest.mark.parametrize("options", ["auto_accept: True\nsyndics: ['syn*']\n"])
def test_without_order_masters_nobody_is_one(world: World, syndic: Minion) -> None:
    assert world.publish(tgt="nobody")["load"]["jid"] is None
    jid = publish(world)
    assert syndic.ask("_syndic_return", load=[part(jid)]) == {}
    assert "to" not in world.jobs.published[0]


# --- up: events --------------------------------------------------------------------------


def forward(syndic: Minion, tag: str, data: Any, pretag: Any = "syndic/syn1") -> Any:
    syndic.world.bus.events.clear()
    return syndic.ask("_minion_event", events=[{"tag": tag, "data": data}], pretag=pretag)


@pytest.mark.parametrize(
    ("tag", "data", "own"),
    [
        ("minion_start", {"id": "m1"}, "minion_start"),
        ("salt/minion/m1/start", {"id": "m1"}, "salt/minion/m1/start"),
        ("salt/beacon/m1/load/x", {"id": "m1"}, "salt/beacon/m1/load/x"),
        ("myco/x", {"id": "m1"}, "myco/x"),
        ("salt/auth", {"id": "m1"}, None),
        ("salt/key", {"id": "m1"}, None),
        ("salt/run/20260102030405000006/ret", {}, None),
        ("salt/job/20260102030405000006/ret/m1", {"id": "m1"}, None),
        ("syndic/x/y", {}, None),
        ("salt/minion/web1/start", {"id": "web1"}, None),
    ],
)
def test_an_event_is_told_below_the_syndic(
    world: World, syndic: Minion, web1: Minion, tag: str, data: Any, own: str | None
) -> None:
    assert forward(syndic, tag, data) is None
    assert world.bus.tags() == [f"syndic/syn1/{tag}", *([own] if own else [])]


def test_a_minion_of_this_master_is_not_spoken_for(
    world: World, syndic: Minion, web1: Minion
) -> None:
    forward(syndic, "myco/x", {"id": "web1"})
    assert [data["id"] for _tag, data in world.bus.events] == ["web1", "syn1"]


@pytest.mark.parametrize("pretag", ["salt", "syndic/other", "syndic", "", 5])
def test_a_syndic_has_one_pretag(world: World, syndic: Minion, pretag: Any) -> None:
    assert forward(syndic, "x", {}, pretag=pretag) != None  # noqa: E711 - {} is a refusal too
    assert world.bus.events == []


@pytest.mark.parametrize(
    "tag", ["{jid}", "salt/job/{jid}/new", "syndic/low/{jid}", "syndic/low/salt/job/{jid}/new"]
)
def test_minions_that_are_named_are_expected(
    world: World, syndic: Minion, web1: Minion, tag: str
) -> None:
    jid = publish(world)
    forward(syndic, tag.format(jid=jid), {"minions": ["m1", "m2", "web1", "../x", 5]})
    assert (jid, {"minions": ["m1", "m2"]}) in world.bus.events
    assert world.ctx.jobs.minions(jid) == ["web1", "m1", "m2"]


def test_so_many_events_at_once(world: World, syndic: Minion) -> None:
    world.ctx.steady_s = lambda: 100.0
    events = [{"tag": "x", "data": {}}] * 3000
    assert syndic.ask("_minion_event", events=events, pretag="syndic/syn1") is None
    refused = syndic.ask("_minion_event", events=events, pretag="syndic/syn1")
    assert refused == {"refused": "more than 5000 events a second"}


# --- the lower master --------------------------------------------------------------------


def from_above(world: World, *, auth_list: Any = None, **load: Any) -> Any:
    kwargs = {"auth_list": [] if auth_list is None else auth_list, "user": "anna"}
    return world.publish(jid=NOT_ON_RECORD, kwargs=kwargs, to=4, **load)


@pytest.mark.parametrize("options", ["auto_accept: True\n"])
def test_the_same_job_from_two_masters_is_published_once(world: World, web1: Minion) -> None:
    first, again = from_above(world), from_above(world)
    assert first["load"]["jid"] == again["load"]["jid"] == NOT_ON_RECORD
    assert first["load"]["minions"] == again["load"]["minions"] == ["web1"]
    assert len(world.jobs.published) == 1
    assert not [tag for tag in world.bus.tags() if tag.endswith("/error")]
    assert from_above(world, fun="test.echo") == {"error": f"Job {NOT_ON_RECORD} exists already"}


@pytest.mark.parametrize("options", ["auto_accept: True\n"])
@pytest.mark.parametrize(
    ("auth_list", "fun", "goes"),
    [
        ([], "cmd.run", True),
        (["test.*"], "test.ping", True),
        (["test.*"], "cmd.run", False),
        ([{"web*": ["test.ping"]}], "test.ping", True),
        ([{"db*": ["test.ping"]}], "test.ping", False),
        ([{"db*": ["test.ping"]}], "saltutil.find_job", True),
        ("x", "test.ping", False),
        ([{}], "test.ping", False),
    ],
)
def test_the_rights_of_the_user_above_hold_here(
    world: World, web1: Minion, auth_list: Any, fun: str, goes: bool
) -> None:
    reply = from_above(world, auth_list=auth_list, fun=fun)
    assert ("load" in reply) is goes
    assert len(world.jobs.published) == goes


@pytest.mark.parametrize("options", ["auto_accept: True\n"])
def test_a_compound_target_with_rights_names_minions(world: World, web1: Minion) -> None:
    from_above(world, auth_list=["test.ping"], tgt="web1 or db*", tgt_type="compound")
    (job,) = world.jobs.published
    assert (job["tgt"], job["tgt_type"]) == (["web1"], "list")


LIMITED = "daemon" if process_user() != "daemon" else "nobody"


@pytest.mark.parametrize("options", [f"{OPTIONS}publisher_acl: {{{LIMITED}: [test.ping]}}\n"])
def test_a_limited_user_takes_his_rights_along(world: World, web1: Minion, syndic: Minion) -> None:
    from saltlite.crypto.cipher import new_key_string
    from saltlite.master.acl import key_path, write_keys

    write_keys(world.ctx.shared.cachedir, [LIMITED], new_key_string)
    key = key_path(world.ctx.shared.cachedir, LIMITED).read_text()
    world.publish(user=LIMITED, key=key, tgt="*")
    world.publish(user=LIMITED, key=key, tgt="web1 or db*", tgt_type="compound")
    # What nobody here matches is nobody's right.
    assert world.publish(user=LIMITED, key=key, tgt="low*")["load"]["jid"] is None
    wide, named = world.jobs.published
    assert (wide["tgt"], wide["auth_list"]) == ("*", ["test.ping"])
    assert (named["tgt"], named["auth_list"]) == (["web1"], ["test.ping"])
    refused = world.publish(user=LIMITED, key=key, jid=NOT_ON_RECORD)
    assert "jid needs the right" in refused["error"]["message"]
    refused = world.publish(user=LIMITED, key=key, kwargs={"auth_list": []})
    assert "auth_list: no such field" in refused["error"]["message"]
