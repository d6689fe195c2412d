"""What a user types all day, against a master and three minions of ours."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Iterator

import pytest
import yaml
from programs import need

from cluster import Cluster, bin_dir, eventually, running

IDS = ["db1", "web1", "web2"]


@pytest.fixture(scope="module")
def salted() -> Iterator[Cluster]:
    with running(
        minions=dict.fromkeys(IDS, "saltlite"),
        master_options={"gather_job_timeout": 2, "nodegroups": {"webs": "web*"}},
        minion_options={"grains": {"roles": ["a", "b"]}},
    ) as cluster:
        yield cluster


def test_nested_output_one_block_per_minion(salted: Cluster) -> None:
    ran = salted.salt("*", "test.ping")
    blocks = sorted(re.findall(r"^\S+:\n    True\n", ran.stdout, re.MULTILINE))
    assert blocks == [f"{one}:\n    True\n" for one in IDS]
    assert (ran.exit_code, ran.stderr) == (0, "")


def test_static_is_sorted_and_one_document(salted: Cluster) -> None:
    ran = salted.salt("*", "test.ping", "--static", "--out=json")
    assert ran.stdout == '{\n    "db1": true,\n    "web1": true,\n    "web2": true\n}\n'


@pytest.mark.parametrize(
    ("out", "line"),
    [("txt", "web1: True"), ("yaml", "web1: true"), ("raw", "{'web1': True}"), ("quiet", "")],
)
def test_other_outputs(salted: Cluster, out: str, line: str) -> None:
    assert salted.salt("web1", "test.ping", f"--out={out}").stdout.strip() == line


def test_verbose_prints_the_jid_under_a_rule(salted: Cluster) -> None:
    first, rule, empty, *rest = salted.salt("web1", "test.ping", "-v").stdout.splitlines()
    assert re.fullmatch(r"Executing job with jid \d{20}", first)
    assert (rule, empty) == ("-" * len(first), "")
    assert rest[-2:] == ["web1:", "    True"]


def test_show_jid(salted: Cluster) -> None:
    assert re.match(r"jid: \d{20}\nweb1:\n", salted.salt("web1", "test.ping", "--show-jid").stdout)


def test_summary_counts(salted: Cluster) -> None:
    text = salted.salt("web*", "test.ping", "--summary").stdout
    assert "# of minions targeted: 2\n# of minions returned: 2\n" in text
    assert "# of minions that did not return: 0\n# of minions with errors: 0\n" in text


def test_async_prints_the_jid_and_the_store_has_the_return(salted: Cluster) -> None:
    ran = salted.salt("web1", "test.echo", "later", "--async")
    found = re.fullmatch(r"Executed command with job ID: (\d{20})\n", ran.stdout)
    assert found
    shown = eventually(lambda: salted.salt_run("jobs.lookup_jid", found[1], "--out=json").json)
    assert shown == {"web1": "later"}


def published_jobs(cluster: Cluster) -> set[str]:
    """The jobs on record, without the runners' own."""
    jobs = cluster.salt_run("jobs.list_jobs", "--out=json").json
    return {jid for jid, job in jobs.items() if not job["Function"].startswith("runner.")}


def test_preview_lists_and_sends_nothing(salted: Cluster) -> None:
    before = published_jobs(salted)
    shown = salted.salt("-N", "webs", "test.ping", "--preview-target").stdout
    assert yaml.safe_load(shown) == ["web1", "web2"]
    assert published_jobs(salted) == before


def test_nobody_matches(salted: Cluster) -> None:
    ran = salted.salt("nobody*", "test.ping")
    assert ran.stdout.startswith(
        "No minions matched the target. No command was sent, no jid was assigned.\n"
    )
    assert ran.stderr == "ERROR: No return received\n"
    assert ran.exit_code == 2


def test_unknown_ids_of_a_list_are_named(salted: Cluster) -> None:
    ran = salted.salt("-L", "web1,nobody", "test.ping", "-t", "1")
    assert "web1:\n    True\n" in ran.stdout
    assert "nobody:\n    Minion did not return." in ran.stdout
    assert ran.exit_code == 1


def test_stopped_minion_is_named_with_the_way_to_look_it_up(salted: Cluster) -> None:
    """All minions here have the master's own addresses, so it cannot tell who is connected."""
    salted.minions["db1"].stop()
    try:
        ran = salted.salt("*", "test.ping", "-t", "1")
        assert "db1:\n    Minion did not return. [No response]\n    The minions may" in ran.stdout
        assert re.search(r"\n    salt-run jobs.lookup_jid \d{20}\n", ran.stdout)
        assert ran.stderr == "ERROR: Minions returned with non-zero exit code\n"
        assert ran.exit_code == 1
    finally:
        salted.minions["db1"].start()
        salted.wait_for_ping("db1")


def test_a_minion_of_another_host_is_reported_as_not_connected(salted: Cluster) -> None:
    """The master maps connections to minions through the addresses in their cached grains."""
    need("ip")
    elsewhere = {"ipv4": ["192.0.2.77"], "ipv6": []}
    minion = salted.add_minion("far1", grains=elsewhere)
    try:
        minion.start()
        salted.wait_for_ping("far1")
        minion.stop()
        ran = salted.salt("*", "test.ping", "-t", "1")
        assert "far1:\n    Minion did not return. [Not connected]\n" in ran.stdout
        assert ran.exit_code == 1
    finally:
        minion.stop()
        salted.salt_key("-y", "-d", "far1")
        del salted.minions["far1"]


def test_bad_arguments_show_the_documentation(salted: Cluster) -> None:
    ran = salted.salt("web1", "test.echo")
    assert ran.stdout.startswith(
        "web1:\n    Passed invalid arguments to test.echo: "
        "echo() missing 1 required positional argument: 'text'\n"
    )
    assert ran.exit_code == 1


def test_unknown_keyword(salted: Cluster) -> None:
    assert salted.salt("web1", "test.ping", "a=1").stdout == (
        "web1:\n    ERROR executing 'test.ping': "
        "The following keyword arguments are not valid: a=1\n"
    )


def test_jobs_are_listed_with_who_what_and_when(salted: Cluster) -> None:
    jid = salted.salt("web1", "test.echo", "found", "--async").stdout.split()[-1]
    job = salted.salt_run("jobs.list_jobs", "--out=json").json[jid]
    assert (job["Function"], job["Arguments"]) == ("test.echo", ["found"])
    assert (job["Target"], job["Target-type"]) == ("web1", "glob")
    assert re.fullmatch(r"\d{4}, \w{3} \d\d \d\d:\d\d:\d\d\.\d{6}", job["StartTime"])


def test_active_jobs_show_what_runs(salted: Cluster) -> None:
    jid = salted.salt("web1", "test.sleep", "30", "--async").stdout.split()[-1]
    active = eventually(lambda: salted.salt_run("jobs.active", "--out=json").json)
    assert active[jid]["Function"] == "test.sleep"
    assert [*active[jid]["Running"][0]] == ["web1"]
    killed = salted.salt("web1", "saltutil.kill_job", jid, "--out=json", "--static").json["web1"]
    assert killed.startswith("Signal 9 sent to job")
    eventually(lambda: not salted.salt_run("jobs.active", "--out=json").json, what="job is gone")


def test_manage_up_and_down(salted: Cluster) -> None:
    status = salted.salt_run("manage.status", "--out=json").json
    assert sorted(status["up"]) == IDS
    assert status["down"] == []


def test_start_event_is_on_the_bus(salted: Cluster) -> None:
    listener = subprocess.Popen(
        [
            str(bin_dir("saltlite") / "salt-run"),
            *("-c", str(salted.master_dir), "state.event", "salt/minion/web2/start", "count=1"),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        # The listener does not say when it listens, so the minion starts until it was heard.
        def heard() -> bool:
            salted.minions["web2"].stop()
            salted.minions["web2"].start()
            salted.wait_for_ping("web2")
            return listener.poll() is not None

        eventually(heard)
        assert listener.stdout is not None
        assert listener.stdout.read().startswith("salt/minion/web2/start\t{")
    finally:
        listener.send_signal(signal.SIGKILL)
        listener.wait()


def test_batch_runs_a_few_at_a_time(salted: Cluster) -> None:
    ran = salted.salt("*", "test.ping", "-b", "1")
    assert len(re.findall(r"^Executing run on \['\w+'\]$", ran.stdout, re.MULTILINE)) == 3
    for one in IDS:
        assert f"{one}:\n    True\n" in ran.stdout
    assert ran.exit_code == 0


def test_documentation_is_printed_once(salted: Cluster) -> None:
    text = salted.salt("*", "-d", "test.ping").stdout
    assert text.count("test.ping:") == 1


def test_process_titles_say_who_is_who(salted: Cluster) -> None:
    titles = {" ".join(one.cmdline()).strip() for one in salted.master.processes()}
    for words in ("ReqServer", "Publisher", "EventPublisher", "Maintenance", "MWorker-0"):
        assert any(title.endswith(words) for title in titles), (words, titles)
