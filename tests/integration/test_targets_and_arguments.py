"""Targets and arguments that running daemons get from the command line: who is meant, who is waited
for, and what is said of what is malformed.

Source: docs/cli.md, docs/differences.md#commands.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

import pytest

from cluster import Cluster
from saltlite.crypto.keys import PrivateKey
from saltlite.transport.addresses import MasterSockets
from saltlite.transport.bus import EventSubscriber

WAITS_S = 20
GROUPS = {
    "ids": ["web1", "db1"],
    "nested": ["N@ids"],
    "compound": "N@ids and not db1",
    "absent": ["web1", "zz"],
}


@pytest.fixture(scope="module")
def fleet() -> Iterator[Cluster]:
    """Two minions that answer, and one that is accepted and has never been there."""
    options = {"nodegroups": GROUPS, "timeout": WAITS_S, "svnfs_trunk": "x"}
    minions = {"web1": "saltlite", "db1": "saltlite"}
    with Cluster(minions=minions, master_options=options) as one:
        one.start()
        (one.pki_dir / "minions" / "ghost").write_text(PrivateKey.generate(2048).public.pem)
        yield one


@pytest.mark.parametrize(
    ("words", "returned"),
    [
        (["cmd.run,test.ping,test.echo", "echo hi,,foo"],
         {"cmd.run": "hi", "test.ping": True, "test.echo": "foo"}),
        (["cmd.run,test.ping,test.echo", "echo hi", ",", ",", "foo"],
         {"cmd.run": "hi", "test.ping": True, "test.echo": "foo"}),
        (["test.echo,test.arg_clean", "a,b"],
         {"test.echo": "a", "test.arg_clean": {"args": ["b"], "kwargs": {}}}),
    ],
)  # fmt: skip
def test_commas_separate_the_arguments_of_functions(
    fleet: Cluster, words: list[str], returned: Any
) -> None:
    assert fleet.salt("web1", *words, "--out=json").json == {"web1": returned}


@pytest.mark.parametrize(
    ("words", "minions"),
    [
        (["-N", "ids"], {"web1", "db1"}),
        (["-N", "nested"], {"web1", "db1"}),
        (["-N", "compound"], {"web1"}),
        (["-C", "N@nested and not web1"], {"db1"}),
        (["-C", "N@ids and ( N@compound or G@x:y )"], {"web1"}),
    ],
)
def test_groups_of_ids(fleet: Cluster, words: list[str], minions: set[str]) -> None:
    ran = fleet.salt(*words, "test.ping", "--out=json")
    assert ran.json == dict.fromkeys(minions, True)


@pytest.mark.parametrize("words", [["-N", "nope"], ["-C", "web1 or N@nope"]])
def test_an_unknown_group_is_named(fleet: Cluster, words: list[str]) -> None:
    ran = fleet.salt(*words, "test.ping")
    assert "Node group nope unavailable" in ran.stdout
    assert "True" not in ran.stdout


@pytest.mark.parametrize(
    ("words", "minions"),
    [
        (["-L", "web1,zz"], {"web1"}),
        (["-N", "absent"], {"web1"}),
        (["-G", "id:web1"], {"web1"}),
        (["-P", "id:web."], {"web1"}),
        (["-C", "web1 or G@x:y"], {"web1"}),
        (["-G", "x:y"], set()),
        (["-P", "x:y.*"], set()),
        (["-I", "x:y"], set()),
    ],
)
def test_nobody_is_waited_for_who_cannot_return(
    fleet: Cluster, words: list[str], minions: set[str]
) -> None:
    """Neither ids without a key nor an accepted minion of which nothing is known."""
    begun_s = time.monotonic()
    ran = fleet.salt(*words, "test.ping")
    assert time.monotonic() - begun_s < WAITS_S / 2
    assert {row for row in ("web1", "db1") if f"{row}:\n    True" in ran.stdout} == minions
    assert "ghost" not in ran.stdout


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["-C", "a and and b"], "the compound target has 'and' after 'and'"),
        (["-E", "["], "not a regular expression: '['"),
        (["-S", "300.1.1.1"], "not an address or network: '300.1.1.1'"),
        (["-C", "X@a"], "X@ is no kind of target, so 'X@a' is taken for an id"),
    ],
)
def test_what_is_wrong_with_a_target_is_said(fleet: Cluster, words: list[str], reason: str) -> None:
    ran = fleet.salt(*words, "test.ping")
    assert ran.stdout.startswith("No minions matched the target. ")
    assert ran.stderr.startswith(f"ERROR: {reason}")
    assert ran.exit_code == 2


@pytest.mark.parametrize("tag", ["salt/evil", "salt/job/20240101000000000000/ret/db1"])
def test_the_sender_of_an_event_that_is_refused_is_told(fleet: Cluster, tag: str) -> None:
    ran = fleet.salt_call("web1", "event.fire_master", "{}", tag, "--out=json")
    assert ran.json == {"local": False}
    assert f"The master refuses the event '{tag}'" in ran.stderr
    assert fleet.salt("web1", "event.send", tag, "--out=json").json == {"web1": False}
    assert fleet.salt_call("web1", "event.send", "myco/fine", "--out=json").json == {"local": True}


def test_a_new_job_is_told_under_its_bare_id_too(fleet: Cluster) -> None:
    """As 3006 and 3007 do, for listeners that wait for it."""
    with EventSubscriber(MasterSockets(fleet.sock_dir).event_pub, ("",)) as bus:
        assert bus.connect_confirmed(5)
        ran = fleet.salt("web1", "test.ping", "--async", "--out=json")
        jid = re.findall(r"\d{20}", ran.stdout)[0]
        heard = {}
        while f"salt/job/{jid}/ret/web1" not in heard:
            event = bus.get(10)
            assert event is not None, sorted(heard)
            heard[event.tag] = event.data
    assert heard[jid]["minions"] == ["web1"]
    assert heard[f"salt/job/{jid}/new"]["minions"] == ["web1"]


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["-T", "*", "test.ping"], 64, "--make-token: say by --eauth which module"),
        (["-a", "pam", "--username=nobody", "--password=x", "*", "test.ping"], 2,
         "Authentication error occurred."),
    ],
)  # fmt: skip
def test_a_login_that_cannot_be_is_a_sentence(
    fleet: Cluster, words: list[str], code: int, sentence: str
) -> None:
    ran = fleet.salt(*words)
    assert ran.exit_code == code
    assert sentence in ran.stdout + ran.stderr
    assert "True" not in ran.stdout


def test_what_is_not_obeyed_is_named_at_the_start(fleet: Cluster) -> None:
    path = fleet.master_dir / "master"
    number = next(n for n, row in enumerate(path.read_text().splitlines(), 1) if "svnfs" in row)
    (line,) = [row for row in fleet.master.log().splitlines() if "without effect" in row]
    assert re.search(rf"svnfs_trunk \({re.escape(str(path))}:{number}\)", line)
