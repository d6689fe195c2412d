"""The decision on what a publish may contain: one table for users and minions."""

from __future__ import annotations

from typing import Any

import pytest

from saltlite.core.messages import PublishLoad
from saltlite.core.targets import Expected, Target
from saltlite.errors import TargetError, WireError
from saltlite.master.publishrights import (
    ARGUMENTS_LIMIT_BYTES,
    METADATA_LIMIT_BYTES,
    TARGET_LIMIT_BYTES,
    Publisher,
    Refused,
    decide,
    drop_unknown,
    list_granted_fields,
)

WEB = {"web1", "web2"}
JID = "20240101000000000000"


def publisher(*rules: Any, limited: bool = True) -> Publisher:
    """Allowed ``test.*`` on ``web1`` and ``web2``."""

    def allows(functions: Any, _arguments: Any, minions: Any) -> bool:
        tested = all(one.startswith("test.") for one in functions)
        return tested and bool(minions) and set(minions) <= WEB

    return Publisher("alice", limited=limited, fields=list_granted_fields(rules), allows=allows)


def load(**fields: Any) -> PublishLoad:
    return PublishLoad.from_wire({"cmd": "publish", "tgt": "web*", "fun": "test.ping", **fields})


def match(target: Target) -> Expected:
    if target.tgt == "broken":
        raise TargetError("broken")
    return Expected({"db1"} if str(target.tgt).startswith("db") else set(WEB), [])


def kwargs(**fields: Any) -> dict[str, Any]:
    return {"kwargs": fields}


NOTHING: tuple[Any, ...] = ()
RET = {"@publish": ["ret"]}
LISTED = {"@publish": [{"ret": ["mysql", "redis"]}]}
ALL = {"@publish": ["ret", "ret_config", "ret_kwargs", "module_executors", "executor_opts",
                    "metadata", "jid", "master_id"]}  # fmt: skip

ROWS: list[tuple[str, tuple[Any, ...], dict[str, Any], str | None]] = [
    # what every publish has
    ("plain", NOTHING, {}, None),
    ("as salt sends it", NOTHING, {"ret": "", "jid": "", "to": 5, "arg": ["x"], "tgt_type": "glob",
     **kwargs(show_timeout=True, show_jid=False, delimiter=":")}, None),
    ("as batch sends it", NOTHING, kwargs(gather_job_timeout=10, yield_pub_data=True), None),
    ("two functions", NOTHING, {"fun": ["test.ping", "test.echo"], "arg": [[], ["x"]]}, None),
    ("start_event", NOTHING, kwargs(start_event=True), None),
    ("small metadata", NOTHING, kwargs(metadata={"ticket": "X-1"}), None),
    ("nothing set", NOTHING, kwargs(ret_config=None, metadata=None), None),
    # functions and minions
    ("other function", NOTHING, {"fun": "cmd.run"}, "not allowed"),
    ("other among them", NOTHING, {"fun": ["test.ping", "cmd.run"], "arg": [[], []]}, "allowed"),
    ("other minion", NOTHING, {"tgt": "db1"}, "not allowed"),
    ("nobody", NOTHING, {"tgt": "broken"}, "not allowed"),
    ("no function", NOTHING, {"fun": "test.ping\ncmd.run"}, "fun is not"),
    ("joined", NOTHING, {"fun": "test.ping,cmd.run"}, "fun is not"),
    ("many functions", NOTHING, {"fun": ["test.ping"] * 101, "arg": [[]] * 101}, "fun is not"),
    # fields that need a right
    ("ret", NOTHING, {"ret": "rawfile_json"}, "ret needs the right '@publish: [ret]'"),
    ("ret_config", NOTHING, kwargs(ret_config="alternative"), "ret_config needs"),
    ("ret_kwargs", NOTHING, kwargs(ret_kwargs={"filename": "/etc/cron.d/x"}), "ret_kwargs needs"),
    ("module_executors", NOTHING, kwargs(module_executors=["sudo"]), "module_executors needs"),
    ("one executor", NOTHING, kwargs(module_executors="docker"), "module_executors needs"),
    ("executor_opts", NOTHING, kwargs(executor_opts={"x": 1}), "executor_opts needs"),
    ("false executor_opts", NOTHING, kwargs(executor_opts=False), "executor_opts needs"),
    ("master_id", NOTHING, kwargs(master_id="m"), "master_id needs"),
    ("jid", NOTHING, {"jid": JID}, "jid needs"),
    ("large metadata", NOTHING, kwargs(metadata={"a": "x" * 5000}), "metadata needs"),
    ("numbered metadata", NOTHING, kwargs(metadata={}), None),
    # rights
    ("ret with right", (RET,), {"ret": "rawfile_json"}, None),
    ("right as text", ({"@publish": "ret"},), {"ret": "mysql"}, None),
    ("ret alone", (RET,), {"ret": "mysql", **kwargs(ret_config="x")}, "ret_config needs"),
    ("listed", (LISTED,), {"ret": "mysql"}, None),
    ("both listed", (LISTED,), {"ret": "redis, mysql"}, None),
    ("not listed", (LISTED,), {"ret": "rawfile_json"}, "only mysql, redis"),
    ("one not listed", (LISTED,), {"ret": "mysql,rawfile_json"}, "only mysql, redis"),
    ("listed, then all", (LISTED, RET), {"ret": "rawfile_json"}, None),
    ("two lists", (LISTED, {"@publish": {"ret": "x"}}), {"ret": "x,mysql"}, None),
    ("executors listed", ({"@publish": {"module_executors": ["splay", "direct_call"]}},),
     kwargs(module_executors=["splay", "direct_call"]), None),
    ("executor not listed", ({"@publish": {"module_executors": ["splay"]}},),
     kwargs(module_executors=["sudo"]), "only splay"),
    ("map against words", ({"@publish": {"ret_kwargs": ["x"]}},),
     kwargs(ret_kwargs={"x": "y"}), "only x"),
    ("all", (ALL,), {"ret": "x", "jid": JID, **kwargs(ret_config="a", ret_kwargs={"b": 1},
     module_executors=["sudo"], executor_opts={}, metadata={"a": "x" * 5000}, master_id="m")},
     None),
    ("a right is no function", (ALL,), {"fun": "cmd.run"}, "not allowed"),
    # rights that are none
    ("all functions", (".*", "*"), {"ret": "mysql"}, "ret needs"),
    ("no list", ("@publish",), {"ret": "mysql"}, "ret needs"),
    ("nothing in it", ({"@publish": None},), {"ret": "mysql"}, "ret needs"),
    ("star", ({"@publish": ["*"]},), {"ret": "mysql"}, "ret needs"),
    ("below a target", ({"*": [{"@publish": ["ret"]}]},), {"ret": "mysql"}, "ret needs"),
    ("numbers", ({"@publish": [5, {5: ["x"]}, {"ret": 5}, {"ret": []}]},), {"ret": "x"}, "needs"),
    # fields that nobody knows
    ("unknown option", (ALL,), kwargs(resource_job=True), "resource_job: no such field"),
    ("unknown field", (ALL,), {"peer_of": "web1"}, "peer_of: no such field"),
    ("token", (ALL,), kwargs(token="x"), "token: no such field"),
    ("auth_list", (ALL,), kwargs(auth_list=["*"]), "auth_list: no such field"),
    ("id", (ALL,), kwargs(id="web1"), "id: no such field"),
    ("nocache", (ALL,), kwargs(nocache=True), "nocache: no such field"),
    ("even if granted", ({"@publish": ["id"]},), kwargs(id="web1"), "id: no such field"),
    # types and bounds
    ("long delimiter", NOTHING, kwargs(delimiter="x" * 9), "delimiter: it cannot"),
    ("no delimiter", NOTHING, kwargs(delimiter=""), "delimiter: it cannot"),
    ("delimiter list", NOTHING, kwargs(delimiter=[":"]), "delimiter: it cannot"),
    ("flag as text", NOTHING, kwargs(show_jid="yes"), "show_jid: it cannot"),
    ("far timeout", NOTHING, {"to": 10**9}, "to: it cannot"),
    ("negative timeout", NOTHING, {"to": -1}, "to: it cannot"),
    ("long kind", NOTHING, {"tgt_type": "x" * 129}, "tgt_type: it cannot"),
    ("large target", NOTHING, {"tgt": "w" * (TARGET_LIMIT_BYTES + 1)}, "tgt is too large"),
    ("large arguments", NOTHING, {"arg": ["w" * ARGUMENTS_LIMIT_BYTES]}, "arg is too large"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("rules", "fields", "reason"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS]
)
def test_what_a_limited_publish_may_contain(
    rules: tuple[Any, ...], fields: dict[str, Any], reason: str | None
) -> None:
    decision = decide(publisher(*rules), load(**fields), match)
    if reason is None:
        assert isinstance(decision, Expected)
        assert decision.minions == WEB
    else:
        assert isinstance(decision, Refused)
        assert reason in decision.reason


@pytest.mark.parametrize("row", [row for row in ROWS if row[3]], ids=lambda row: row[0])
def test_who_has_all_rights_is_not_held_to_them(row: Any) -> None:
    decision = decide(publisher(limited=False), load(**row[2]), match)
    assert isinstance(decision, Expected)


WRONG_TYPES: list[dict[str, Any]] = [
    {"metadata": ["a"]}, {"metadata": {5: 5}}, {"ret_kwargs": "x"}, {"ret_config": {}},
    {"module_executors": {"a": 1}}, {"module_executors": [5]}, {"start_event": 1},
    {"master_id": 5},
]  # fmt: skip


@pytest.mark.parametrize("fields", WRONG_TYPES, ids=repr)
@pytest.mark.parametrize("limited", [True, False])
def test_a_type_that_no_minion_takes_is_an_error(fields: dict[str, Any], limited: bool) -> None:
    with pytest.raises(WireError, match=next(iter(fields))):
        decide(publisher(ALL, limited=limited), load(kwargs=fields), match)


@pytest.mark.parametrize("value", ["some-minion", True, 5, 0.5, None], ids=repr)
def test_a_keyword_that_means_nothing_is_dropped(value: Any) -> None:
    """Salt's own clients send what they were given; see test_run_extra_parameters there."""
    sent = load(kwargs={"id_": value, "show_jid": True})
    found = drop_unknown(publisher(), sent)
    assert found.kwargs == {"show_jid": True}
    assert isinstance(decide(publisher(), found, match), Expected)
    assert drop_unknown(publisher(limited=False), sent).kwargs == sent.kwargs


KEPT: list[dict[str, Any]] = [
    {"id": "web1"}, {"nocache": True}, {"auth_list": "x"}, {"resource_target": "x"}, {"user": "x"},
    {"__kwarg__": True}, {"id_": ["a"]}, {"id_": {"a": 1}}, {"id_": "x" * 129}, {"x" * 129: "x"},
    {"ret_config": "x"}, {"sudo_user": "x"}, {f"k{number}": 1 for number in range(33)},
]  # fmt: skip


@pytest.mark.parametrize("fields", KEPT, ids=lambda one: str(next(iter(one)))[:20])
def test_what_means_something_or_is_large_is_refused_and_not_dropped(
    fields: dict[str, Any],
) -> None:
    sent = load(kwargs=fields)
    assert drop_unknown(publisher(), sent) == sent
    assert isinstance(decide(publisher(), sent, match), Refused)


def test_nothing_is_matched_for_what_is_refused_by_its_form() -> None:
    def never(_target: Target) -> Expected:
        raise AssertionError("matched")

    assert isinstance(decide(publisher(), load(ret="mysql"), never), Refused)


def test_the_bound_of_metadata_is_on_what_travels() -> None:
    just = {"a": "x" * (METADATA_LIMIT_BYTES - 6)}
    assert isinstance(decide(publisher(), load(kwargs={"metadata": just}), match), Expected)
    more = {"a": "x" * (METADATA_LIMIT_BYTES - 5)}
    assert isinstance(decide(publisher(), load(kwargs={"metadata": more}), match), Refused)
