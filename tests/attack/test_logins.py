"""Logins, tokens and rights over port 4506: what lets in whom, and what does not.

Source: docs/security.md#logins (CVE-2013-4435, CVE-2016-3176, CVE-2020-11652, CVE-2021-3144,
CVE-2022-22941, CVE-2024-38825), and what was recorded of Salt 3006.30.
"""

from __future__ import annotations

import contextlib
import hashlib
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgpack
import pytest
from programs import many_descriptors

from attacks import NO_REPLY, Stranger, Victim, clear, unharmed
from cluster import Cluster, eventually
from saltlite.master.minioncache import MINE, PILLAR, MinionCache
from saltlite.transport.addresses import MasterSockets
from saltlite.transport.bus import EventSubscriber

WORKERS = 2
PASSWORD = "sesame-of-anna"
EVERYTHING = [".*", "@runner", "@wheel", "@jobs"]
BEN = [
    "test.*",
    {"web1": [{"cmd.run": {"args": ["echo.*"]}}]},
    {"@runner": ["jobs.list_jobs", "test.arg"]},
    {"@wheel": ["key.list_all"]},
]
LOGIN_S = 10.0
"""How long an answer to a login may take on a machine at work."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(minions=0, auto_accept=False) as one:
        users = one.root / "users"
        users.write_text(f"anna:{PASSWORD}\nshort\nben:ben-pw\nzed:zed-pw\nnobody:x\n")
        one.reconfigure(
            one.master_dir / "master",
            worker_threads=WORKERS,
            sharedsecret="s3cret",
            external_auth={
                "auto": {
                    "anna": EVERYTHING,
                    "ben": BEN,
                    "cara": ["@jobs"],
                    "dora": [{"@runner": ["mine.get"]}],
                    "emil": ["@runner"],
                    "*": ["status.uptime"],
                },
                "sharedsecret": {"anna": EVERYTHING, "staff%": ["test.*"]},
                "file": {
                    "^filename": str(users),
                    "anna": EVERYTHING,
                    "ben": BEN,
                    "zed": ["test.ping"],
                },
                "nosuch": {"anna": EVERYTHING},
                "pam": {"no-such-account": ["test.ping"]},
                "pki": {"anna": EVERYTHING},
            },
        )
        for minion_id in ("web1", "web2", "db1"):
            folder = one.pki_dir / "minions"
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            (folder / minion_id).write_text("no key, but accepted\n")
        one.pki_dir.chmod(0o700)
        cache = MinionCache(one.cache_dir)
        cache.write(PILLAR, "web1", {"secret": "s3cr3t"})
        cache.write(MINE, "web1", {"x": 1})
        one.start_master()
        stranger = Stranger(one.ret_port)
        eventually(lambda: stranger.send(clear({"cmd": "ping"})) == {"cmd": "ping"}, what="ping")
        eventually(MasterSockets(one.sock_dir).event_pub.exists, what="the event bus")
        eventually(MasterSockets(one.sock_dir).logins.exists, what="the login server")
        stranger.close()
        yield one


@pytest.fixture(scope="module")
def victim(cluster: Cluster) -> Iterator[Victim]:
    one = Victim.of(cluster, WORKERS)
    yield one
    one.stranger.close()


def login(name: str = "anna", password: str = PASSWORD, eauth: str = "file") -> dict[str, Any]:
    return {"eauth": eauth, "username": name, "password": password}


def ask(victim: Victim, load: dict[str, Any]) -> Any:
    reply = victim.stranger.send(clear(load), within_s=LOGIN_S)
    assert reply is not NO_REPLY
    return reply


def new_token(victim: Victim, **fields: Any) -> dict[str, Any]:
    found = ask(victim, {"cmd": "mk_token", **login(), **fields})
    assert isinstance(found, dict), found
    return found


def job(fun: Any = "test.ping", tgt: Any = "web1", arg: Any = (), **kwargs: Any) -> dict[str, Any]:
    load = {"cmd": "publish", "tgt": tgt, "fun": fun, "arg": list(arg), "tgt_type": "glob",
            "ret": "", "jid": ""}  # fmt: skip
    return {**load, "kwargs": kwargs}


def outcome(reply: Any) -> Any:
    """The minions of a published job, or the name of the error."""
    if "load" in reply:
        return reply["load"]["minions"]
    error = reply["error"]
    return error["name"] if isinstance(error, dict) else error


# --- who gets in ---------------------------------------------------------------------------------

RIGHT = [
    login(),
    login("ben", "ben-pw"),
    login("anna", "s3cret", "sharedsecret"),
    login("somebody else", "s3cret", "sharedsecret"),
    login("zed", "whatever", "auto"),
    login("zed", "", "auto"),
]


@pytest.mark.parametrize("shown", RIGHT, ids=lambda one: f"{one['eauth']}-{one['username']}")
def test_a_right_login_gives_a_token(
    victim: Victim, cluster: Cluster, shown: dict[str, Any]
) -> None:
    with unharmed(victim, written=r"cache/tokens"):
        token = new_token(victim, **shown)
    assert token["name"] == shown["username"]
    assert token["eauth"] == shown["eauth"]
    assert token["expire"] - token["start"] == pytest.approx(43200)
    assert len(token["token"]) == 64
    path = cluster.cache_dir / "tokens" / hashlib.sha256(token["token"].encode()).hexdigest()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert token["token"].encode() not in path.read_bytes()
    assert ask(victim, {"cmd": "get_token", "token": token["token"]}) == token


WRONG: list[dict[str, Any]] = [
    login("mel0", "wrong"),
    login("mel1", ""),
    login("nobody-knows-me"),
    login("short", ""),
    login("nobody", "x" * 5000),
    login("mel2", "s3cre", "sharedsecret"),
    login("mel3", "", "sharedsecret"),
    login("mel4", eauth="pki"),
    login("mel5", eauth="nosuch"),
    login("mel6", eauth="never-heard-of"),
    login("mel7", eauth="../auth/auto"),
    login("mel8", eauth="auto.auth"),
    login("mel9", eauth="__init__"),
    login("mel10", eauth=""),
    {"username": "mel11", "password": "mel-pw"},
    {"eauth": "auto", "username": "mel12"},
    {"eauth": "auto", "password": "x"},
    {"eauth": ["auto"], "username": "mel13", "password": "x"},
    {"eauth": "auto", "username": ["mel14"], "password": "x"},
    {"eauth": "auto", "username": "mel15", "password": {"a": "b"}},
    {"eauth": "auto", "username": "", "password": "x"},
    {"eauth": "auto", "username": "a\nb", "password": "x"},
    {"eauth": "auto", "username": "a" * 300, "password": "x"},
    {"eauth": "auto", "username": "a\0b", "password": "x"},
    {"eauth": {"auto": 1}, "username": None, "password": None},
    {"__login_proof__": "x"},
    {"__login_proof__": "." + "e30=", **login("mel16", "x")},
    {"__login_proof__": ["x"], **login("mel17", "x")},
    {"__login_proof__": {"name": "mel18", "eauth": "auto"}},
    {"__login_proof__": b"\xe4" * 64 + b".\xff"},
]


def test_a_wrong_login_gives_nothing(victim: Victim) -> None:
    with unharmed(victim):
        frames = [clear({"cmd": "mk_token", **fields}) for fields in WRONG]
        replies = victim.stranger.send_many(frames, within_s=LOGIN_S)
    assert replies == [""] * len(WRONG)


@pytest.mark.parametrize("cmd", ["runner", "wheel"])
def test_nothing_is_run_for_a_wrong_login(victim: Victim, cmd: str) -> None:
    fun = {"runner": "test.arg", "wheel": "key.list_all"}[cmd]
    with unharmed(victim):
        frames = [clear({"cmd": cmd, "fun": fun, **fields}) for fields in WRONG]
        replies = victim.stranger.send_many(frames, within_s=LOGIN_S)
    assert {outcome(reply) for reply in replies} <= {
        "EauthAuthenticationError",
        "UserAuthenticationError",
    }


def test_nothing_is_published_for_a_wrong_login(victim: Victim) -> None:
    with unharmed(victim):
        frames = [clear(job(**fields)) for fields in WRONG if "__login_proof__" not in fields]
        frames += [clear({**job(), **one}) for one in WRONG if "__login_proof__" in one]
        replies = victim.stranger.send_many(frames, within_s=LOGIN_S)
    assert {outcome(reply) for reply in replies} == {"AuthenticationError"}


EXTRA: list[dict[str, Any]] = [
    {"service": "su"},
    {"opts": {"external_auth": {"auto": {"anna": [".*"]}}}},
    {"__opts__": {}},
    {"auth.pam.service": "su"},
    {"groups": ["staff"], "auth_list": [".*"], "name": "root", "token": "a" * 64},
]


@pytest.mark.parametrize("fields", EXTRA, ids=lambda one: next(iter(one)))
def test_nothing_but_the_login_is_looked_at(victim: Victim, fields: dict[str, Any]) -> None:
    """CVE-2016-3176: a caller could name the PAM service that checked his password."""
    shown = login("ben", "ben-pw")
    assert ask(victim, {"cmd": "mk_token", **login("ben2", "x"), **fields}) == ""
    token = new_token(victim, **shown, **fields)
    assert token["name"] == "ben"
    assert not {"groups", "auth_list"} & token.keys()


def test_the_life_of_a_token_is_not_the_callers_to_choose(victim: Victim) -> None:
    token = new_token(victim, token_expire=10**9)
    assert token["expire"] - token["start"] == pytest.approx(43200)


# --- what a login allows -------------------------------------------------------------------------

AUTHENTICATION, AUTHORIZATION = "AuthenticationError", "AuthorizationError"
PUBLISHES: list[tuple[str, dict[str, Any], Any]] = [
    ("anna", {"fun": "cmd.run", "tgt": "*"}, ["db1", "web1", "web2"]),
    ("anna", {"fun": ["test.ping", "cmd.run"], "arg": [[], ["id"]]}, ["web1"]),
    ("ben", {}, ["web1"]),
    ("ben", {"tgt": "*"}, ["db1", "web1", "web2"]),
    ("ben", {"fun": "cmd.run", "arg": ["echo hi"]}, ["web1"]),
    ("ben", {"fun": "cmd.run", "arg": ["id"]}, AUTHORIZATION),
    ("ben", {"fun": "cmd.run", "arg": []}, AUTHORIZATION),
    ("ben", {"fun": "cmd.run", "arg": ["echo hi"], "tgt": "web2"}, AUTHORIZATION),
    ("ben", {"fun": "cmd.run", "arg": ["echo hi"], "tgt": "*"}, AUTHORIZATION),
    ("ben", {"fun": "cmd.run", "arg": ["echo hi"], "tgt": "nothing"}, AUTHORIZATION),
    ("ben", {"fun": ["test.ping", "cmd.run"], "arg": [[], ["id"]]}, AUTHORIZATION),
    ("ben", {"fun": "test.ping,cmd.run", "arg": [[], ["id"]]}, AUTHORIZATION),
    ("ben", {"fun": ["cmd.run", "test.ping"], "arg": [["id"], []]}, AUTHORIZATION),
    ("ben", {"fun": "test.ping\ncmd.run"}, AUTHORIZATION),
    ("ben", {"fun": "status.uptime"}, AUTHORIZATION),
    ("ben", {"fun": "saltutil.find_job", "arg": ["20240101000000000000"]}, ["web1"]),
    ("ben", {"ret": "rawfile_json"}, AUTHORIZATION),
    ("ben", {"ret_kwargs": {"filename": "/etc/x"}}, AUTHORIZATION),
    ("ben", {"module_executors": ["sudo"]}, AUTHORIZATION),
    ("ben", {"auth_list": [".*"]}, AUTHORIZATION),
    ("ben", {"tgt": "nothing"}, "Master could not resolve minions for target nothing"),
    ("cara", {}, AUTHORIZATION),
    ("zed", {"fun": "status.uptime"}, ["web1"]),
    ("zed", {}, AUTHORIZATION),
]  # fmt: skip


@pytest.mark.parametrize("by", ["token", "eauth"])
def test_a_job_is_published_as_the_list_says(victim: Victim, by: str) -> None:
    seen = []
    tokens = {name: new_token(victim, **login(name, "x", "auto"))["token"] for name in
              ("anna", "ben", "cara", "zed")}  # fmt: skip
    frames = []
    for name, fields, _wanted in PUBLISHES:
        shown = {"token": tokens[name]} if by == "token" else login(name, "x", "auto")
        frames.append(clear(job(**fields, **shown)))
    replies = victim.stranger.send_many(frames, within_s=LOGIN_S)
    for (name, fields, wanted), reply in zip(PUBLISHES, replies, strict=True):
        found = outcome(reply) if "load" not in reply or reply["load"]["minions"] else (
            reply["load"]["error"])  # fmt: skip
        seen.append((name, fields, found, wanted))
    assert not [one for one in seen if one[2] != one[3]]


RUNS: list[tuple[str, str, dict[str, Any], bool]] = [
    ("anna", "runner", {"fun": "manage.up"}, True),
    ("anna", "wheel", {"fun": "key.list_all"}, True),
    ("ben", "runner", {"fun": "test.arg"}, True),
    ("ben", "runner", {"fun": "manage.up"}, False),
    ("ben", "wheel", {"fun": "key.list_all"}, True),
    ("ben", "wheel", {"fun": "key.delete", "match": "web1"}, False),
    ("cara", "runner", {"fun": "jobs.active"}, True),
    ("cara", "runner", {"fun": "test.arg"}, False),
    ("cara", "wheel", {"fun": "key.list_all"}, False),
    ("zed", "runner", {"fun": "jobs.active"}, False),
    ("zed", "wheel", {"fun": "key"}, False),
]  # fmt: skip


@pytest.mark.parametrize("by", ["token", "eauth"])
@pytest.mark.parametrize(("name", "cmd", "fields", "allowed"), RUNS)
def test_what_is_run_for_whom(
    victim: Victim, by: str, name: str, cmd: str, fields: dict[str, Any], allowed: bool
) -> None:
    shown = login(name, "x", "auto")
    if by == "token":
        shown = {"token": new_token(victim, **shown)["token"]}
    reply = ask(victim, {"cmd": cmd, **fields, **shown})
    if allowed:
        assert reply["tag"].startswith({"runner": "salt/run/", "wheel": "salt/wheel/"}[cmd])
        eventually(lambda: not victim.cluster.master.titled("Run runner."), what="it has ended")
    else:
        assert reply["error"] == {
            "name": f"{by.capitalize()}AuthenticationError",
            "message": f'Authentication failure of type "{by}" occurred for user {name}.',
        }


GUESSES = [("secret:s*", "pillar"), ("secret:^s", "pillar_pcre"), ("J@secret:^s", "compound")]


def value_of_run(victim: Victim, fun: str, arg: list[Any], **shown: Any) -> Any:
    with EventSubscriber(MasterSockets(victim.cluster.sock_dir).event_pub, ("salt/run/",)) as bus:
        assert bus.connect_confirmed(5)
        jid = ask(victim, {"cmd": "runner", "fun": fun, "arg": arg, **shown})["jid"]
        while (event := bus.get(LOGIN_S)) is not None:
            if event.tag == f"salt/run/{jid}/ret":
                return event.data["return"]
    raise AssertionError(f"{fun} did not end")


@pytest.mark.parametrize("name", ["dora", "emil"])
def test_who_may_not_read_pillars_does_not_guess_them_by_runners(victim: Victim, name: str) -> None:
    """All runners are a right to read them."""
    shown = login(name, "x", "auto")
    may_guess = name == "emil"
    for tgt, kind in GUESSES:
        found = value_of_run(victim, "mine.get", [tgt, "x", kind], **shown)
        assert found == ({"web1": 1} if may_guess else {}), tgt
    whole = value_of_run(victim, "mine.get", ["I@secret:s3cr3t", "x", "compound"], **shown)
    assert whole == {"web1": 1}


def test_the_user_of_a_run_and_a_job_is_who_logged_in(victim: Victim, cluster: Cluster) -> None:
    shown = {**login(), "user": "root"}
    reply = ask(victim, {"cmd": "wheel", "fun": "key.list_all", **shown})
    assert reply["data"]["user"] == "anna"
    assert reply["data"]["return"]["minions"] == ["db1", "web1", "web2"]
    jid = ask(victim, {**job(**login()), "user": "root"})["load"]["jid"]
    told = cluster.salt_run("jobs.print_job", jid, "--out=json").json[jid]
    assert told["User"] == "anna"
    assert PASSWORD not in str(told)


def test_no_password_is_in_a_log_an_event_or_a_file(victim: Victim, cluster: Cluster) -> None:
    with unharmed(victim, written=r"cache/tokens|jobs", events=r"salt/.*|\d{20}"):
        ask(victim, job(**login()))
        ask(victim, {"cmd": "runner", "fun": "test.arg", **login()})
        eventually(lambda: not cluster.master.titled("Run runner."), what="it has ended")
        ask(victim, {"cmd": "mk_token", **login("ann", PASSWORD)})
    assert PASSWORD not in cluster.master.log()
    for path in cluster.cache_dir.rglob("*"):
        if path.is_file():
            assert PASSWORD.encode() not in path.read_bytes(), path


# --- tokens --------------------------------------------------------------------------------------

NO_TOKENS: list[Any] = [
    "", "1337", "a" * 64, "../../pki/master.pem", "../x", ".", "..", "/etc/passwd", "a" * 31,
    "g" * 64, "A" * 64, "a" * 129, "a" * 64 + "\n", "\0" * 64, ["a"], {"a": 1}, 5, True, b"\xff",
]  # fmt: skip


def test_what_is_no_token_gives_nothing(victim: Victim) -> None:
    with unharmed(victim):
        told = [ask(victim, {"cmd": "get_token", "token": one}) for one in NO_TOKENS]
        runs = [
            ask(victim, {"cmd": "wheel", "fun": "key.list_all", "token": one}) for one in NO_TOKENS
        ]
        jobs = [ask(victim, job(token=one)) for one in NO_TOKENS]
    assert all(one in ({}, False) for one in told)
    assert {outcome(one) for one in runs} == {"TokenAuthenticationError"}
    assert {outcome(one) for one in jobs} == {AUTHENTICATION}


def test_the_name_of_a_tokens_file_is_no_token(victim: Victim, cluster: Cluster) -> None:
    token = new_token(victim)["token"]
    name = hashlib.sha256(token.encode()).hexdigest()
    assert (cluster.cache_dir / "tokens" / name).exists()
    assert ask(victim, {"cmd": "get_token", "token": name}) == {}
    assert outcome(ask(victim, job(token=name))) == AUTHENTICATION
    assert outcome(ask(victim, job(token=token))) == ["web1"]


def real_token(cluster: Cluster, token: str, /, **fields: Any) -> Path:
    """A token as real Salt keeps it."""
    now = time.time()
    record = {"start": now, "expire": now + 600, "name": "anna", "eauth": "auto", "token": token}
    path = cluster.cache_dir / "tokens" / token
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(msgpack.packb({**record, **fields}))
    return path


def test_a_token_of_real_salt_is_good(victim: Victim, cluster: Cluster) -> None:
    real_token(cluster, "b" * 64)
    assert outcome(ask(victim, job("cmd.run", token="b" * 64))) == ["web1"]


BAD_RECORDS: list[tuple[str, dict[str, Any]]] = [
    ("expired", {"expire": 5.0}),
    ("of a module that is not configured", {"eauth": "ldap"}),
    ("under another name", {"token": "d" * 64}),
    ("without an end", {"expire": None}),
    ("of nobody", {"name": None}),
    ("with groups that are none", {"groups": [5]}),
    ("never ending", {"expire": float("nan")}),
]  # fmt: skip


@pytest.mark.parametrize(("what", "fields"), BAD_RECORDS, ids=[one for one, _ in BAD_RECORDS])
def test_a_token_that_is_no_good(
    victim: Victim, cluster: Cluster, what: str, fields: dict[str, Any]
) -> None:
    path = real_token(cluster, "c" * 64, **fields)
    with unharmed(victim, written=r"cache/tokens"):
        assert outcome(ask(victim, job(token="c" * 64))) == AUTHENTICATION
    assert path.exists() is (what.startswith(("of a module", "under")))


def test_a_damaged_token_is_removed(victim: Victim, cluster: Cluster) -> None:
    path = cluster.cache_dir / "tokens" / ("e" * 64)
    path.write_bytes(b"\xc1 not msgpack")
    with unharmed(victim, written=r"cache/tokens"):
        assert ask(victim, {"cmd": "get_token", "token": "e" * 64}) == {}
    assert not path.exists()


def test_a_token_dies_in_time(victim: Victim, cluster: Cluster) -> None:
    """CVE-2021-3144: a token was good once more after its end."""
    end = time.time() + 1.0
    real_token(cluster, "f" * 64, expire=end)
    frame = clear({"cmd": "get_token", "token": "f" * 64})
    assert victim.stranger.send(frame)
    time.sleep(max(0.0, end - time.time()))
    replies = victim.stranger.send_many([frame] * 20)
    assert replies == [{}] * 20


def test_an_old_token_is_looked_at_again(victim: Victim, cluster: Cluster) -> None:
    """CVE-2022-22967: who was locked out after the login must not go on with his token."""
    old = time.time() - 400
    real_token(cluster, "1" * 64, eauth="auto", start=old)
    real_token(cluster, "2" * 64, eauth="pam", name="no-such-account", start=old)
    real_token(cluster, "3" * 64, eauth="pam", name="no-such-account")
    assert outcome(ask(victim, job(token="1" * 64))) == ["web1"]
    assert outcome(ask(victim, job(token="1" * 64))) == ["web1"]
    assert outcome(ask(victim, job(token="3" * 64))) == ["web1"]
    with unharmed(victim):
        assert outcome(ask(victim, job(token="2" * 64))) == AUTHENTICATION
        reply = ask(victim, {"cmd": "wheel", "fun": "key.list_all", "token": "2" * 64})
    assert outcome(reply) == "TokenAuthenticationError"


# --- time ----------------------------------------------------------------------------------------


def test_no_failure_tells_by_its_time_why_it_failed(victim: Victim) -> None:
    """A wrong password, an unknown user, an unknown module: about a second each."""
    kinds = [login("u1", "wrong"), login("u2", "x", "sharedsecret"), login("u3", "x", "no-module"),
             login("u4", "x", "pki")]  # fmt: skip
    taken = []
    for shown in kinds * 2:
        begun = time.monotonic()
        assert ask(victim, {"cmd": "mk_token", **shown}) == ""
        taken.append(time.monotonic() - begun)
    assert min(taken) >= 0.74
    assert max(taken) < 4


def test_a_thousand_wrong_logins_keep_nobody_waiting(victim: Victim) -> None:
    frames = [clear({"cmd": "mk_token", **login(f"u{one % 7}", "wrong")}) for one in range(1000)]
    with (
        many_descriptors(6000),  # libzmq has several for each socket
        contextlib.ExitStack() as sockets,
        unharmed(victim, log_lines=2000, written=r"cache/tokens"),
    ):
        for frame in frames:
            one = victim.stranger._socket()
            sockets.callback(one.close, 0)
            one.send_multipart([b"", msgpack.packb(frame)])
        slowest = 0.0
        for _ in range(10):
            begun = time.monotonic()
            assert victim.stranger.send(clear({"cmd": "ping"}), within_s=LOGIN_S) is not NO_REPLY
            slowest = max(slowest, time.monotonic() - begun)
        begun = time.monotonic()
        assert new_token(victim, **login("ben", "ben-pw"))["name"] == "ben"
        taken = time.monotonic() - begun
    assert slowest < 5  # it took 0.7 to 2 s on two cores with a load of 16
    assert taken < 5


def test_replies_to_logins_are_brought_after_their_process_was_killed(
    victim: Victim, cluster: Cluster
) -> None:
    (bringer,) = cluster.master.titled("LoginReplies")
    bringer.kill()
    eventually(lambda: not bringer.is_running(), what="it is reaped, with no login to wake anybody")
    assert new_token(victim)["name"] == "anna"
    assert len(cluster.master.titled("LoginReplies")) == 1


def test_a_login_of_megabytes_is_a_wrong_one_and_takes_no_room(victim: Victim) -> None:
    shown = [
        login("anna", "x" * 1_000_000),
        login("anna", PASSWORD, "f" * 1_000_000),
        login("a" * 1_000_000, PASSWORD),
    ]
    with unharmed(victim):
        frames = [clear({"cmd": "mk_token", **one, "token_expire": "x" * 10}) for one in shown * 20]
        assert victim.stranger.send_many(frames, within_s=LOGIN_S) == [""] * 60
