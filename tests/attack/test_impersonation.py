"""Who is speaking: one accepted key is worth one minion. Source: docs/security.md#impersonation."""

from __future__ import annotations

import math
import uuid
from typing import Any

import pytest

from attacks import NO_REPLY, Stranger, Victim, clear, unharmed
from cluster import Cluster
from loads import ENCRYPTED
from rogue import BAD_LOAD, LEFT_OUT, Rogue, Sealed
from saltlite.crypto.cipher import new_key_string
from saltlite.master.commands import COMMANDS
from saltlite.master.jobcache import SqliteJobStore

WRONG_VERSIONS: list[Any] = [
    0, 1, 2, LEFT_OUT, "3", "2", "", 3.0, 2.9, -1, -(2**63), None, [], [3], {}, {"a": 3}, True,
    False, math.nan, math.inf, -math.inf, b"3", b"\xff",
]  # fmt: skip

BAD_TOKS: list[Any] = [
    LEFT_OUT, "", "x", b"\xff", b"\0" * 256, b"\xff" * 256, b"\xff" * 257, b"\xff" * 10_000,
    ["x"], {}, 5, None, True,
]  # fmt: skip


def test_every_command_of_the_table_has_an_honest_load() -> None:
    """So that what follows covers a command from the day it is added."""
    names = {cmd for enc, cmd in COMMANDS if enc == "aes"}
    assert names - ENCRYPTED.keys() == {"revoke_auth"}


def refused(victim: Victim, rogue: Rogue, forged: list[dict[str, Any]]) -> None:
    """Each forgery with each command is a bad load, and leaves nothing behind."""
    requests = []
    for cmd, load in ENCRYPTED.items():
        requests += [rogue.make({"cmd": cmd, **load}, **one) for one in forged]
    with unharmed(victim):
        replies = rogue.send_many(requests)
    assert set(map(repr, replies)) == {repr(BAD_LOAD)}


def test_nobody_speaks_as_another(victim: Victim, rogue: Rogue, bystander: Rogue) -> None:
    """CVE-2013-4439, CVE-2024-38822."""
    refused(
        victim,
        rogue,
        [
            {"id": bystander.id},
            {"outer": {"id": bystander.id}},
            {"outer": {"id": bystander.id}, "id": bystander.id},
            {"tok": bystander.tok},
            {"tok": bystander.tok, "id": bystander.id},
            {"tok": bystander.tok, "id": bystander.id, "outer": {"id": bystander.id}},
            {"outer": {"id": "nobody-knows-me"}, "id": "nobody-knows-me"},
            {"outer": {"id": LEFT_OUT}},
            {"id": LEFT_OUT},
            {"session": new_key_string()},
        ],
    )


def test_the_shared_key_opens_no_door(victim: Victim, rogue: Rogue, bystander: Rogue) -> None:
    """All accepted minions know ``aes``; requests need the session key."""
    assert rogue.accepted is not None
    aes = rogue.accepted.aes
    both = {"outer": {"id": bystander.id}, "id": bystander.id}
    refused(victim, rogue, [{"session": aes}, {"session": aes, **both}])


def test_a_token_is_a_signature(victim: Victim, rogue: Rogue) -> None:
    modulus = rogue.key.public.encrypt(b"x" * 16, "OAEP-SHA1")
    wrong = rogue.key.sign(b"salt", "PKCS1v15-SHA1")
    other = rogue.key.x931_sign(b"salT")
    longer = rogue.key.x931_sign(b"salt\0")
    toks = [*BAD_TOKS, modulus, wrong, other, longer, rogue.tok + b"\0", b"\0" + rogue.tok]
    refused(victim, rogue, [{"tok": tok} for tok in toks])


def test_ten_megabytes_of_token(victim: Victim, rogue: Rogue) -> None:
    with unharmed(victim):
        assert rogue.send({"cmd": "_mine", "data": {}}, tok=b"\xff" * 10_000_000) == BAD_LOAD


def test_no_older_version_is_spoken(victim: Victim, rogue: Rogue) -> None:
    """CVE-2025-62349."""
    refused(victim, rogue, [{"outer": {"version": one}} for one in WRONG_VERSIONS])


def test_no_older_version_in_the_clear(victim: Victim, rogue: Rogue) -> None:
    loads = [{"cmd": "ping"}, {"cmd": "_auth", "id": rogue.id, "pub": rogue.pem}]
    requests = []
    for version in WRONG_VERSIONS:
        for load in loads:
            request = clear(load, version=version)
            if version is LEFT_OUT:
                del request["version"]
            requests.append(request)
    with unharmed(victim):
        replies = victim.stranger.send_many(requests)
    assert replies == [BAD_LOAD] * len(requests)


@pytest.mark.parametrize("version", [3, 4, 1000, 2**63, 2**64 - 1])
def test_a_later_version_is_treated_as_the_third(rogue: Rogue, version: int) -> None:
    assert rogue.send({"cmd": "_file_envs"}, outer={"version": version}) == Sealed(["base"])


@pytest.mark.parametrize("nonce", [LEFT_OUT, "", "x", "x" * 31, "x" * 33, "\u00e9" * 32, 5, None,
                                   ["x"] * 32, {}, b"\xff" * 32])  # fmt: skip
def test_a_nonce_has_its_form(victim: Victim, rogue: Rogue, nonce: Any) -> None:
    with unharmed(victim):
        assert rogue.send({"cmd": "_mine", "data": {"x": 1}}, nonce=nonce) == BAD_LOAD


@pytest.mark.parametrize(
    "cmd", [LEFT_OUT, None, 5, [], {}, b"\xff", True, ["_mine"], "x", "", "__init__", "ping",
            "publish", "_auth", "runner", "wheel", "_prep_auth_info", "_mine ", "_MINE"],
    ids=repr,
)  # fmt: skip
def test_an_unknown_command_of_an_accepted_minion(victim: Victim, rogue: Rogue, cmd: Any) -> None:
    """Clear commands are none in an encrypted load."""
    load = {"cmd": cmd, "tgt": "*", "fun": "test.ping", "arg": [], "key": "x", "user": "root"}
    with unharmed(victim):
        reply = rogue.send(load)
    assert reply == Sealed({}) if isinstance(cmd, str) else reply in (BAD_LOAD, Sealed({}))


# --- events ------------------------------------------------------------------------------------


def refused_tags(own: str, other: str) -> list[str]:
    jid = "20240101000000000000"
    return [
        f"salt/job/{jid}/ret/{other}", f"salt/job/{jid}/ret/{own}", f"salt/job/{jid}/new",
        f"salt/job/{jid}/publish", "salt/key", "salt/auth", "salt/run/x/ret", "salt/run/x/new",
        "salt/wheel/x/new", "salt/wheel/x/ret", "salt/cloud/x", "salt/cluster/x",
        f"salt/minion/{other}/start", "salt/minion//start", "salt/minion/", f"salt/minion/{own}",
        f"salt/beacon/{other}/load/", f"salt/job/{jid}/prog/{other}/0", "salt//job", "salt/./job",
        "salt/../job", "SALT/job", "Salt/key", "salt/job\n", "salt", "salt/",
        "salt/presence/change", "salt/presence/present", "salt/batch/x/new",
        "salt/engines/x", "salt/stats/x",
        f"salt/minion/{own}/../{other}/start", f"salt/minion/{own}\n/start", " salt/key",
        "salt/key ", "\tsalt/key", "salt\0/key", jid, f"{jid}_1234", "new_job", "key", "minions",
        "syndic/x/y", "syndic", "", "x\n\ny", "x\ny", "\n\n", "x" * 257, "x\u202ey", "x\x7fy",
        f"syndic/{own}/salt/key",
    ]  # fmt: skip


def event_loads(tag: str) -> list[dict[str, Any]]:
    """Every form of the request in which ``tag`` is what would go on the bus."""
    head, slash, rest = tag.partition("/")
    forms: list[dict[str, Any]] = [
        {"events": [{"tag": tag, "data": {"id": "b"}}], "pretag": None},
        {"tag": tag, "data": {"id": "b"}, "pretag": None},
        {"tag": tag, "data": "text"},
        {"events": [{"tag": tag, "data": {}}], "tag": "myco/fine", "data": {}},
    ]
    if slash:
        forms.append({"events": [{"tag": rest, "data": {}}], "pretag": head})
        forms.append({"tag": rest, "data": {}, "pretag": head})
    return forms


def test_no_event_that_is_not_the_minions_own(
    victim: Victim, crowd: list[Rogue], bystander: Rogue
) -> None:
    """CVE-2025-22239: by the tag that would go on the bus, in every form of the request.

    A crowd, so that it is the tags that are refused and not the number of events.
    """
    replies = []
    with unharmed(victim):
        for number, one in enumerate(crowd):
            tags = refused_tags(one.id, bystander.id)[number :: len(crowd)]
            loads = [load for tag in tags for load in event_loads(tag)]
            assert len(loads) < 50
            replies += one.send_many([one.make({"cmd": "_minion_event", **e}) for e in loads])
    assert NO_REPLY not in replies
    assert all(isinstance(one, Sealed) for one in replies)


@pytest.mark.parametrize(
    "fields",
    [
        {"events": "x"}, {"events": [5]}, {"events": {}}, {"events": [None]}, {"events": [[]]},
        {"events": [{"data": 1}]}, {"events": [{"tag": ["x"]}]}, {"events": [{"tag": 5}]},
        {"events": [{"tag": "x", "data": {}}] * 101}, {"tag": 5}, {"tag": ["x"]}, {"tag": None},
        {}, {"pretag": "x", "events": [{"tag": "y", "data": {}}]}, {"pretag": 5, "tag": "x"},
        {"pretag": ["salt"], "events": [{"tag": "key", "data": {}}]},
    ],
    ids=lambda fields: str(fields)[:40],
)  # fmt: skip
def test_events_of_no_shape(victim: Victim, rogue: Rogue, fields: dict[str, Any]) -> None:
    with unharmed(victim):
        assert isinstance(rogue.send({"cmd": "_minion_event", **fields}), Sealed)


def test_a_million_events_in_one_request(victim: Victim, rogue: Rogue) -> None:
    """More than one message may hold; the worker answers the next one as well."""
    events = [{"tag": "x", "data": None}] * 300_000
    with unharmed(victim):
        reply = rogue.send_many(
            [rogue.make({"cmd": "_minion_event", "events": events})], within_s=20
        )[0]
    assert reply == BAD_LOAD or isinstance(reply, Sealed)


@pytest.mark.parametrize(
    "tag",
    ["myco/x", "salt/minion/a/start", "salt/beacon/a/load/x", "minion_start",
     "salt/job/20240101000000000000/prog/a/0"],
)  # fmt: skip
def test_a_minions_own_event_carries_its_own_id(victim: Victim, rogue: Rogue, tag: str) -> None:
    """What is allowed goes through, and with the proven id."""
    assert rogue.id == "a"
    from saltlite.transport.addresses import MasterSockets
    from saltlite.transport.bus import EventSubscriber

    with EventSubscriber(MasterSockets(victim.cluster.sock_dir).event_pub, [tag]) as bus:
        assert bus.connect_confirmed(5)
        forged = {"id": "b", "x": 1}
        load = {"cmd": "_minion_event", "events": [{"tag": tag, "data": forged}]}
        assert rogue.send(load) == Sealed(None)
        event = bus.get(5)
    assert event is not None
    assert (event.tag, event.data["id"], event.data["x"]) == (tag, "a", 1)


def test_a_flood_of_events_is_stopped(victim: Victim, rogue: Rogue) -> None:
    """100 a second for one minion. Source: docs/security.md#limits."""
    many = {"cmd": "_minion_event", "events": [{"tag": "myco/flood", "data": {}}] * 100}
    with unharmed(victim, events="myco/flood") as watched:
        rogue.send_many([rogue.make(many) for _ in range(20)])
    assert watched.heard_tags.count("myco/flood") <= 600


# --- returns -----------------------------------------------------------------------------------


def ask(stranger: Stranger, root_key: str, tgt: list[str]) -> str:
    """Publish a job for ``tgt``; its jid."""
    load = {"cmd": "publish", "tgt": tgt, "fun": "test.ping", "arg": [], "tgt_type": "list",
            "ret": "", "jid": "", "user": "root", "key": root_key}  # fmt: skip
    reply = stranger.send(clear(load))
    assert sorted(reply["load"]["minions"]) == sorted(tgt)
    return str(reply["load"]["jid"])


def ret(jid: Any, **fields: Any) -> dict[str, Any]:
    return {"cmd": "_return", "jid": jid, "fun": "test.ping", "fun_args": [], "return": True,
            "retcode": 0, "success": True, **fields}  # fmt: skip


def stored(cluster: Cluster, jid: str) -> dict[str, Any]:
    """The job cache's own answer."""
    store = SqliteJobStore(cluster.cache_dir, read_only=True)
    try:
        return {minion_id: kept["return"] for minion_id, kept in store.returns(jid).items()}
    finally:
        store.close()


def test_a_return_is_taken_from_the_one_who_was_asked(
    victim: Victim, rogue: Rogue, bystander: Rogue, root_key: str
) -> None:
    """And the honest one's is stored afterwards all the same."""
    jid = ask(victim.stranger, root_key, [bystander.id])
    forged = [
        ret(jid, **{"return": "forged"}),
        ret(jid, resource_id=bystander.id, **{"return": "forged"}),
        ret(jid, tgt=[rogue.id], **{"return": "forged"}),
    ]
    with unharmed(victim):
        replies = rogue.send_many([rogue.make(one) for one in forged])
        other = rogue.send(ret(jid), id=bystander.id)
    assert all(isinstance(one, Sealed) and not one.value for one in replies)
    assert other == BAD_LOAD
    assert bystander.send(ret(jid, **{"return": "honest"})) == Sealed(None)
    assert stored(victim.cluster, jid) == {bystander.id: "honest"}


def test_the_first_return_is_the_one(victim: Victim, rogue: Rogue, root_key: str) -> None:
    jid = ask(victim.stranger, root_key, [rogue.id])
    with unharmed(victim, events=rf"salt/job/{jid}/ret/{rogue.id}") as watched:
        assert rogue.send(ret(jid, **{"return": "first"})) == Sealed(None)
        assert rogue.send(ret(jid, **{"return": "first"})) == Sealed(None)
        rogue.send(ret(jid, **{"return": "second"}))
    assert stored(victim.cluster, jid) == {rogue.id: "first"}
    assert len(watched.heard_tags) == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"jid": "20200101000000000000"}, {"jid": "x/new"}, {"jid": "../../x"}, {"jid": 5},
        {"jid": None}, {"jid": ["x"]}, {"jid": ""}, {"jid": "REQ"}, {"jid": LEFT_OUT},
        {"return": LEFT_OUT}, {"jid": "2" * 300}, {"jid": "salt/key"},
    ],
    ids=str,
)  # fmt: skip
def test_a_return_for_no_job(victim: Victim, rogue: Rogue, fields: dict[str, Any]) -> None:
    load = {**ret("20200101000000000000"), **fields}
    with unharmed(victim):
        reply = rogue.send(load)
    assert isinstance(reply, Sealed) and reply.value in (False, {}, ""), reply


@pytest.mark.parametrize(
    "fields",
    [
        {"retcode": "0"}, {"retcode": 1.5}, {"retcode": True}, {"success": "yes"}, {"success": 5},
        {"out": 5}, {"out": ["x"]}, {"out": "../../x"}, {"fun": 5}, {"fun": {}}, {"fun": [5]},
        {"fun_args": "x"}, {"fun_args": 5}, {"metadata": 5}, {"user": ["x"]}, {"master_id": 5},
        {"fun": "../../x"}, {"fun": "x" * 2**20}, {"return": 10_000 * [None]},
    ],
    ids=lambda fields: str(fields)[:30],
)  # fmt: skip
def test_a_return_of_no_shape(
    victim: Victim, rogue: Rogue, root_key: str, fields: dict[str, Any]
) -> None:
    """Refused or stored as it is; either way the job can be looked at afterwards."""
    jid = ask(victim.stranger, root_key, [rogue.id])
    with unharmed(victim, events=rf"salt/job/{jid}/ret/{rogue.id}"):
        assert isinstance(rogue.send({**ret(jid), **fields}), Sealed)


def test_fifty_megabytes_of_return(victim: Victim, rogue: Rogue, root_key: str) -> None:
    jid = ask(victim.stranger, root_key, [rogue.id])
    big = ret(jid, **{"return": "x" * 50_000_000})
    with unharmed(victim, events=rf"salt/job/{jid}/ret/{rogue.id}"):
        reply = rogue.send_many([rogue.make(big)], within_s=30)[0]
    assert isinstance(reply, Sealed)


def test_returns_nobody_asked_for_are_few(victim: Victim, rogue: Rogue) -> None:
    """10 a second for one minion, a jid of the master's. Source: docs/security.md#limits."""
    own = rf"salt/job/\d{{20}}/ret/{rogue.id}"
    with unharmed(victim, events=own) as watched:
        replies = rogue.send_many([rogue.make(ret("req")) for _ in range(200)])
    assert all(isinstance(one, Sealed) for one in replies)
    assert 1 <= len(watched.heard_tags) <= 100


# --- peers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("cmd", ["minion_pub", "minion_publish", "minion_runner"])
def test_a_minion_publishes_nothing_unless_told_it_may(
    victim: Victim, rogue: Rogue, cmd: str
) -> None:
    base = ENCRYPTED[cmd]
    forms = [
        {}, {"fun": "publish.publish"}, {"fun": "test.ping,cmd.run"}, {"fun": ["test.ping"]},
        {"fun": 5}, {"id": rogue.id, "user": "root"}, {"tgt": "(a+)+$", "tgt_type": "pcre"},
        {"kwargs": {"user": "root", "token": "x"}}, {"jid": uuid.uuid4().hex},
    ]  # fmt: skip
    with unharmed(victim):
        replies = rogue.send_many([rogue.make({"cmd": cmd, **base, **form}) for form in forms])
    assert replies == [Sealed({})] * len(forms)


def test_a_key_can_be_revoked_by_its_owner_only(
    victim: Victim, rogue: Rogue, bystander: Rogue
) -> None:
    forged = [
        {"id": bystander.id},
        {"outer": {"id": bystander.id}},
        {"outer": {"id": bystander.id}, "id": bystander.id},
    ]
    with unharmed(victim):
        replies = rogue.send_many([rogue.make({"cmd": "revoke_auth"}, **one) for one in forged])
    assert replies == [BAD_LOAD] * 3
    assert bystander.send({"cmd": "_file_envs"}) == Sealed(["base"])
