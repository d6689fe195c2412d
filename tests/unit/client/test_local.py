"""LocalClient against a stand-in for the master: Salt's interface, in Salt's shapes."""

import time
from types import SimpleNamespace

import pytest
from standin import StandIn, pings, says

from saltlite.client import local
from saltlite.client.batch import Batch, BatchStopped, Silent, Started, batch_size
from saltlite.client.collect import MinionReturn, NotReturned
from saltlite.client.job_request import JobRequest
from saltlite.client.local import LateStore, LocalClient, find_request_address
from saltlite.errors import MasterAbsent, MasterRefused, RequestTimeout, StoreError

JID = "20260102030405000001"


@pytest.fixture
def master():
    with StandIn({"db1": pings, "web1": pings}) as standin:
        yield standin


@pytest.fixture
def client(master):
    with LocalClient(master.config) as found:
        yield found


def test_cmd_gives_back_what_each_minion_returned(client, master):
    assert client.cmd("*", "test.ping") == {"db1": True, "web1": True}
    load = master.published[0]
    assert load["cmd"] == "publish"
    assert (load["tgt"], load["fun"], load["arg"]) == ("*", "test.ping", [])
    assert (load["tgt_type"], load["ret"], load["jid"]) == ("glob", "", "")
    assert load["key"] == "k" * 76
    assert load["user"]


def test_a_return_that_overtakes_the_reply_is_not_missed(client, master):
    master.early = True
    assert client.cmd("web1", "test.ping") == {"web1": True}


def test_keywords_become_the_last_argument(client, master):
    client.cmd("web1", "test.echo", ["x"], kwarg={"a": 1}, metadata={"m": 1})
    load = master.published[0]
    assert load["arg"] == ["x", {"a": 1, "__kwarg__": True}]
    assert load["kwargs"] == {"metadata": {"m": 1}}


def test_names_with_commas_are_several_functions(client, master):
    client.cmd("web1", "test.ping, test.echo", [[], ["x"]])
    assert master.published[0]["fun"] == ["test.ping", "test.echo"]
    assert master.published[0]["arg"] == [[], ["x"]]


def test_a_number_that_is_a_jid_travels_as_text(client, master):
    client.cmd("web1", "test.echo", [int(JID), 5])
    assert master.published[0]["arg"] == [JID, 5]


def test_the_full_return_has_retcode_and_jid(client):
    assert client.cmd("web1", "test.ping", full_return=True) == {
        "web1": {"ret": True, "retcode": 0, "jid": JID}
    }
    failed = client.cmd_full_return("web1", "test.echo")
    assert failed["web1"]["retcode"] == 1


def test_cmd_async_publishes_and_does_not_wait(client, master):
    master.minions["web1"] = None
    assert client.cmd_async("web1", "test.ping") == JID
    assert client.cmd_async("nobody", "test.ping") == 0


def test_nobody_is_an_empty_result(client):
    assert client.cmd("nobody", "test.ping") == {}
    assert list(client.cmd_iter("nobody", "test.ping")) == []
    assert list(client.cmd_iter_no_block("nobody", "test.ping")) == []
    assert client.run_job("nobody", "test.ping", listen=True) == {}


def test_cmd_iter_yields_one_minion_at_a_time(client):
    found = list(client.cmd_iter("*", "test.ping"))
    assert sorted(name for one in found for name in one) == ["db1", "web1"]
    assert all(one[name]["ret"] is True for one in found for name in one)


def test_cmd_iter_no_block_yields_none_while_nothing_comes(client, master):
    master.minions["web1"] = None
    found = list(client.cmd_iter_no_block("*", "test.ping", timeout=1))
    assert None in found
    assert [name for one in found if one for name in one] == ["db1"]


def test_cmd_cli_tells_of_those_who_did_not_return(client, master):
    master.minions["web1"] = None
    found = {name: full for one in client.cmd_cli("*", "test.ping") for name, full in one.items()}
    assert found["db1"]["ret"] is True
    assert found["web1"]["out"] == "no_return"
    assert found["web1"]["ret"].startswith("Minion did not return. [No response]\nThe minions may")
    assert found["web1"]["ret"].endswith(f"\n\nsalt-run jobs.lookup_jid {JID}")


def test_who_is_not_connected_is_said_to_be_so(master):
    master.minions["web1"] = None
    with LocalClient(master.config, connected=lambda: frozenset({"db1"})) as client:
        found = {
            name: one for each in client.cmd_cli("*", "test.ping") for name, one in each.items()
        }
    assert found["web1"]["ret"] == "Minion did not return. [Not connected]"


def test_the_silent_are_asked_with_find_job_and_the_end_is_in_time(client, master):
    master.minions["web1"] = None
    started = time.monotonic()
    assert client.cmd("web1", "test.ping") == {}
    assert time.monotonic() - started < 1 + 1 + 10
    ask = master.published[1]
    assert (ask["fun"], ask["arg"], ask["tgt"], ask["tgt_type"]) == (
        "saltutil.find_job",
        [JID],
        ["web1"],
        "list",
    )


def test_one_that_says_it_runs_is_waited_for(client, master):
    asked = []

    def slow(load):
        if load["fun"] != "saltutil.find_job":
            return None
        asked.append(load["arg"][0])
        if len(asked) > 1:
            master.fire(f"salt/job/{JID}/ret/web1", {"return": "late", "id": "web1"})
        return {"return": {"jid": JID, "pid": 1}}

    master.minions["web1"] = slow
    assert client.cmd("web1", "test.sleep", [9]) == {"web1": "late"}
    assert asked[:2] == [JID, JID]


def test_a_return_only_on_record_counts(master):
    class Store:
        def returns(self, jid):
            return {"web1": {"return": "kept", "retcode": 4}}

    master.minions["web1"] = None
    with LocalClient(master.config, store=Store) as client:
        assert client.cmd("web1", "test.ping") == {"web1": "kept"}
        assert client.get_cache_returns(JID)["web1"]["retcode"] == 4


def test_missing_ids_of_a_list_are_waited_for_too(client, master):
    master.missing = ["nope"]
    found = {name for one in client.cmd_cli("web1", "test.ping") for name in one}
    assert found == {"web1", "nope"}


def test_run_job_and_then_its_returns(client):
    published = client.run_job("*", "test.ping", listen=True)
    assert published == {"jid": JID, "minions": ["db1", "web1"]}
    assert client.get_returns(JID, published["minions"]) == {"db1": True, "web1": True}


@pytest.mark.parametrize("block", [True, False])
def test_get_iter_returns_may_tell_of_failures(client, master, block):
    master.minions["web1"] = None
    published = client.run_job("*", "test.ping", listen=True)
    found = [
        one
        for one in client.get_iter_returns(
            published["jid"], published["minions"], expect_minions=True, block=block
        )
        if one is not None
    ]
    assert {"web1": {"failed": True}} in found
    assert any("db1" in one for one in found)


def test_get_full_returns_and_events(client):
    jid = client.run_job("web1", "test.ping", listen=True)["jid"]
    assert client.get_full_returns(jid, ["web1"])["web1"]["retcode"] == 0
    jid = client.pub("web1", "test.ping", listen=True)["jid"]
    assert [one["web1"]["ret"] for one in client.get_event_iter_returns(jid, ["web1"])] == [True]


def test_a_subset_is_taken_of_those_that_have_the_function(client, master):
    assert len(client.cmd_subset("*", "test.ping", subset=1)) == 1
    assert master.published[0]["fun"] == "sys.list_functions"
    assert client.cmd_subset("*", "nosuch.func", subset=1) == {}
    assert [list(one) for one in client.cmd_subset("web1", "test.ping", subset=9, cli=True)] == [
        ["web1"]
    ]


def test_gather_job_info_asks_find_job(client, master):
    client.gather_job_info(JID, "web1", "glob", listen=False)
    assert master.published[0]["fun"] == "saltutil.find_job"


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
def test_a_refusal_is_an_error(client, master, reply, name, message):
    master.refuse = reply
    with pytest.raises(MasterRefused) as caught:
        client.cmd("*", "test.ping")
    assert (caught.value.name, caught.value.message) == (name, message)


def test_the_key_of_a_master_that_was_restarted_meanwhile_is_read_again(client, master):
    """It was read, the master started anew and made another, and then it was shown."""
    path = next(master.folder.glob(".*_key"))
    refused = {"error": {"name": "AuthenticationError", "message": "Who is it?"}}
    master.refuse = refused
    sent = client.send

    def restart_and_send(load, **how):
        path.write_text("n" * 76)
        if load["key"] == "n" * 76:
            master.refuse = None
        return sent(load, **how)

    client.send = restart_and_send
    assert client.cmd("web1", "test.ping") == {"web1": True}
    assert [load["key"][0] for load in master.published] == ["k", "n"]


def test_a_key_that_is_not_known_is_shown_once(client, master):
    refused = {"error": {"name": "AuthenticationError", "message": "Who is it?"}}
    master.refuse = refused
    with pytest.raises(MasterRefused, match="Who is it"):
        client.cmd("web1", "test.ping")
    assert len(master.published) == 1


def test_a_key_that_a_caller_shows_is_judged_alone(client, master):
    """Ours in its place would give anybody's request our rights."""
    master.refuse = {"error": {"name": "UserAuthenticationError", "message": "Who is it?"}}
    sent = []
    send = client.send
    client.send = lambda load, **how: (sent.append(load["key"]), send(load, **how))[1]
    with pytest.raises(MasterRefused, match="Who is it"):
        client.call_master({"cmd": "runner", "fun": "test.arg", "user": "root", "key": "x" * 76})
    assert sent == ["x" * 76]


def test_other_credentials_go_without_the_local_key(client, master):
    client.cmd("web1", "test.ping", eauth="pam", username="x", password="y")
    load = master.published[0]
    assert load["key"] is None
    assert load["kwargs"] == {"eauth": "pam", "username": "x", "password": "y"}


def test_no_socket_means_no_master(master):
    (master.folder / "master_event_pub.ipc").unlink()
    with LocalClient(master.config) as client, pytest.raises(MasterAbsent) as caught:
        client.cmd("*", "test.ping")
    assert str(caught.value) == "The salt master could not be contacted. Is master running?"


def test_a_dead_master_is_noticed_within_a_second_or_two(master, monkeypatch):
    config = master.config
    path = master.folder / "master_event_pub.ipc"
    master._stop.set()
    master._thread.join()
    assert path.exists()
    started = time.monotonic()
    with LocalClient(config) as client, pytest.raises(MasterAbsent, match="timed out"):
        client.cmd("*", "test.ping")
    assert time.monotonic() - started < 10


def test_a_master_that_does_not_answer_is_a_timeout(master, monkeypatch):
    master.silent = True
    with LocalClient(master.config) as client, pytest.raises(RequestTimeout):
        client.publish(JobRequest(tgt="*", fun="test.ping"), timeout_s=0.1)


def test_the_words_of_the_sentences():
    assert local.TIMED_OUT.startswith("Salt request timed out. The master is not responding.")
    assert local.TIMED_OUT.endswith("results of the job in the job cache later.")


# --- batches -------------------------------------------------------------------------------------


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


def test_a_batch_pings_then_sends_to_as_many_as_may_work(client, master):
    master.minions = {"a": pings, "b": pings, "c": pings, "ghost": None}
    with Batch(client, JobRequest(tgt="*", fun="test.echo", arg=["x"]), "2") as batch:
        outcomes = list(batch)
    assert outcomes[0] == Silent("ghost")
    assert isinstance(outcomes[1], Started)
    assert outcomes[1].minions == ("a", "b")
    returned = [one.id for one in outcomes if isinstance(one, MinionReturn)]
    assert sorted(returned) == ["a", "b", "c"]
    jobs = [load for load in master.published if load["fun"] == "test.echo"]
    assert [load["tgt"] for load in jobs] == [["a", "b"], ["c"]]


def test_a_batch_goes_on_when_one_is_lost(client, master):
    def lost(load):
        return {"return": True} if load["fun"] == "test.ping" else None

    master.minions = {"a": lost, "b": says("fine")}
    with Batch(client, JobRequest(tgt="*", fun="test.echo"), "1") as batch:
        outcomes = [one for one in batch if isinstance(one, (MinionReturn, NotReturned))]
    assert [type(one) for one in outcomes] == [NotReturned, MinionReturn]


def test_failhard_stops_at_the_first_failure(client, master):
    master.minions = {"a": says("bad", retcode=3), "b": says("fine")}
    request = JobRequest(tgt="*", fun="test.echo")
    with Batch(client, request, "1", failhard=True) as batch:
        outcomes = list(batch)
    assert outcomes[-1] == BatchStopped("a")


def test_a_place_stays_empty_for_the_wait(client, master):
    request = JobRequest(tgt="*", fun="test.ping")
    started = time.monotonic()
    with Batch(client, request, "1", wait_s=0.2) as batch:
        assert sum(isinstance(one, MinionReturn) for one in batch) == 2
    assert time.monotonic() - started >= 0.2


def test_cmd_batch_yields_returns_only(client):
    found = {
        name: ret
        for one in client.cmd_batch("*", "test.ping", batch=1)
        for name, ret in one.items()
    }
    assert found == {"db1": True, "web1": True}


def test_jobs_that_nobody_asks_for_do_not_collect_sockets(client, master):
    jids = [f"{int(JID) + number}" for number in range(3 * local.LISTENING_KEPT)]
    opened = []
    listen = client.listen
    client.listen = lambda: opened.append(listen()) or opened[-1]
    for jid in [*jids, jids[-1]]:
        client.run_job("web1", "test.ping", jid=jid, listen=True)
    assert sum(not one._socket.closed for one in opened) == local.LISTENING_KEPT
    assert client.get_returns(jids[-1], ["web1"], timeout=1) == {"web1": True}


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
