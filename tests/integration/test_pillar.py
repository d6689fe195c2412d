"""Pillar from the master's files to its minions, to each its own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from attacks import Stranger
from cluster import Cluster, eventually, running
from rogue import Rogue, Sealed
from saltlite.transport.codec import unpack

TOP = """
base:
  '*':
    - common
  'm1':
    - one
  'role:db':
    - match: grain
    - two
"""
HELD = """
case %s in slow) echo >> {dir}/begun; while [ -e {dir}/hold ]; do sleep 0.02; done;; esac
echo 'held: false'
"""
FILES = {
    "top.sls": TOP,
    "common.sls": "who: {{ grains.id }}\nnested: {a: {b: [1, ä]}}\n",
    "one.sls": "secret: only for one\n",
    "two.sls": "role: {{ salt['grains.get']('role') }}\n",
}


@pytest.fixture(scope="module")
def roots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("pillar")
    for name, text in FILES.items():
        (root / name).write_text(text)
    return root


@pytest.fixture(scope="module")
def cluster(roots: Path) -> Iterator[Cluster]:
    options = {
        "pillar_roots": {"base": [str(roots)]},
        "worker_threads": 3,
        "ext_pillar": [{"cmd_yaml": HELD.replace("{dir}", str(roots))}],
    }
    with running(
        minions=2, master_options=options, minion_options={"grains": {"role": "db"}}
    ) as up:
        yield up


def test_each_has_its_own(cluster: Cluster) -> None:
    ran = cluster.salt("*", "pillar.items", "--out=json", "--static")
    common = {"nested": {"a": {"b": [1, "ä"]}}, "role": "db", "held": False}
    assert ran.json == {
        "m1": {"who": "m1", "secret": "only for one", **common},
        "m2": {"who": "m2", **common},
    }


def test_targets_look_at_it(cluster: Cluster) -> None:
    ran = cluster.salt("-I", "secret:only*", "test.ping", "--out=json", "--static")
    assert ran.json == {"m1": True}
    ran = cluster.salt("-C", "J@role:d. and not I@secret:*", "test.ping", "--out=json", "--static")
    assert ran.json == {"m2": True}


def test_what_is_in_memory_changes_with_a_refresh(cluster: Cluster, roots: Path) -> None:
    (roots / "one.sls").write_text("secret: another\n")
    compiled = cluster.salt("m1", "pillar.items", "--out=json", "--static").json
    assert compiled["m1"]["secret"] == "another"
    kept = cluster.salt("m1", "pillar.get", "secret", "--out=json", "--static").json
    assert kept == {"m1": "only for one"}
    cluster.salt("m1", "saltutil.refresh_pillar", "wait=True")
    eventually(
        lambda: (
            cluster.salt("m1", "pillar.get", "secret", "--out=json", "--static").json
            == {"m1": "another"}
        ),
        within_s=15,
        what="the new pillar in memory",
    )


def test_a_broken_file_is_an_error_and_no_detail(cluster: Cluster, roots: Path) -> None:
    (roots / "two.sls").write_text("pass: hunter2\nx: {{ nosuch.thing }}\n")
    try:
        pillar = cluster.salt("m2", "pillar.items", "--out=json", "--static").json["m2"]
    finally:
        (roots / "two.sls").write_text(FILES["two.sls"])
    assert pillar["who"] == "m2"
    assert pillar["_errors"] == [
        "Rendering SLS 'two' failed. Please see master log for details. (two.sls:2)"
    ]
    assert "hunter2" not in cluster.logs()


def test_who_applies_states_is_told_the_line_of_a_broken_file(
    cluster: Cluster, roots: Path
) -> None:
    (roots / "two.sls").write_text("pass: hunter2\nx: {{ nosuch.thing }}\n")
    try:
        ran = cluster.salt("m2", "state.apply", "any")
    finally:
        (roots / "two.sls").write_text(FILES["two.sls"])
    assert "(two.sls:2)" in ran.stdout
    assert "hunter2" not in ran.stdout
    assert ran.exit_code == 1


def test_who_set_a_key(cluster: Cluster, roots: Path) -> None:
    ran = cluster.salt_run("pillar.why", "nested:a", "minion=m1", "--out=json")
    assert ran.json["set_by"] == f"{roots}/common.sls:2 (common)"
    ran = cluster.salt_run("pillar.why", "nestd:a", "minion=m1")
    assert ran.exit_code == 1
    assert "did you mean 'nested:a'?" in ran.stdout


def test_keys_that_no_state_reads(cluster: Cluster, roots: Path) -> None:
    web = cluster.root / "master" / "srv" / "web.sls"
    web.parent.mkdir(exist_ok=True)
    web.write_text("{{ pillar.nested.a }}{{ pillar.who }}{{ pillar.held }}\n{{ pillar.roles }}\n")
    ran = cluster.salt_run("check.pillar", "--out=json")
    web.unlink()
    assert ran.exit_code == 0
    assert ran.json["warnings"][1:] == [
        f"misspelt: role ({roots}/two.sls:1) is read nowhere; {web}:2 reads roles",
        f"unused: secret ({roots}/one.sls:1)",
    ]
    assert "only for one" not in ran.stdout


def test_pillar_of_the_command_line_lies_on_top(cluster: Cluster) -> None:
    ran = cluster.salt("m2", "pillar.items", "pillar={nested: {a: {c: 1}}}", "--out=json")
    assert ran.json["m2"]["nested"] == {"a": {"b": [1, "ä"], "c": 1}}


def test_salt_call_asks_for_it_too(cluster: Cluster) -> None:
    ran = cluster.salt_call("m2", "pillar.get", "who", "--out=json")
    assert ran.json == {"local": "m2"}


def test_files_that_go_away(cluster: Cluster, roots: Path) -> None:
    shutil.move(roots / "common.sls", roots / "elsewhere")
    try:
        pillar = cluster.salt("m2", "pillar.items", "--out=json", "--static").json["m2"]
    finally:
        shutil.move(roots / "elsewhere", roots / "common.sls")
    assert pillar["_errors"] == [
        "Specified SLS 'common' in environment 'base' is not available on the salt master"
        " (top.sls:4)"
    ]


SLOW = 10


def test_slow_pillars_hold_up_nothing_else(cluster: Cluster, roots: Path) -> None:
    """All workers but one are at pillars, more wait; everybody else is answered as ever."""
    (roots / "hold").touch()
    stranger = Stranger(cluster.ret_port)
    slow = Rogue(cluster, stranger, "slow").accept()
    slow.authenticate()
    frames = [slow.make({"cmd": "_pillar", "grains": {}}).frame for _ in range(SLOW)]
    with ThreadPoolExecutor(1) as pool:
        replies = pool.submit(stranger.exchange, frames, within_s=60)
        try:
            begun = roots / "begun"
            eventually(lambda: begun.exists() and len(begun.read_bytes()) == 2, within_s=20)
            ran = cluster.salt("m*", "test.ping", "--out=json", "--static")
            assert ran.json == {"m1": True, "m2": True}
            other = Rogue(cluster, Stranger(cluster.ret_port), "other").accept()
            other.authenticate()
            assert other.send({"cmd": "_file_envs"}) == Sealed(["base"])
            other.stranger.close()
            assert len(begun.read_bytes()) == 2
        finally:
            (roots / "hold").unlink()
        assert ["pillar" in unpack(reply) for reply in replies.result()] == [True] * SLOW
    stranger.close()
    assert len(begun.read_bytes()) == SLOW
    assert "Traceback" not in cluster.master.log()


def test_a_file_of_options_on_the_minion_holds_for_one_run(cluster: Cluster) -> None:
    over = cluster.minion_dir("m1") / "over"
    over.write_text("{rack: r7, grains: {role: web}}")
    shown = "{{ opts['rack'] }} {{ grains['id'] }} {{ grains['role'] }} {{ pillar.get('role') }}"
    states = f"x: {{test.show_notification: [{{text: {shown}}}]}}"

    def said(*more: str) -> Any:
        ran = cluster.salt("m1", "state.template_str", states, *more, "--out=json")
        return ran.exit_code, ran.json["m1"]

    code, answers = said(f"localconfig={over}")
    assert (code, [each["comment"] for each in answers.values()]) == (0, ["r7 m1 web None"])
    code, told = said(f"localconfig={over}-not")
    assert (code, told) == (1, f"ERROR: {over}-not: is not used: No such file or directory")
    assert cluster.salt("m1", "pillar.get", "role", "--out=json").json == {"m1": "db"}
    assert cluster.salt("m1", "config.get", "rack", "--out=json").json == {"m1": ""}
