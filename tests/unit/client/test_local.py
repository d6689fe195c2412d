"""LocalClient against a stand-in for the master: Salt's interface, in Salt's shapes."""

import time

import pytest

from saltlite.client import local
from saltlite.client.jobs import JobClient
from saltlite.client.local import LocalClient

JID = "20260102030405000001"


@pytest.fixture
def client(jobs):
    with LocalClient(jobs) as found:
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
    with LocalClient(JobClient(master.config, connected=lambda: frozenset({"db1"}))) as client:
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
    with LocalClient(JobClient(master.config, store=Store)) as client:
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


def test_other_credentials_go_without_the_local_key(client, master):
    client.cmd("web1", "test.ping", eauth="pam", username="x", password="y")
    load = master.published[0]
    assert load["key"] is None
    assert load["kwargs"] == {"eauth": "pam", "username": "x", "password": "y"}


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
    listen = client.jobs.listen
    client.jobs.listen = lambda: opened.append(listen()) or opened[-1]
    for jid in [*jids, jids[-1]]:
        client.run_job("web1", "test.ping", jid=jid, listen=True)
    assert sum(not one._socket.closed for one in opened) == local.LISTENING_KEPT
    assert client.get_returns(jids[-1], ["web1"], timeout=1) == {"web1": True}
