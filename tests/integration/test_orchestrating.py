"""``salt-run state.orchestrate`` with daemons: what is printed, exit codes, states at once."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from cluster import Cluster, eventually

SLS = {
    "ok": "changed:\n  test.succeed_with_changes\n",
    "rollout": """
both:
  salt.state:
    - tgt: '*'
    - sls: ok
    - subset: 1
ping:
  salt.function:
    - name: test.ping
    - tgt: m1
    - require: [{salt: both}]
""",
    "apart": """
{% for minion in ('m1', 'm2') %}
{{ minion }}:
  salt.state:
    - tgt: {{ minion }}
    - sls: ok
    - parallel: True
{% endfor %}
nobody:
  salt.function:
    - name: test.ping
    - tgt: 'zz*'
    - require: [{salt: m1}, {salt: m2}]
""",
}


@pytest.fixture(scope="module")
def master() -> Iterator[Cluster]:
    cluster = Cluster(minions=2, master_options={"worker_threads": 2, "timeout": 3})
    roots = cluster.root / "master" / "srv"
    roots.mkdir(parents=True)
    for name, text in SLS.items():
        (roots / f"{name}.sls").write_text(text)
    with cluster:
        cluster.start()
        yield cluster


def test_the_states_of_minions_are_shown_in_those_of_the_master(master: Cluster) -> None:
    ran = master.salt_run("state.orchestrate", "rollout")
    assert ran.exit_code == 0
    shown = re.sub(r"(m[12]|\d\d:\d\d:\d\d\.\d{6}|[\d.]+ m?s)", "…", ran.stdout)
    assert (
        "     Comment: States ran successfully. Updating ….\n"
        "     Started: …\n"
        "    Duration: …\n"
        "     Changes:   \n"
        "              …:\n"
        "              ----------\n"
        "                        ID: changed\n"
        "                  Function: test.succeed_with_changes\n"
    ) in shown
    assert "\nSucceeded: 2 (changed=2)\n" in shown


def test_states_at_once_and_one_that_fails(master: Cluster) -> None:
    ran = master.salt_run("state.orchestrate", "apart", "--out=json")
    (states,) = ran.json["data"].values()
    results = {one["__id__"]: (one["result"], one["comment"]) for one in states.values()}
    assert results == {
        "m1": (True, "States ran successfully. Updating m1."),
        "m2": (True, "States ran successfully. Updating m2."),
        "nobody": (False, "No minions responded"),
    }
    assert (ran.exit_code, ran.json["outputter"]) == (1, "highstate")


def test_one_in_the_background_is_on_record(master: Cluster) -> None:
    started = master.salt_run("state.orchestrate", "rollout", "--async")
    jid = re.findall(r"salt/run/(\d+)", started.stderr)[0]
    eventually(
        lambda: "States ran successfully." in master.salt_run("jobs.lookup_jid", jid).stdout,
        what="the orchestration is on record",
    )


def test_what_does_not_compile_is_said_and_the_exit_code(master: Cluster) -> None:
    ran = master.salt_run("state.orchestrate", "nosuch")
    assert ran.exit_code == 1
    assert "No matching sls found for 'nosuch' in env 'base'" in ran.stdout
