"""Jobs and commands for a stand-in for the master: credentials, refusals, a master that is gone."""

import time
from types import SimpleNamespace

import pytest

from saltlite.client.job_request import JobRequest
from saltlite.client.jobs import TIMED_OUT, JobClient, LateStore, find_request_address
from saltlite.errors import MasterAbsent, MasterRefused, RequestTimeout, StoreError

JID = "20260102030405000001"
PING = JobRequest(tgt="web1", fun="test.ping")


@pytest.mark.parametrize(
    ("reply", "name", "message"),
    [
        (
            {"error": {"name": "AuthenticationError", "message": "Authentication error occurred."}},
            "AuthenticationError",
            "Authentication error occurred.",
        ),
        ({"error": "no jid"}, "", "no jid"),
        ("bad load", "", "bad load"),
    ],
)
def test_a_refusal_is_an_error(jobs, master, reply, name, message):
    master.refuse = reply
    with pytest.raises(MasterRefused) as caught:
        list(jobs.outcomes(PING))
    assert (caught.value.name, caught.value.message) == (name, message)


def test_the_key_of_a_master_that_was_restarted_meanwhile_is_read_again(jobs, master):
    """It was read, the master started anew and made another, and then it was shown."""
    path = next(master.folder.glob(".*_key"))
    refused = {"error": {"name": "AuthenticationError", "message": "Who is it?"}}
    master.refuse = refused
    sent = jobs.send

    def restart_and_send(load, **how):
        path.write_text("n" * 76)
        if load["key"] == "n" * 76:
            master.refuse = None
        return sent(load, **how)

    jobs.send = restart_and_send
    assert [one.return_ for one in jobs.outcomes(PING)] == [True]
    assert [load["key"][0] for load in master.published] == ["k", "n"]


def test_a_key_that_is_not_known_is_shown_once(jobs, master):
    refused = {"error": {"name": "AuthenticationError", "message": "Who is it?"}}
    master.refuse = refused
    with pytest.raises(MasterRefused, match="Who is it"):
        list(jobs.outcomes(PING))
    assert len(master.published) == 1


def test_a_key_that_a_caller_shows_is_judged_alone(jobs, master):
    """Ours in its place would give anybody's request our rights."""
    master.refuse = {"error": {"name": "UserAuthenticationError", "message": "Who is it?"}}
    sent = []
    send = jobs.send
    jobs.send = lambda load, **how: (sent.append(load["key"]), send(load, **how))[1]
    with pytest.raises(MasterRefused, match="Who is it"):
        jobs.call_master({"cmd": "runner", "fun": "test.arg", "user": "root", "key": "x" * 76})
    assert sent == ["x" * 76]


def test_no_socket_means_no_master(master):
    (master.folder / "master_event_pub.ipc").unlink()
    with JobClient(master.config) as jobs, pytest.raises(MasterAbsent) as caught:
        list(jobs.outcomes(PING))
    assert str(caught.value) == "The salt master could not be contacted. Is master running?"


def test_a_dead_master_is_noticed_within_a_second_or_two(master, monkeypatch):
    config = master.config
    path = master.folder / "master_event_pub.ipc"
    master._stop.set()
    master._thread.join()
    assert path.exists()
    started = time.monotonic()
    with JobClient(config) as jobs, pytest.raises(MasterAbsent, match="timed out"):
        list(jobs.outcomes(PING))
    assert time.monotonic() - started < 10


def test_a_master_that_does_not_answer_is_a_timeout(master, monkeypatch):
    master.silent = True
    with JobClient(master.config) as jobs, pytest.raises(RequestTimeout):
        jobs.publish(PING, timeout_s=0.1)


def test_the_words_of_the_sentences():
    assert TIMED_OUT.startswith("Salt request timed out. The master is not responding.")
    assert TIMED_OUT.endswith("results of the job in the job cache later.")


@pytest.mark.parametrize(
    ("interface", "address"),
    [
        ("0.0.0.0", "tcp://127.0.0.1:4506"),
        ("10.0.0.1", "tcp://10.0.0.1:4506"),
        ("::", "tcp://[::1]:4506"),
    ],
)
def test_a_wildcard_is_reached_by_the_loopback_address(interface, address):
    config = SimpleNamespace(network=SimpleNamespace(interface=interface, ret_port=4506))
    assert find_request_address(config) == address


def test_a_job_store_is_opened_when_it_is_asked_and_may_be_closed_to_us():
    def refuse():
        raise StoreError("not for you")

    class Returns:
        def returns(self, jid):
            return {"m1": {"return": jid}}

    assert LateStore(refuse).returns(JID) == {}
    assert LateStore(Returns).returns(JID) == {"m1": {"return": JID}}


def test_a_subset_has_the_functions_of_the_request(jobs, master):
    both = JobRequest(tgt="*", fun=["test.ping", "test.echo"], arg=[[], ["x"]])
    assert sorted(jobs.subset_of(both, 9)) == ["db1", "web1"]
    assert [(load["fun"], load["arg"]) for load in master.published] == [("sys.list_functions", [])]
    assert len(jobs.subset_of(both, 1)) == 1
    assert jobs.subset_of(JobRequest(tgt="*", fun="nosuch.func"), 9) == []
