"""Names a peer chooses, and the paths they must never become.

Source: docs/security.md#ids-jids-and-paths.
"""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from attacks import NO_REPLY, Stranger, Victim, auth_answer, clear, unharmed
from rogue import BAD_LOAD, Rogue, Sealed

BAD_IDS: list[Any] = [
    "..", ".", "", " ", "../../master.pem", "/etc/passwd", "a/b", "a\\b", "a\0b", "a\0",
    "a\nINFO accepted", "a\r", "a\t", "*", "[a]", "a?", ".hidden", "-rf", "~root", "a b", "a,b",
    "a'b", 'a"b', "a\u202eb", "a\u200bb", b"a\xff", b"\xed\xa0\x80", "cafe\u0301", "caf\u00e9",
    "\ufeffa", "a" * 254, "a" * 300, "a" * 60_000, "minions/../x", "%2e%2e", "..%2f", "x\x7f",
    5, 1.5, ["a"], {}, {"a": 1}, None, True, False, [], b"",
]  # fmt: skip

OUTSIDE = "TOP-SECRET-OUTSIDE"
EMPTY: list[Any] = [
    {}, [], "", None, False, {"path": "", "rel": ""}, {"data": "", "dest": ""}, ["", None],
]  # fmt: skip


def auth(pem: str, **fields: Any) -> dict[str, Any]:
    load = {"cmd": "_auth", "id": "new-minion", "nonce": uuid.uuid4().hex, "pub": pem,
            "enc_algo": "OAEP-SHA1", "sig_algo": "PKCS1v15-SHA1"}  # fmt: skip
    return clear({**load, **fields})


def test_no_key_is_filed_under_a_name_that_is_none(victim: Victim, rogue: Rogue) -> None:
    requests = [auth(rogue.pem, id=bad) for bad in BAD_IDS]
    with unharmed(victim):
        replies = victim.stranger.send_many(requests, within_s=5)
    for request, reply in zip(requests, replies, strict=True):
        expected = {"ret": False, "nonce": request["load"]["nonce"]}
        assert auth_answer(reply) == expected, repr(request["load"]["id"])[:60]


def test_an_id_longer_than_the_request_may_be(victim: Victim, rogue: Rogue) -> None:
    with unharmed(victim):
        assert victim.stranger.send(auth(rogue.pem, id="a" * 65_536)) == BAD_LOAD


def test_a_refused_id_comes_back_signed(stranger: Stranger, rogue: Rogue) -> None:
    reply = stranger.send(auth(rogue.pem, id=".."))
    assert rogue.accepted is not None
    load, signature = (part.encode("utf-8", "surrogateescape") for part in
                       (reply["load"], reply["sig"]))  # fmt: skip
    assert rogue.accepted.master_key.verify(load, signature, "PKCS1v15-SHA1")


@pytest.mark.parametrize("where", ["outside", "inside", "both"])
def test_an_encrypted_request_under_such_a_name_is_a_bad_load(
    victim: Victim, rogue: Rogue, where: str
) -> None:
    requests = []
    for bad in BAD_IDS:
        outer = {"id": bad} if where != "inside" else {}
        inner = {"id": bad} if where != "outside" else {}
        requests.append(rogue.make({"cmd": "_mine", "data": {"x": 1}, **inner}, outer=outer))
    with unharmed(victim):
        replies = rogue.send_many(requests)
    assert replies == [BAD_LOAD] * len(BAD_IDS)


@pytest.mark.parametrize(
    "grains",
    [
        {"../../x": "y"},
        {"../master.pem": ""},
        {"/etc/passwd": "root"},
        {"a": ["b"]},
        {"a": {"b": 1}},
        {"a\0": "b"},
        {".": "x"},
        {"..": "x"},
        {"": "x"},
        {f"g{number}": "x" for number in range(2_000)},
        ["a"],
        "a",
        5,
    ],
    ids=lambda grains: repr(grains)[:30],
)
def test_autosign_grains_build_no_path(victim: Victim, rogue: Rogue, grains: Any) -> None:
    """CVE-2025-22241."""
    with unharmed(victim, written=r"/minions_pre", events="salt/auth"):
        answer = auth_answer(victim.stranger.send(auth(rogue.pem, id="g", autosign_grains=grains)))
    (victim.cluster.pki_dir / "minions_pre" / "g").unlink(missing_ok=True)
    assert isinstance(answer, dict) and answer.get("ret") in (True, False)
    assert "aes" not in answer


# --- the file server -----------------------------------------------------------------------

PATHS: list[Any] = [
    "../pki/master.pem", "../outside.txt", "a/../../outside.txt", "a-dir/../../outside.txt",
    "|../outside.txt", "|/etc/passwd", "/etc/passwd", "//etc/passwd", "way-out", "up/outside.txt",
    "up/pki/master.pem", "open.txt\0", "\0", "", ".", "..", "./../outside.txt", "a-dir", "fifo",
    "open.txt/../../outside.txt", "....//outside.txt", "..\\outside.txt",
    "..%2foutside.txt", "x?saltenv=../..", "../outside.txt?saltenv=base", "x" * 5_000, "x/" * 3_000,
    "~/x", "/dev/tty", "/proc/self/environ", "salt://../outside.txt", ["open.txt"], ["a"], {}, 5,
    None, True, b"\xff\xfe", "open.txt\n", "caf\u00e9", "\u202e",
]  # fmt: skip
ENVS: list[Any] = [
    "../..", "..", ".", "/", "/etc", "__env__", "__env__/../..", "x" * 300, "base/../..", "base\0",
    ["base"], {}, 5, True, b"\xff", "BASE", "*",
]  # fmt: skip
READERS = ["_serve_file", "_file_hash", "_file_hash_and_stat", "_file_find"]
LISTERS = ["_file_list", "_file_list_emptydirs", "_dir_list", "_symlink_list"]


def gives_nothing_away(replies: list[Any]) -> None:
    assert NO_REPLY not in replies
    assert OUTSIDE not in repr(replies)
    assert "PRIVATE KEY" not in repr(replies)
    assert "root:x:0" not in repr(replies)


@pytest.mark.parametrize("cmd", READERS)
def test_a_path_never_leaves_the_roots(victim: Victim, rogue: Rogue, cmd: str) -> None:
    """CVE-2024-22232; and no worker waits for the other end of a FIFO."""
    loads = [{"cmd": cmd, "path": path, "saltenv": "base", "loc": 0} for path in PATHS]
    with unharmed(victim):
        replies = rogue.send_many([rogue.make(load) for load in loads])
    gives_nothing_away(replies)
    found = {repr(load["path"])[:40]: reply for load, reply in zip(loads, replies, strict=True)
             if not isinstance(reply, Sealed) or reply.value not in EMPTY}  # fmt: skip
    assert not found


@pytest.mark.parametrize("cmd", [*READERS, *LISTERS])
def test_an_environment_is_looked_up_and_never_joined(
    victim: Victim, rogue: Rogue, cmd: str
) -> None:
    """CVE-2025-22240."""
    loads: list[dict[str, Any]] = []
    for env in ENVS:
        loads.append({"cmd": cmd, "path": "outside.txt", "saltenv": env, "loc": 0})
        loads.append({"cmd": cmd, "path": "etc/passwd", "saltenv": env, "loc": 0})
    with unharmed(victim):
        replies = rogue.send_many([rogue.make(load) for load in loads])
    gives_nothing_away(replies)
    assert all(isinstance(one, Sealed) and one.value in EMPTY for one in replies)


def test_no_path_of_a_bundle_leaves_the_roots(victim: Victim, rogue: Rogue) -> None:
    texts = [path for path in PATHS if isinstance(path, str)]
    loads: list[dict[str, Any]] = [
        {"cmd": "_file_bundle", "saltenv": "base", "paths": texts, "hashes": [""] * len(texts)},
        *({"cmd": "_file_bundle", "saltenv": env, "paths": ["outside.txt", "etc/passwd"],
           "hashes": ["", ""]} for env in ENVS),
    ]  # fmt: skip
    with unharmed(victim):
        replies = rogue.send_many([rogue.make(load) for load in loads])
    gives_nothing_away(replies)
    for reply in replies:
        assert isinstance(reply, Sealed)
        assert all(file == ["", -1] for file in reply.value["files"])


@pytest.mark.parametrize(
    "fields",
    [
        {"paths": ["open.txt"] * 100_000, "hashes": [""] * 100_000},
        {"paths": ["open.txt"] * 501, "hashes": [""] * 501},
        {"paths": ["open.txt"], "hashes": []},
        {"paths": ["open.txt", 5], "hashes": ["", ""]},
        {"paths": ["open.txt", ["open.txt"]], "hashes": ["", ""]},
        {"paths": ["open.txt"], "hashes": [None]},
        {"paths": "open.txt", "hashes": "open.txt"},
        {"paths": {"open.txt": ""}, "hashes": {"": ""}},
        {"paths": None, "hashes": None},
    ],
    ids=lambda fields: repr(fields)[:40],
)
def test_lists_of_a_bundle_that_are_none(
    victim: Victim, rogue: Rogue, fields: dict[str, Any]
) -> None:
    with unharmed(victim):
        reply = rogue.send_many([rogue.make({"cmd": "_file_bundle", "saltenv": "base", **fields})])
    gives_nothing_away(reply)
    assert isinstance(reply[0], Sealed)
    assert reply[0].value["files"] == []


@pytest.mark.parametrize("cmd", LISTERS)
def test_a_prefix_shows_nothing_above_the_roots(victim: Victim, rogue: Rogue, cmd: str) -> None:
    prefixes = ["..", "../", "/", "/etc", "a-dir/../..", "up", "\0", ["x"], 5, {}, "x" * 5_000]
    loads = [{"cmd": cmd, "saltenv": "base", "prefix": one} for one in prefixes]
    with unharmed(victim):
        replies = rogue.send_many([rogue.make(load) for load in loads])
    gives_nothing_away(replies)
    assert "master.pem" not in repr(replies)


@pytest.mark.parametrize("field", ["loc", "gzip"])
def test_numbers_of_the_file_server(victim: Victim, rogue: Rogue, field: str) -> None:
    values = [-1, 2**63, 2**64 - 1, "0", 1.5, True, None, [], {}, float("nan"), 99, 10**12, b"\xff"]
    load = {"cmd": "_serve_file", "path": "open.txt", "saltenv": "base", "loc": 0}
    with unharmed(victim):
        replies = rogue.send_many([rogue.make({**load, field: one}) for one in values])
    gives_nothing_away(replies)
    assert all(isinstance(one, Sealed) for one in replies)


# --- what a minion could write --------------------------------------------------------------


@pytest.mark.parametrize(
    "fields",
    [
        {"path": ["..", "..", "jobs", "x"]},
        {"path": ["../x"]},
        {"path": ["a", "/etc/x"]},
        {"path": ["a\0"]},
        {"path": "str"},
        {"path": []},
        {"path": [["a"]]},
        {"path": ["a"]},
        {"path": ["a"], "loc": -1},
        {"path": ["a"], "loc": 10**12},
        {"path": ["a"], "loc": "0"},
        {"path": ["a"], "data": None},
        {"path": ["a"], "id": "b"},
        {},
    ],
    ids=str,
)
def test_no_file_is_taken_from_a_minion(
    victim: Victim, rogue: Rogue, fields: dict[str, Any]
) -> None:
    """CVE-2024-38824; ``file_recv`` is off."""
    load = {"cmd": "_file_recv", "loc": 0, "data": b"x", "size": 1, **fields}
    with unharmed(victim):
        reply = rogue.send(load)
    assert reply == BAD_LOAD if "id" in fields else reply in (Sealed(False), Sealed({}))


@pytest.mark.parametrize(
    "name", ["../x", "..", "/etc/x", "a\0b", "a/b", "x" * 5_000, "", "\u202e", b"\xff"]
)
def test_the_mine_makes_no_file_of_a_function(victim: Victim, rogue: Rogue, name: Any) -> None:
    """CVE-2025-22238: data names nothing outside the minion's own place."""
    own = rf"/cache/mine/({rogue.id}\.p|\.{rogue.id}\.p[\w.]*\.tmp)?$"
    loads = [
        {"cmd": "_mine", "data": {name: 1}},
        {"cmd": "_mine", "data": {"x": 1}, "mine_id": name},
        {"cmd": "_mine_delete", "fun": name},
        {"cmd": "_mine_get", "tgt": name, "fun": name, "tgt_type": "glob"},
        {"cmd": "_mine_get", "tgt": "*", "fun": "x", "tgt_type": name},
        {"cmd": "_mine_flush"},
    ]
    with unharmed(victim, written=own):
        replies = rogue.send_many([rogue.make(load) for load in loads])
    assert NO_REPLY not in replies
    assert all(isinstance(one, Sealed) for one in replies)


@pytest.mark.parametrize(
    "fields",
    [
        {"ext": {"virtkey": "../../x"}},
        {"ext": {"git": "ext::sh -c touch% PWNED"}},
        {"ext": "x"},
        {"ext": ["x"]},
        {"extra_minion_data": {"path": "../../x"}},
        {"saltenv": "../.."},
        {"pillarenv": "/etc"},
        {"pillarenv": ["base"]},
        {"pillar_override": {"../x": 1}},
        {"grains": {"id": "b"}},
        {"grains": {"id": "../../x"}},
        {"grains": []},
        {"grains": None},
        {"ver": "../.."},
        {"clean_cache": "x"},
    ],
    ids=str,
)
def test_pillar_comes_from_nowhere_else(
    victim: Victim, rogue: Rogue, fields: dict[str, Any]
) -> None:
    """CVE-2025-22237, CVE-2025-22241: a minion names no source of pillar and no path."""
    load = {"cmd": "_pillar", "grains": {"os": "x"}, "saltenv": None, "pillarenv": None,
            "pillar_override": {}, "extra_minion_data": {}, "ver": "2", **fields}  # fmt: skip
    own = rf"/cache/(grains|pillar)/({rogue.id}\.p)?$"
    with unharmed(victim, written=own, events=f"minion/refresh/{rogue.id}"):
        reply = rogue.send(load)
    assert reply is not NO_REPLY
    assert not list(victim.cluster.root.rglob("PWNED"))


@pytest.mark.parametrize(
    "jid",
    ["../../../proc/1/fd/0", "/dev/tty", "", 5, ["x"], "2" * 300, "20240101000000000000/../x", "*",
     None, {}, "req", "20240101000000000000"],
    ids=lambda jid: repr(jid)[:30],
)  # fmt: skip
def test_a_result_is_not_a_file_to_be_opened(victim: Victim, rogue: Rogue, jid: Any) -> None:
    """CVE-2025-22242: ``pub_ret`` opens nothing that a jid names."""
    with unharmed(victim):
        assert rogue.send({"cmd": "pub_ret", "jid": jid}) in (Sealed({}), Sealed(""))


@pytest.mark.parametrize("minion_id", ["../../x", "b", "..", "", 5, ["a"]])
def test_only_a_syndic_speaks_for_others(victim: Victim, rogue: Rogue, minion_id: Any) -> None:
    """CVE-2024-22231."""
    inner = {"id": minion_id, "jid": "20240101000000000000", "return": {"../x": {}}, "load": {}}
    loads = [
        {"cmd": "_syndic_return", "load": [inner]},
        {"cmd": "_syndic_return", "load": inner},
        {"cmd": "_syndic_return", "jid": inner["jid"], "return": {"b": {"return": 1}}},
    ]
    with unharmed(victim):
        replies = rogue.send_many([rogue.make(load) for load in loads])
    assert all(one in (Sealed({}), Sealed(None), Sealed(False)) for one in replies), replies
