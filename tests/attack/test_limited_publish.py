"""What a limited user, or a minion that may publish, can put into a job: nothing but the job.

Each of these was a way to root: a returner writes files as root, an executor replaces what is run,
a job id belongs to somebody else. Source: docs/security.md#who-may-do-what; CVE-2025-22239 is its
kin.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from attacks import LIMITED, Victim, clear, unharmed
from cluster import Cluster
from rogue import Rogue, Sealed
from saltlite.master.jobcache import SqliteJobStore

NEW_JOB = r"salt/job/\d{20}(_\d+)?/new|\d{20}"


def publish(user: str, key: str, **fields: Any) -> dict[str, Any]:
    load = {"cmd": "publish", "tgt": "b", "fun": "test.ping", "arg": [], "tgt_type": "glob",
            "ret": "", "jid": "", "user": user, "key": key}  # fmt: skip
    return clear({**load, **fields})


def key_of(cluster: Cluster, user: str) -> str:
    return (cluster.cache_dir / f".{user}_key").read_text().strip()


def error_of(reply: Any) -> str:
    error = reply.get("error") if isinstance(reply, dict) else None
    return str(error.get("name")) if isinstance(error, dict) else str(error)


SMUGGLED: list[dict[str, Any]] = [
    {"ret": "rawfile_json"},
    {"ret": "rawfile_json", "kwargs": {"ret_kwargs": {"filename": "/etc/cron.d/pwned"}}},
    {"ret": "sqlite3", "kwargs": {"ret_config": "x", "ret_kwargs": {"database": "/root/x"}}},
    {"kwargs": {"ret_kwargs": {"filename": "/etc/cron.d/pwned"}}},
    {"kwargs": {"ret_config": "alternative"}},
    {"kwargs": {"module_executors": ["sudo"]}},
    {"kwargs": {"module_executors": "docker"}},
    {"kwargs": {"executor_opts": {"splaytime": 10**9}}},
    {"kwargs": {"metadata": {"x": "y" * 3 * 2**20}}},
    {"kwargs": {"metadata": {str(one): one for one in range(5000)}}},
    {"kwargs": {"master_id": "other"}},
    {"kwargs": {"id": "b"}},
    {"kwargs": {"auth_list": ["*"]}},
    {"kwargs": {"nocache": True}},
    {"kwargs": {"resource_target": "x"}},
    {"peer_of": "a"},
    {"jid": "20240101000000000000"},
    {"arg": ["x" * 2 * 2**20]},
    {"tgt": ["b"] * 200_000, "tgt_type": "list"},
    {"fun": ["test.ping"] * 1000, "arg": [[]] * 1000},
]  # fmt: skip


def test_a_limited_user_adds_nothing_to_a_job(victim: Victim, bystander: Rogue) -> None:
    """Nothing on the bus, nothing on record, and the next honest job is the first to leave."""
    key = key_of(victim.cluster, LIMITED)
    with bystander.listening() as ear:
        with unharmed(victim):
            frames = [publish(LIMITED, key, **fields) for fields in SMUGGLED]
            replies = victim.stranger.send_many(frames, within_s=10)
        assert {error_of(reply) for reply in replies} == {"AuthorizationError"}
        honest = victim.stranger.send(publish(LIMITED, key))
        job = ear.next(5)
    assert job is not None
    assert job["jid"] == honest["load"]["jid"]
    assert job["ret"] == ""
    assert not job.keys() & {"ret_kwargs", "ret_config", "module_executors", "metadata"}


def test_what_a_limited_user_may_set_reaches_the_job(victim: Victim, bystander: Rogue) -> None:
    kwargs = {"metadata": {"ticket": "X-1"}, "show_jid": False, "delimiter": ":"}
    key = key_of(victim.cluster, LIMITED)
    with bystander.listening() as ear:
        reply = victim.stranger.send(publish(LIMITED, key, kwargs=kwargs))
        job = ear.next(5)
    assert job is not None
    assert job["jid"] == reply["load"]["jid"]
    assert job["metadata"] == {"ticket": "X-1"}


def test_a_keyword_that_means_nothing_is_in_no_job_and_on_no_record(
    victim: Victim, bystander: Rogue
) -> None:
    key = key_of(victim.cluster, LIMITED)
    with bystander.listening() as ear:
        reply = victim.stranger.send(publish(LIMITED, key, kwargs={"id_": "sesame-of-nobody"}))
        job = ear.next(5)
    assert job is not None
    assert job["jid"] == reply["load"]["jid"]
    assert "id_" not in job
    kept = victim.cluster.command("salt-run", "jobs.list_job", job["jid"], "--out=json")
    assert kept.json["jid"] == job["jid"]
    files = [one for one in victim.cluster.cache_dir.rglob("*") if one.is_file()]
    assert files and not any(b"sesame-of-nobody" in one.read_bytes() for one in files)


def test_minions_are_named_where_a_target_looks_at_what_may_change(
    victim: Victim, bystander: Rogue
) -> None:
    """CVE-2022-22941: the list that was authorised is the list that is published."""
    key = key_of(victim.cluster, LIMITED)
    with bystander.listening() as ear:
        fields = {"tgt": "b or G@no:such", "tgt_type": "compound"}
        reply = victim.stranger.send(publish(LIMITED, key, **fields))
        job = ear.next(5)
    assert job is not None
    assert job["tgt_type"] == "list"
    assert job["tgt"] == reply["load"]["minions"]
    assert bystander.id in job["tgt"]


# --- peers -------------------------------------------------------------------------------------


def test_a_peer_adds_nothing_to_a_job(victim: Victim, peer: Rogue, bystander: Rogue) -> None:
    load = {"cmd": "minion_pub", "fun": "test.ping", "arg": [], "tgt": bystander.id,
            "tgt_type": "glob", "tmo": 1, "form": "clean"}  # fmt: skip
    refused = [
        {"ret": "rawfile_json"}, {"ret": "sqlite3"}, {"fun": "cmd.run"},
        {"fun": "test.ping,cmd.run"}, {"arg": ["x" * 2 * 2**20]},
        {"tgt": ["b"] * 200_000, "tgt_type": "list"},
    ]  # fmt: skip
    dropped = {
        "kwargs": {"ret_kwargs": {"filename": "/etc/x"}}, "ret_kwargs": {"filename": "/etc/x"},
        "module_executors": ["sudo"], "metadata": {"a": "b"}, "jid": "20240101000000000000",
        "user": "root", "master_id": "m", "id": peer.id,
    }  # fmt: skip
    with bystander.listening() as ear:
        with unharmed(victim):
            replies = peer.send_many([peer.make({**load, **fields}) for fields in refused])
        assert replies == [Sealed({})] * len(refused)
        reply = peer.send({**load, **dropped})
        job = ear.next(5)
    assert job is not None
    assert reply == Sealed({"jid": job["jid"], "minions": [bystander.id]})
    assert set(job) - {"serial", "not_after"} == {
        "fun", "arg", "tgt", "jid", "ret", "tgt_type", "id", "user",
    }  # fmt: skip
    assert (job["user"], job["id"], job["ret"]) == (peer.id, peer.id, "")


PATTERNS = [("secret:s3*", "pillar"), ("secret:^s3.*$", "pillar_pcre"),
            ("I@secret:s*", "compound"), ("J@secret:.*", "compound"),
            ("b and J@secret:^s3", "compound")]  # fmt: skip
EXACT = [("secret:s3cr3t", "pillar"), ("secret:s3cr3t", "pillar_pcre"),
         ("secret:s3cr3t", "pillar_exact"), ("I@secret:s3cr3t", "compound")]  # fmt: skip


@pytest.fixture(scope="module")
def told(bystander: Rogue) -> Rogue:
    """``b`` has fetched its pillar, so that the master can target it, and filled its mine."""
    bystander.send({"cmd": "_pillar", "grains": {"os": "x"}, "ver": "2"})
    assert bystander.send({"cmd": "_mine", "data": {"x": 1}}) == Sealed(True)
    return bystander


@pytest.mark.parametrize(("tgt", "tgt_type"), PATTERNS)
def test_pillar_is_not_guessed_letter_by_letter(
    victim: Victim, peer: Rogue, told: Rogue, tgt: str, tgt_type: str
) -> None:
    mine = {"cmd": "_mine_get", "fun": "x", "tgt": tgt, "tgt_type": tgt_type}
    job = {"cmd": "minion_pub", "fun": "test.ping", "arg": [], "tgt": tgt, "tgt_type": tgt_type}
    with unharmed(victim, events=NEW_JOB):
        assert peer.send(mine) == Sealed({})
        reply = peer.send(job)
    assert reply == Sealed({}) or told.id not in reply.value["minions"]


@pytest.mark.parametrize(("tgt", "tgt_type"), EXACT)
def test_the_whole_value_is_no_guess(peer: Rogue, told: Rogue, tgt: str, tgt_type: str) -> None:
    mine = {"cmd": "_mine_get", "fun": "x", "tgt": tgt, "tgt_type": tgt_type}
    assert peer.send(mine) == Sealed({told.id: 1})


# --- what a minion says of itself ----------------------------------------------------------


GUESSES = [("J@secret:^{}", "compound"), ("b and I@secret:{}*", "compound"),
           ("secret:{}*", "pillar"), ("secret:^{}", "pillar_pcre"),
           ("I@secret:[{}]3cr3t", "compound")]  # fmt: skip
RUNNERS = [("mine.get", ["{tgt}", "x", "tgt_type={kind}"]),
           ("cache.mine", ["{tgt}", "tgt_type={kind}"]),
           ("manage.status", ["timeout=1", "tgt={tgt}", "tgt_type={kind}"])]  # fmt: skip
RUN = r"salt/run/\d{20}/(new|ret)"


def ask_runner(peer: Rogue, fun: str, *arg: str) -> Any:
    made = peer.make({"cmd": "minion_runner", "fun": fun, "arg": list(arg)})
    (reply,) = peer.send_many([made], within_s=30)
    assert isinstance(reply, Sealed), reply
    return reply.value


@pytest.mark.parametrize(("fun", "arg"), RUNNERS)
def test_a_runner_tells_a_peer_nothing_of_anothers_pillar(
    victim: Victim, peer: Rogue, told: Rogue, fun: str, arg: list[str]
) -> None:
    """A right guess is answered as a wrong one; the whole value is no guess."""

    def ask(tgt: str, kind: str) -> Any:
        return ask_runner(peer, fun, *(one.format(tgt=tgt, kind=kind) for one in arg))

    with unharmed(victim, events=f"{RUN}|{NEW_JOB}"):
        for tgt, kind in GUESSES:
            assert ask(tgt.format("s"), kind) == ask(tgt.format("t"), kind), tgt
        answers = [ask("secret:s3cr3t", "pillar"), ask("I@secret:s3cr3t", "compound")]
    assert all(told.id in str(one) for one in answers)


def test_a_compound_is_tried_out_with_whole_values(
    victim: Victim, peer: Rogue, told: Rogue
) -> None:
    with unharmed(victim, events=RUN):
        for expression in ("J@secret:^s", "I@secret:s*", "b and I@secret:s3cr3?"):
            found = ask_runner(peer, "match.compound_matches", expression, told.id)
            assert found == {"res": False}
        found = ask_runner(peer, "match.compound_matches", "I@secret:s3cr3t", told.id)
    assert found == {"res": told.id}


@pytest.mark.parametrize(("tgt", "tgt_type"), GUESSES)
def test_a_limited_user_does_not_guess_pillar(
    victim: Victim, told: Rogue, tgt: str, tgt_type: str
) -> None:
    """Who may call ``test.ping`` everywhere may not therefore read what is secret everywhere."""
    key = key_of(victim.cluster, LIMITED)
    fields = [{"tgt": tgt.format(letter), "tgt_type": tgt_type} for letter in "st"]
    with unharmed(victim):
        replies = [victim.stranger.send(publish(LIMITED, key, **one)) for one in fields]
    assert replies[0] == replies[1]
    assert error_of(replies[0]) == "AuthorizationError"
    assert "pillar.items" in replies[0]["error"]["message"]


def test_a_limited_user_targets_by_whole_values(victim: Victim, told: Rogue) -> None:
    key = key_of(victim.cluster, LIMITED)
    for tgt, tgt_type in (("secret:s3cr3t", "pillar"), ("b and I@secret:s3cr3t", "compound")):
        reply = victim.stranger.send(publish(LIMITED, key, tgt=tgt, tgt_type=tgt_type))
        assert reply["load"]["minions"] == [told.id]


def test_what_is_compared_whole_is_sent_by_name(peer: Rogue, told: Rogue, bystander: Rogue) -> None:
    """Minions of Salt know nothing of such targets, and would not run the job."""
    job = {"cmd": "minion_pub", "fun": "test.ping", "arg": [], "tgt": "b and I@secret:s3cr3t",
           "tgt_type": "compound"}  # fmt: skip
    with bystander.listening() as ear:
        assert peer.send(job).value["minions"] == [told.id]
        first = ear.next(5)
        peer.send({**job, "tgt": "b or G@no:such"})
        second = ear.next(5)
    assert first is not None and second is not None
    assert (first["tgt"], first["tgt_type"]) == ([told.id], "list")
    assert (second["tgt"], second["tgt_type"]) == ("b or G@no:such", "compound")


@pytest.mark.parametrize("field", ["pillar_override", "extra_minion_data"])
def test_a_minion_does_not_choose_the_pillar_it_is_targeted_by(
    victim: Victim, rogue: Rogue, bystander: Rogue, field: str, root_key: str
) -> None:
    """Neither ``-I`` nor ``allow_tgt`` sees it; nor does a later plain pillar."""
    acl = {"__saltmine_acl__": 1, "allow_tgt": "role:trusted", "allow_tgt_type": "pillar"}
    bystander.send({"cmd": "_mine", "data": {"guarded": {"__data__": "gold", **acl}}})
    plain = {"cmd": "_pillar", "grains": {}, "ver": "2"}
    rogue.send(plain)
    rogue.send({**plain, field: {"role": "trusted"}})
    asked = {"cmd": "_mine_get", "fun": "guarded", "tgt": "*", "tgt_type": "glob"}
    assert rogue.send(asked) == Sealed({})
    load = publish("root", root_key, tgt="role:trusted", tgt_type="pillar")
    assert rogue.id not in victim.stranger.send(load)["load"]["minions"]


# --- job ids -------------------------------------------------------------------------------


def test_a_job_id_is_a_time_that_has_come(victim: Victim, bystander: Rogue, root_key: str) -> None:
    wrong = ["99999999999999999999", "20261399000000000000", "30000101000000000000",
             "20240230000000000000", "99991231235959999999_1"]  # fmt: skip
    with bystander.listening() as ear:
        with unharmed(victim):
            frames = [publish("root", root_key, jid=one) for one in wrong]
            replies = victim.stranger.send_many(frames)
        assert [error_of(one).split(":")[0] for one in replies] == ["jid"] * len(wrong)
        honest = victim.stranger.send(publish("root", root_key))
        job = ear.next(5)
    assert job is not None
    assert job["jid"] == honest["load"]["jid"]


def test_a_job_id_belongs_to_whoever_had_it_first(
    victim: Victim, bystander: Rogue, root_key: str
) -> None:
    jid = f"2024{time.time_ns() % 10**10:010}"[:4] + "0101000000" + f"{time.time_ns() % 10**6:06}"
    with unharmed(victim, events=rf"{NEW_JOB}|salt/job/{jid}/error"):
        first = victim.stranger.send(publish("root", root_key, jid=jid))
        again = victim.stranger.send(publish("root", root_key, jid=jid, fun="test.version"))
    assert first["load"]["jid"] == jid
    assert again == {"error": f"Job {jid} exists already"}


def test_a_master_with_damaged_job_ids_starts_and_publishes(tmp_path: Path) -> None:
    """What an older release has let in, or a disk has spoilt."""
    with Cluster(minions=1) as one:
        store = SqliteJobStore(one.cache_dir)
        for jid in (
            "99999999999999999999",
            "zz",
            "",
            "20261399000000000000",
            "30000101000000000000",
        ):
            assert store.new_job(jid, {"fun": "test.ping", "tgt": "*"}, ["m1"])
        store.close()
        one.start()
        ran = one.salt("m1", "test.ping", "--out=json")
        assert ran.json == {"m1": True}
        listed = one.salt_run("jobs.list_jobs", "--out=json")
        assert "99999999999999999999" in listed.json
