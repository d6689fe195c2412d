"""Commands within reach of those who have proven nothing. Source: docs/security.md#logins."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from pathlib import Path
from typing import Any

import pytest

import saltlite.master
from attacks import LIMITED, NO_REPLY, WEB_ONLY, Stranger, Victim, clear, unharmed
from cluster import Cluster
from loads import ENCRYPTED
from rogue import Rogue

CLEAR = {
    "_auth", "authorize", "del_token", "follow", "get_token", "mk_token", "ping", "publish",
    "runner", "wheel",
}  # fmt: skip
"""What docs/wire.md#_auth and #clear-commands let anybody send."""

INTERNAL = [
    "_prep_auth_info", "_send_pub", "_prep_pub", "_prep_jid", "_send_ssh_pub", "__init__",
    "__class__", "__dict__", "__reduce__", "run_func", "get_method", "destroy", "connect", "mro",
    "_auth.__globals__", "publish.__call__", "_auth ", " _auth", "_AUTH", "publish\0", " publish",
    "publish ", "PUBLISH", "Ping", "pi\0ng", "salt", "", " ", "*", "..", "/etc/passwd", "publish\n",
    "cmd.run", "os.system", "a" * 4096,
]  # fmt: skip

NO_TEXT = [None, True, False, 0, 5, -1, 1.5, float("nan"), [], ["publish"], {}, {"publish": 1},
           b"\xff\xfe", b"publish\xff", [[["ping"]]]]  # fmt: skip

PRIVATE_KEY = 76 * "A"


def every_name_in_the_code() -> list[str]:
    """Whatever a dispatcher that uses ``getattr`` could be made to find."""
    names: set[str] = set()
    for found in pkgutil.walk_packages(saltlite.master.__path__, "saltlite.master."):
        module = importlib.import_module(found.name)
        names.update(dir(module))
        for _, one in inspect.getmembers(module, inspect.isclass):
            names.update(dir(one))
    return sorted(names - CLEAR)


def secrets(cluster: Cluster) -> list[str]:
    """The contents of every key file the master has."""
    files = [*cluster.cache_dir.glob(".*_key"), cluster.pki_dir / "master.pem"]
    return [Path(one).read_text().strip() for one in files]


def refuse_all(victim: Victim, loads: list[dict[str, Any]]) -> None:
    with unharmed(victim):
        replies = victim.stranger.send_many([clear(load) for load in loads], within_s=10)
    wrong = {repr(load)[:80]: reply for load, reply in zip(loads, replies, strict=True) if reply}
    assert not wrong
    assert all(reply == {} for reply in replies)


def test_an_encrypted_command_sent_in_the_clear_does_not_exist(
    victim: Victim, rogue: Rogue
) -> None:
    proof = {"id": rogue.id, "tok": rogue.tok}
    names = {**ENCRYPTED, "revoke_auth": {}}
    refuse_all(victim, [{"cmd": name, **load, **proof} for name, load in names.items()])


def test_helpers_and_variations_of_names_do_not_exist(victim: Victim) -> None:
    refuse_all(victim, [{"cmd": name, "key": "x", "user": "root"} for name in INTERNAL])


def test_no_name_in_the_code_is_a_command(victim: Victim) -> None:
    refuse_all(victim, [{"cmd": name} for name in every_name_in_the_code()])


def test_a_command_that_is_not_text_does_not_exist(victim: Victim) -> None:
    refuse_all(victim, [{"cmd": value} for value in NO_TEXT])
    refuse_all(victim, [{}, {"CMD": "ping"}, {"cmd ": "ping"}])


def test_no_reply_contains_a_key(victim: Victim, cluster: Cluster) -> None:
    names = [*ENCRYPTED, *INTERNAL, *CLEAR - {"ping"}]
    frames = [clear({"cmd": name, "user": "root", "token": "x"}) for name in names]
    replies = repr(victim.stranger.send_many(frames))
    assert secrets(cluster)
    assert not [one for one in secrets(cluster) if one in replies]


# --- publish ------------------------------------------------------------------------------


def publish(**fields: Any) -> dict[str, Any]:
    load = {"cmd": "publish", "tgt": "*", "fun": "test.ping", "arg": [], "tgt_type": "glob",
            "ret": "", "jid": "", "user": "root"}  # fmt: skip
    return clear({**load, **fields})


def error_of(reply: Any) -> str:
    """The name in an error reply, else the reply's own text."""
    error = reply.get("error") if isinstance(reply, dict) else None
    return str(error.get("name")) if isinstance(error, dict) else repr(reply)


WRONG_KEYS: list[dict[str, Any]] = [
    {}, {"key": ""}, {"key": None}, {"key": PRIVATE_KEY}, {"key": "x" * 100_000},
    {"key": PRIVATE_KEY, "user": "sudo_root"}, {"key": PRIVATE_KEY, "user": ""},
    {"key": PRIVATE_KEY, "user": "no-such-user"}, {"key": PRIVATE_KEY, "user": "../.root"},
    {"key": PRIVATE_KEY, "user": "a/b"}, {"key": PRIVATE_KEY, "user": "a\0b"},
    {"key": PRIVATE_KEY, "user": "x" * 4096}, {"key": PRIVATE_KEY, "user": "*"},
    {"kwargs": {"token": "1337"}}, {"kwargs": {"token": ""}}, {"kwargs": {"token": "../x"}},
    {"kwargs": {"eauth": "pam", "username": "root", "password": "x"}},
    {"kwargs": {"eauth": "nosuch", "username": "root", "password": "x"}},
    {"token": "1337"}, {"eauth": "pam", "username": "root", "password": ""},
]  # fmt: skip

ODD_KEYS: list[dict[str, Any]] = [
    {"key": ["a"]}, {"key": {}}, {"key": True}, {"key": 5}, {"key": b"\xff"},
    {"key": PRIVATE_KEY, "user": ["root"]}, {"key": PRIVATE_KEY, "user": {}},
    {"key": PRIVATE_KEY, "user": 5}, {"kwargs": "x"}, {"kwargs": ["token"]},
    {"kwargs": {"token": ["a"]}}, {"kwargs": {"token": {}}}, {"kwargs": {"eauth": ["pam"]}},
]  # fmt: skip


def test_publish_needs_a_key(victim: Victim) -> None:
    with unharmed(victim):
        replies = victim.stranger.send_many([publish(**fields) for fields in WRONG_KEYS])
    assert [error_of(reply) for reply in replies] == ["AuthenticationError"] * len(WRONG_KEYS)


def test_publish_with_credentials_of_no_shape_publishes_nothing(victim: Victim) -> None:
    with unharmed(victim):
        replies = victim.stranger.send_many([publish(**fields) for fields in ODD_KEYS])
    assert {error_of(reply) for reply in replies} == {"AuthenticationError"}


@pytest.mark.parametrize(
    "fields",
    [
        {"tgt": "(a+)+$", "tgt_type": "pcre"},
        {"tgt": "G@x:(a+)+$ or E@(a+)+$", "tgt_type": "compound"},
        {"tgt": "(" * 50_000, "tgt_type": "compound"},
        {"jid": "x/../new"},
        {"jid": "salt/key"},
        {"jid": "20240101000000000000"},
    ],
    ids=lambda fields: str(fields)[:40],
)
def test_nothing_is_worked_out_before_the_proof(victim: Victim, fields: dict[str, Any]) -> None:
    with unharmed(victim, cpu_s=0.25):
        assert error_of(victim.stranger.send(publish(**fields))) == "AuthenticationError"


@pytest.mark.parametrize("name", ["runner", "wheel"])
def test_runner_and_wheel_need_a_key(victim: Victim, name: str) -> None:
    loads = [
        {"fun": "manage.up"},
        {"fun": "key.list_all", "user": "root", "key": PRIVATE_KEY},
        {"fun": "key.delete", "match": "*", "token": "1337"},
        {"fun": "key.delete", "match": "*", "eauth": "pam", "username": "root", "password": "x"},
        {"fun": "__import__", "user": "root"},
        {"fun": ["key.delete"], "user": ["root"], "key": {}},
        {},
    ]
    with unharmed(victim):
        replies = victim.stranger.send_many([clear({"cmd": name, **load}) for load in loads])
    for reply in replies:
        assert reply == {} or error_of(reply).endswith("AuthenticationError"), reply


@pytest.mark.parametrize(
    "load",
    [
        {"cmd": "mk_token", "eauth": "pam", "username": "root", "password": "x"},
        {"cmd": "mk_token", "eauth": "pki", "username": "root", "password": "x"},
        {"cmd": "mk_token", "eauth": "pam", "username": "r", "password": "x", "service": "su"},
        {"cmd": "mk_token"},
        {"cmd": "get_token", "token": "../../pki/master.pem"},
        {"cmd": "get_token", "token": "."},
        {"cmd": "get_token", "token": ["a"]},
        {"cmd": "get_token", "token": "a" * 64},
        {"cmd": "get_token"},
    ],
    ids=lambda load: str(load)[9:50],
)
def test_no_token_for_a_stranger(victim: Victim, load: dict[str, Any]) -> None:
    with unharmed(victim):
        assert victim.stranger.send(clear(load)) in ({}, "", False)


def test_ping_gives_back_the_load_and_nothing_else(stranger: Stranger) -> None:
    load = {"cmd": "ping", "x": [1, "two", None]}
    assert stranger.send(clear(load)) == load


# --- a limited user ------------------------------------------------------------------------


def key_of(cluster: Cluster, user: str) -> str:
    return (cluster.cache_dir / f".{user}_key").read_text().strip()


def test_a_key_without_a_name_is_that_of_root(victim: Victim) -> None:
    """Salt asks for no name beside the key; another key is nobody's."""
    asked = {"cmd": "wheel", "fun": "key.list_all"}
    reply = victim.stranger.send(clear({**asked, "key": key_of(victim.cluster, "root")}))
    assert reply["data"]["success"] is True
    for key in (key_of(victim.cluster, LIMITED), PRIVATE_KEY, ""):
        reply = victim.stranger.send(clear({**asked, "key": key}))
        assert error_of(reply).endswith("AuthenticationError")


SMUGGLED: list[dict[str, Any]] = [
    {"fun": "test.ping,cmd.run", "arg": [[], ["id"]]},
    {"fun": ["test.ping", "cmd.run"], "arg": [[], ["id"]]},
    {"fun": ["cmd.run"], "arg": [["id"]]},
    {"fun": "test.ping\ncmd.run"},
    {"fun": "test.ping cmd.run"},
    {"fun": "cmd.run", "arg": ["test.ping"]},
    {"fun": "test.pin?"},
    {"fun": "test.*"},
    {"fun": "test.pingx"},
    {"fun": "xtest.ping"},
    {"fun": "TEST.PING"},
    {"fun": "cmd.run", "kwargs": {"user": "root"}},
    {"fun": "cmd.run", "user": f"sudo_{LIMITED}"},
    {"fun": "cmd.run", "user": "sudo_root"},
    {"fun": "cmd.run", "user": "root"},
]


@pytest.mark.parametrize("fields", SMUGGLED, ids=lambda fields: repr(fields["fun"]))
def test_a_limited_user_smuggles_nothing(
    victim: Victim, bystander: Rogue, fields: dict[str, Any]
) -> None:
    """No form of a compound job hides a call that the user may not make."""
    fields = {"user": LIMITED, "key": key_of(victim.cluster, LIMITED), **fields}
    with unharmed(victim):
        reply = victim.stranger.send(publish(tgt=bystander.id, **fields))
    assert error_of(reply) in ("AuthorizationError", "AuthenticationError")


def test_a_limited_user_may_do_what_the_list_says(victim: Victim, bystander: Rogue) -> None:
    key = key_of(victim.cluster, LIMITED)
    kwarg = [{"__kwarg__": True, "fun": "cmd.run"}]
    reply = victim.stranger.send(
        publish(tgt=bystander.id, user=LIMITED, key=key, arg=kwarg, fun="test.ping")
    )
    assert reply["load"]["minions"] == [bystander.id]


@pytest.mark.parametrize(
    "fields",
    [
        {"tgt": "b"},
        {"tgt": "*"},
        {"tgt": ["b"], "tgt_type": "list"},
        {"tgt": "web1,b", "tgt_type": "list"},
        {"tgt": ["web1", "b"], "tgt_type": "list"},
        {"tgt": "db1", "tgt_type": "glob"},
        {"tgt": "G@x:y or b", "tgt_type": "compound"},
        {"tgt": "web* or b", "tgt_type": "compound"},
        {"tgt": "web*\nb", "tgt_type": "compound"},
        {"tgt": ".*", "tgt_type": "pcre"},
        {"tgt": "id:*", "tgt_type": "grain"},
        {"tgt": "b", "tgt_type": "no-such-type"},
        {"tgt": "[wb]*"},
    ],
    ids=lambda fields: repr(fields["tgt"]),
)
def test_a_limited_user_reaches_only_the_minions_of_the_list(
    victim: Victim, bystander: Rogue, fields: dict[str, Any]
) -> None:
    """CVE-2022-22941: what was authorised is what is published; an empty match is not."""
    assert bystander.id == "b"
    key = key_of(victim.cluster, WEB_ONLY)
    with unharmed(victim):
        reply = victim.stranger.send(publish(user=WEB_ONLY, key=key, **fields))
    refused = error_of(reply) in ("AuthorizationError", "AuthenticationError")
    nobody = isinstance(reply, dict) and reply.get("load", {}).get("jid", 0) is None
    assert refused or nobody, reply


# --- with the right key --------------------------------------------------------------------


@pytest.mark.parametrize(
    "jid", ["x/../new", "../../etc", "20240101000000000000/../x", "*", "5", "a" * 300, 5, ["x"], {}]
)
def test_a_job_id_is_one_or_nothing_happens(
    victim: Victim, bystander: Rogue, root_key: str, jid: Any
) -> None:
    with unharmed(victim):
        reply = victim.stranger.send(publish(tgt=bystander.id, key=root_key, jid=jid))
    assert reply is not NO_REPLY
    assert "load" not in reply or reply["load"].get("jid") is None


@pytest.mark.parametrize("fun", [5, None, {}, [5], [["test.ping"]], True, [{}]], ids=repr)
def test_a_function_has_a_name_or_nothing_is_published(
    victim: Victim, bystander: Rogue, root_key: str, fun: Any
) -> None:
    with unharmed(victim):
        reply = victim.stranger.send(publish(tgt=bystander.id, key=root_key, fun=fun))
    assert error_of(reply)
    assert "load" not in reply


@pytest.mark.parametrize(
    "fun", ["a" * 2**20, "test", "test..ping", "../test.ping", "", "test.__class__.x", "a\0b"],
    ids=lambda fun: repr(fun)[:20],
)  # fmt: skip
def test_a_function_is_no_more_than_text_to_the_master(
    victim: Victim, bystander: Rogue, root_key: str, fun: str
) -> None:
    """CVE-2021-33226. Minions say that it is not available, as they would in real Salt."""
    with unharmed(victim, events=r"salt/job/\d{20}/new|\d{20}"):
        reply = victim.stranger.send(publish(tgt=bystander.id, key=root_key, fun=fun))
    assert isinstance(reply, dict)


def test_forbidden_fields_do_not_reach_the_job(
    victim: Victim, bystander: Rogue, root_key: str
) -> None:
    """Names that minions would obey are not passed on. Source: docs/wire.md#publications."""
    extra = {"__ignore_process_count_max": True, "_job_queue_file": "/x", "resource_target": "x"}
    with bystander.listening() as ear:
        reply = victim.stranger.send(
            publish(tgt=bystander.id, key=root_key, kwargs={**extra, "metadata": {}}, **extra)
        )
        job = ear.next(5)
    assert job is not None
    assert job["jid"] == reply["load"]["jid"]
    assert not extra.keys() & job.keys()
    assert root_key not in repr(job)


def test_what_is_refused_does_not_leave_by_the_other_port(
    victim: Victim, bystander: Rogue, root_key: str
) -> None:
    """Refused jobs, then an honest one: the honest one is the first that minions hear of."""
    key = key_of(victim.cluster, LIMITED)
    wrong = [publish(**fields) for fields in WRONG_KEYS + ODD_KEYS]
    wrong += [publish(**{"user": LIMITED, "key": key, **fields}) for fields in SMUGGLED]
    with bystander.listening() as ear:
        victim.stranger.send_many(wrong)
        reply = victim.stranger.send(publish(tgt=bystander.id, key=root_key))
        job = ear.next(5)
    assert job is not None
    assert job["jid"] == reply["load"]["jid"]
