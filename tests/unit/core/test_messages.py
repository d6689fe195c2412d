"""Loads as dataclasses: what is taken, what is refused, and that nothing is lost in between."""

from __future__ import annotations

import pytest

from saltlite.core.messages import (
    AuthRequest,
    Envelope,
    Job,
    JobReturn,
    LoadNotAMap,
    MinionEvents,
    PublishLoad,
    PublishReply,
    as_bytes,
    clear_refusal,
    refusal,
)
from saltlite.errors import WireError

JID = "20240102030405000678"

ENVELOPE = {
    "enc": "aes",
    "load": b"\xff",
    "version": 3,
    "id": "web1",
    "enc_algo": "OAEP-SHA1",
    "sig_algo": "PKCS1v15-SHA1",
}
AUTH = {
    "cmd": "_auth",
    "id": "web1",
    "nonce": "n" * 32,
    "enc_algo": "OAEP-SHA1",
    "sig_algo": "PKCS1v15-SHA1",
    "autosign_grains": {"uuid": "x"},
    "token": b"\xff",
    "pub": "PEM",
}
JOB = {
    "fun": "test.ping",
    "arg": [1, {"__kwarg__": True, "k": "v"}],
    "tgt": "*",
    "jid": JID,
    "ret": "",
    "tgt_type": "glob",
    "user": "root",
}
COMPOUND = {**JOB, "fun": ["a.b", "c.d"], "arg": [[1], []], "tgt": ["x", "y"], "tgt_type": "list"}
FULL_JOB = {
    **JOB,
    "delimiter": "|",
    "metadata": {"a": 1},
    "module_executors": ["direct_call"],
    "executor_opts": {"x": 1},
    "ret_config": "alt",
    "ret_kwargs": {"y": 2},
    "id": "web2",
    "master_id": "m",
    "to": 5,
    "start_event": True,
    "traceparent": "00-x",
}
RETURN = {
    "cmd": "_return",
    "id": "web1",
    "success": True,
    "return": {"any": [b"\xff", None]},
    "retcode": 0,
    "jid": JID,
    "fun": "test.ping",
    "fun_args": [1],
    "out": "nested",
    "user": "root",
    "metadata": {"a": 1},
    "master_id": "m",
    "_stamp": "then",
    "ts": 1,
}
PUBLISH = {
    "cmd": "publish",
    "tgt": "*",
    "fun": "test.ping",
    "arg": [],
    "key": "k",
    "tgt_type": "glob",
    "ret": "",
    "jid": "",
    "kwargs": {"delimiter": ":"},
    "user": "root",
    "to": 5,
}
EVENT = {"cmd": "_minion_event", "id": "web1", "tag": "a/b", "data": {"x": 1}, "pretag": None}
EVENTS = {
    "cmd": "_minion_event",
    "id": "web1",
    "events": [{"tag": "a", "data": 1}, {"tag": "b", "data": {}}],
    "pretag": "p",
}
REPLY = {"enc": "clear", "load": {"jid": JID, "minions": ["a"], "missing": ["b"]}}
NOBODY = {"enc": "clear", "load": {"jid": None, "minions": [], "error": "Nobody"}}

LOADS = [
    (Envelope, ENVELOPE),
    (Envelope, {"enc": "clear", "load": {"cmd": "ping"}, "version": 3}),
    (AuthRequest, AUTH),
    (Job, JOB),
    (Job, COMPOUND),
    (Job, FULL_JOB),
    (JobReturn, RETURN),
    (JobReturn, {**RETURN, "jid": "req"}),
    (JobReturn, {**RETURN, "retcode": {"a.b": 1}, "success": {"a.b": False}, "fun": ["a.b"]}),
    (JobReturn, {**RETURN, "retcode": [1], "success": [False], "fun": ["a.b"]}),
    (PublishLoad, PUBLISH),
    (PublishLoad, {**PUBLISH, "fun": ["a.b"], "arg": [[1]], "jid": JID, "eauth": "pam"}),
    (PublishReply, REPLY),
    (PublishReply, NOBODY),
    (MinionEvents, EVENT),
    (MinionEvents, EVENTS),
]


@pytest.mark.parametrize(("message", "load"), LOADS)
def test_nothing_is_lost(message, load):
    assert message.from_wire(load).to_wire() == load


STRANGE = [
    None,
    True,
    0,
    -1,
    1.5,
    float("nan"),
    "",
    "x" * 9000,
    b"\xff",
    [],
    ["a"],
    {},
    {1: 2},
    [[]],
]


@pytest.mark.parametrize(("message", "load"), LOADS)
def test_any_field_may_be_anything_or_missing(message, load):
    """Read or refused with WireError; nothing else may come out of it."""
    for name in load:
        for value in (*STRANGE, _MISSING):
            changed = {key: kept for key, kept in load.items() if key != name}
            if value is not _MISSING:
                changed[name] = value
            try:
                assert isinstance(message.from_wire(changed), message)
            except WireError:
                continue


_MISSING = object()


@pytest.mark.parametrize("message", sorted({one for one, _ in LOADS}, key=lambda one: one.__name__))
@pytest.mark.parametrize("value", STRANGE, ids=lambda value: repr(value)[:12])
def test_what_is_no_load_at_all(message, value):
    with pytest.raises(WireError):
        message.from_wire(value)


# --- single rules -------------------------------------------------------------------------


def test_binary_fields_may_arrive_as_text():
    assert as_bytes("abc", "load") == b"abc"
    assert Envelope.from_wire({**ENVELOPE, "load": "abc"}).load == b"abc"
    assert AuthRequest.from_wire({**AUTH, "token": "abc"}).token == b"abc"


def test_clear_load_that_is_no_map_has_its_own_error():
    with pytest.raises(LoadNotAMap):
        Envelope.from_wire({"enc": "clear", "load": [], "version": 3})


@pytest.mark.parametrize("nonce", [None, "", "n" * 31, "n" * 33, "ü" * 32, 5, b"\xff" * 32])
def test_auth_without_a_nonce_cannot_be_answered(nonce):
    with pytest.raises(WireError):
        AuthRequest.from_wire({**AUTH, "nonce": nonce})


@pytest.mark.parametrize(
    "change",
    [
        {"id": ".."},
        {"id": "a/b"},
        {"id": None},
        {"id": 5},
        {"pub": None},
        {"pub": 5},
        {"pub": "x" * 8193},
        {"pub": "ü"},
        {"token": 5},
        {"token": []},
        {"autosign_grains": {"../../x": "y"}},
        {"autosign_grains": {"a": ["b"]}},
        {"autosign_grains": {"": "b"}},
        {"autosign_grains": {str(number): "x" for number in range(101)}},
        {"autosign_grains": ["a"]},
        {"autosign_grains": {1: "a"}},
    ],
    ids=lambda change: repr(change)[:40],
)
def test_auth_that_must_be_refused_can_still_be_answered(change):
    request = AuthRequest.from_wire({**AUTH, **change})
    assert request.problem
    assert (request.id, request.pub, request.nonce) == ("", "", "n" * 32)
    assert request.sig_algo == "PKCS1v15-SHA1"


def test_auth_problem_does_not_repeat_what_was_sent():
    problem = AuthRequest.from_wire({**AUTH, "id": "a\nINFO accepted"}).problem
    assert problem == "id is not a minion id"


@pytest.mark.parametrize("jid", ["", "req", "../x", 5, None])
def test_a_job_needs_a_jid(jid):
    with pytest.raises(WireError):
        Job.from_wire({**JOB, "jid": jid})


def test_functions_and_arguments():
    assert Job.from_wire(JOB).functions == ["test.ping"]
    assert Job.from_wire(JOB).arguments == [JOB["arg"]]
    assert Job.from_wire(COMPOUND).functions == ["a.b", "c.d"]
    assert Job.from_wire(COMPOUND).arguments == [[1], []]
    assert PublishLoad.from_wire(PUBLISH).functions == ["test.ping"]
    with pytest.raises(WireError):
        Job.from_wire({**COMPOUND, "arg": [[1]]})
    with pytest.raises(WireError):
        Job.from_wire({**COMPOUND, "arg": [1, 2]})


@pytest.mark.parametrize("name", sorted(Job.FORBIDDEN))
def test_queue_words_are_never_taken_from_the_wire(name):
    assert name not in Job.from_wire({**JOB, name: True}).to_wire()


def test_serial_is_not_part_of_a_job():
    assert Job.from_wire({**JOB, "serial": 7}).to_wire() == JOB


def test_missing_options_have_salts_meaning():
    job = Job.from_wire({"fun": "a.b", "arg": [], "tgt": "*", "jid": JID})
    assert (job.tgt_type, job.ret, job.delimiter, job.user) == ("glob", "", ":", "")
    result = JobReturn.from_wire({"jid": JID, "id": "a", "return": None})
    assert (result.retcode, result.success, result.fun_args) == (0, True, [])


@pytest.mark.parametrize(
    "change",
    [
        {"jid": "x/new"},
        {"jid": ""},
        {"id": "../x"},
        {"retcode": "0"},
        {"retcode": 1.5},
        {"retcode": True},
        {"success": 1},
        {"fun": 5},
        {"fun_args": "x"},
        {"out": 5},
        {"metadata": []},
    ],
    ids=str,
)
def test_returns_of_wrong_types(change):
    with pytest.raises(WireError):
        JobReturn.from_wire({**RETURN, **change})


@pytest.mark.parametrize(
    "events",
    [
        "x",
        [5],
        {},
        [{}],
        [{"tag": ""}],
        [{"tag": "a\n\nb"}],
        [{"tag": "x" * 257}],
        [{"tag": 5}],
        [{"tag": "a", "data": 1}] * 101,
    ],
    ids=lambda value: repr(value)[:24],
)
def test_event_lists_that_are_none(events):
    with pytest.raises(WireError):
        MinionEvents.from_wire({**EVENTS, "events": events})


def test_the_single_form_has_the_whole_load_as_data():
    events = MinionEvents.from_wire(EVENT)
    assert events.single
    assert events.events[0].data == EVENT
    assert not MinionEvents.from_wire(EVENTS).single


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        (clear_refusal("AuthenticationError", "No."), ("AuthenticationError", "No.")),
        ({"error": "jid could not be made"}, ("", "jid could not be made")),
        ({"error": None}, ("", "None")),
        ("bad load", ("", "bad load")),
        (REPLY, None),
        ({}, None),
        (None, None),
    ],
)
def test_refusals(reply, found):
    assert refusal(reply) == found
