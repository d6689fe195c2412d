"""One daemon swapped at a time: every pairing of ours with real Salt does the daily work.

The commands are always those of the master's side, as in a real installation.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator

import pytest

from cluster import OURS, SALT_3006, SALT_3007, SALT_3008, Cluster, bin_dir, eventually

PAIRS = [
    pytest.param((OURS, SALT_3006), id="our-master-3006-minion"),
    pytest.param((OURS, SALT_3007), id="our-master-3007-minion"),
    pytest.param((OURS, SALT_3008), id="our-master-3008-minion"),
    pytest.param((SALT_3006, OURS), id="3006-master-our-minion"),
    pytest.param((SALT_3007, OURS), id="3007-master-our-minion"),
    pytest.param((SALT_3008, OURS), id="3008-master-our-minion"),
]
NODEGROUPS = {"pair": "L@web1 or nobody*", "outer": "N@pair and G@kernel:Linux"}


@pytest.fixture(scope="module", params=PAIRS)
def pair(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    master, minion = request.param
    cluster = Cluster(
        master=master,
        minions={"web1": minion},
        master_options={"nodegroups": NODEGROUPS, "timeout": 5},
        minion_options={"grains": {"roles": ["web", "db"], "deep": {"a": {"b": "c:d"}}}},
        auto_accept=False,
    )
    with cluster:
        cluster.start_master()
        cluster.minions["web1"].start()
        cluster.wait_for_pending("web1")
        accepted = cluster.salt_key("-y", "-a", "web1")
        assert "Key for minion web1 accepted." in accepted.stdout
        cluster.wait_for_ping("web1")
        yield cluster


def test_ping_prints_what_salt_prints(pair: Cluster) -> None:
    ran = pair.salt("*", "test.ping")
    assert (ran.exit_code, ran.stdout) == (0, "web1:\n    True\n"), ran.stderr


def test_a_minion_of_salt_is_traced_and_pays_no_heed_to_stream(pair: Cluster) -> None:
    """It returns no times of its own, and knows neither ``tell_output`` nor its events."""
    if not pair.master.command[0].startswith(str(bin_dir(OURS))):
        pytest.skip("jobs.trace and --stream are commands of our master")
    ran = pair.salt("web1", "cmd.run", "echo word", "--stream", "--show-jid")
    assert (ran.exit_code, ran.stderr) == (0, "")
    jid = ran.stdout.split()[1]
    assert ran.stdout == f"jid: {jid}\nweb1:\n    word\n"
    traced = pair.salt_run("jobs.trace", jid, "--out=json").json
    assert (traced["minion"], traced["function"]) == ("web1", "cmd.run")
    assert traced["steps"]


def test_arguments_arrive_with_their_types(pair: Cluster) -> None:
    ran = pair.salt(
        "web1", "test.arg_clean", "1", "0755", "two words", "[1, {a: b}]", "k=v", "n=1.5", "t=True",
        "--out=json", "--static",
    )  # fmt: skip
    assert ran.json == {
        "web1": {
            "args": [1, 755, "two words", [1, {"a": "b"}]],
            "kwargs": {"k": "v", "n": 1.5, "t": True},
        }
    }


def test_pub_arguments_reach_functions_with_kwargs(pair: Cluster) -> None:
    got = pair.salt("web1", "test.kwarg", "a=2", "--out=json", "--static").json["web1"]
    assert got["a"] == 2
    assert got["__pub_fun"] == "test.kwarg"
    assert got["__pub_tgt"] in ("web1", ["web1"])  # 3008 minions make a list of it
    assert re.fullmatch(r"\d{20}", got["__pub_jid"])


def test_binary_and_unicode_text_survive(pair: Cluster) -> None:
    text = "grüße ☃ " + "x" * 300
    assert pair.salt("web1", "test.echo", text, "--out=json", "--static").json == {"web1": text}


def test_compound_function(pair: Cluster) -> None:
    ran = pair.salt(
        "web1", "test.ping,test.echo,test.arg_clean", ",", "hello", ",", "1", "a=b",
        "--out=json", "--static",
    )  # fmt: skip
    assert ran.json == {
        "web1": {
            "test.ping": True,
            "test.echo": "hello",
            "test.arg_clean": {"args": [1], "kwargs": {"a": "b"}},
        }
    }


@pytest.mark.parametrize(
    ("flag", "expression"),
    [
        ("", "w*[0-9]"),
        ("-E", "web\\d"),
        ("-L", "web1,nobody"),
        ("-G", "kernel:Linux"),
        ("-G", "roles:db"),
        ("-G", "deep:a:b:c:d"),
        ("-P", "kernel:lin.x"),
        ("-S", "127.0.0.1"),
        ("-S", "127.0.0.0/8"),
        ("-C", "G@roles:web and not E@db\\d"),
        ("-C", "( web* or nobody ) and P@kernel:Lin.*"),
        ("-N", "outer"),
    ],
)
def test_every_kind_of_target_reaches_the_minion(pair: Cluster, flag: str, expression: str) -> None:
    ran = pair.salt(*([flag] if flag else []), expression, "test.ping", "--out=json", "-t", "3")
    assert ran.json["web1"] is True, ran


@pytest.mark.parametrize(
    ("flag", "expression"),
    [("", "db*"), ("-G", "kernel:Windows"), ("-C", "web1 and not G@roles:web")],
)
def test_a_target_that_matches_nobody(pair: Cluster, flag: str, expression: str) -> None:
    ran = pair.salt(*([flag] if flag else []), expression, "test.ping", "-t", "2")
    assert "No minions matched the target" in ran.stdout
    assert ran.exit_code == 2


def test_grains(pair: Cluster) -> None:
    got = pair.salt(
        "web1", "grains.item", "os", "kernel", "id", "deep", "--out=json", "--static"
    ).json["web1"]
    assert got["os"] == "Debian"
    assert got["kernel"] == "Linux"
    assert got["id"] == "web1"
    assert got["deep"] == {"a": {"b": "c:d"}}


def test_command_with_its_return_code(pair: Cluster) -> None:
    command = "echo out; echo err >&2; exit 3"
    ran = pair.salt("web1", "cmd.run_all", command, "python_shell=True", "--out=json")
    got = ran.json["web1"]
    assert (got["stdout"], got["stderr"], got["retcode"]) == ("out", "err", 3)
    assert ran.exit_code == 1
    assert ran.stderr.endswith("ERROR: Minions returned with non-zero exit code\n")


def test_unknown_function(pair: Cluster) -> None:
    ran = pair.salt("web1", "nosuch.function")
    assert ran.stdout == "web1:\n    'nosuch.function' is not available.\n"
    assert ran.exit_code == 1


def test_exception_becomes_the_return(pair: Cluster) -> None:
    ran = pair.salt("web1", "test.exception", "message=over here")
    assert "The minion function caused an exception: Traceback (most recent call last):" in (
        ran.stdout
    )
    assert "over here" in ran.stdout
    assert ran.exit_code == 1


def test_event_from_the_minion_reaches_the_master(pair: Cluster) -> None:
    listener = subprocess.Popen(
        [
            str(bin_dir(pair.master_kind) / "salt-run"),
            *("-c", str(pair.master_dir), "state.event", "interop/*", "count=1"),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        # The listener does not say when it listens, so the event is sent until it was heard.
        def heard() -> bool:
            pair.salt("web1", "event.send", "interop/tag", "{colour: green}")
            return listener.poll() is not None

        eventually(heard, what="event heard")
        assert listener.stdout is not None
        line = listener.stdout.read()
    finally:
        listener.kill()
        listener.wait()
    assert line.startswith("interop/tag\t")
    assert '"colour": "green"' in line
    assert '"id": "web1"' in line


def test_find_job_knows_a_running_job(pair: Cluster) -> None:
    jid = pair.salt("web1", "test.sleep", "8", "--async").stdout.split()[-1]
    found = eventually(
        lambda: pair.salt("web1", "saltutil.find_job", jid, "--out=json", "--static").json["web1"],
        within_s=8,
    )
    assert found["fun"] == "test.sleep"
    assert found["jid"] == jid


def test_a_job_longer_than_the_timeout_is_waited_for(pair: Cluster) -> None:
    ran = pair.salt("web1", "test.sleep", "5", "-t", "2", "--out=json")
    assert ran.json == {"web1": True}
    assert ran.exit_code == 0


def test_lookup_jid_shows_the_return_later(pair: Cluster) -> None:
    jid = pair.salt("web1", "test.echo", "kept", "--async").stdout.split()[-1]
    shown = eventually(
        lambda: pair.salt_run("jobs.lookup_jid", jid, "--out=json").json, within_s=20
    )
    assert shown == {"web1": "kept"}


def test_salt_call_on_the_minion(pair: Cluster) -> None:
    ran = pair.salt_call("web1", "test.echo", "from below", "--out=json")
    assert ran.json == {"local": "from below"}, ran.stderr


def test_publication_key_rotates(pair: Cluster) -> None:
    """Deleting any key rotates the publication key; everyone else goes on."""
    key = (pair.pki_dir / "minions" / "web1").read_bytes()
    (pair.pki_dir / "minions" / "ghost").write_bytes(key)
    deleted = pair.salt_key("-y", "-d", "ghost")
    assert "Key for minion ghost deleted." in deleted.stdout
    eventually(
        lambda: '"web1": true' in pair.salt("web1", "test.ping", "--out=json", "-t", "3").stdout,
        what="ping after rotation",
    )


def test_master_restarts(pair: Cluster) -> None:
    assert pair.master.stop() in (0, -15)
    pair.start_master()
    pair.wait_for_ping("web1")


def test_key_deleted_while_connected(pair: Cluster) -> None:
    """Last in this module: the minion is forgotten, asks again and is let in again."""
    pair.salt_key("-y", "-d", "web1")
    assert not (pair.pki_dir / "minions" / "web1").exists()
    refused = pair.salt_call("web1", "test.ping", "-t", "5")
    assert "True" not in refused.stdout
    pair.wait_for_pending("web1")
    pair.salt_key("-y", "-a", "web1")
    pair.wait_for_ping("web1")
