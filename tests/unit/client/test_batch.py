"""Batches of a job, sent by a stand-in for the master."""

import time

import pytest
from standin import pings, says

from saltlite.client.batch import Batch, BatchStopped, Silent, Started, batch_size
from saltlite.client.collect import MinionReturn, NotReturned
from saltlite.client.job_request import JobRequest


@pytest.mark.parametrize(
    ("text", "minions", "size"),
    [("1", 9, 1), ("10%", 30, 3), ("%10", 30, 3), ("10%", 3, 1), ("0", 3, 1), ("100%", 4, 4)],
)
def test_batch_sizes(text, minions, size):
    assert batch_size(text, minions) == size


@pytest.mark.parametrize("text", ["bogus", "", "%5%", "5%5"])
def test_no_batch_size(text):
    with pytest.raises(ValueError):
        batch_size(text, 3)


def test_a_batch_pings_then_sends_to_as_many_as_may_work(jobs, master):
    master.minions = {"a": pings, "b": pings, "c": pings, "ghost": None}
    with Batch(jobs, JobRequest(tgt="*", fun="test.echo", arg=["x"]), "2") as batch:
        outcomes = list(batch)
    assert outcomes[0] == Silent("ghost")
    assert isinstance(outcomes[1], Started)
    assert outcomes[1].minions == ("a", "b")
    returned = [one.id for one in outcomes if isinstance(one, MinionReturn)]
    assert sorted(returned) == ["a", "b", "c"]
    jobs = [load for load in master.published if load["fun"] == "test.echo"]
    assert [load["tgt"] for load in jobs] == [["a", "b"], ["c"]]


def test_a_batch_goes_on_when_one_is_lost(jobs, master):
    def lost(load):
        return {"return": True} if load["fun"] == "test.ping" else None

    master.minions = {"a": lost, "b": says("fine")}
    with Batch(jobs, JobRequest(tgt="*", fun="test.echo"), "1") as batch:
        outcomes = [one for one in batch if isinstance(one, (MinionReturn, NotReturned))]
    assert [type(one) for one in outcomes] == [NotReturned, MinionReturn]


def test_failhard_stops_at_the_first_failure(jobs, master):
    master.minions = {"a": says("bad", retcode=3), "b": says("fine")}
    request = JobRequest(tgt="*", fun="test.echo")
    with Batch(jobs, request, "1", failhard=True) as batch:
        outcomes = list(batch)
    assert outcomes[-1] == BatchStopped("a")


def test_a_place_stays_empty_for_the_wait(jobs, master):
    request = JobRequest(tgt="*", fun="test.ping")
    started = time.monotonic()
    with Batch(jobs, request, "1", wait_s=0.2) as batch:
        assert sum(isinstance(one, MinionReturn) for one in batch) == 2
    assert time.monotonic() - started >= 0.2
