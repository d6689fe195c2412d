"""``network.*`` runners: what is sent on the wire, and what they answer."""

import socket

import pytest

from saltlite.cli import salt_run
from saltlite.master.minioncache import GRAINS, MinionCache

MAC = "00:11:22:33:44:55"


@pytest.fixture
def listener():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as found:
        found.bind(("127.0.0.1", 0))
        found.settimeout(5)
        yield found


@pytest.fixture
def run(tmp_path, capsys, listener):
    (tmp_path / "master").write_text(f"root_dir: {tmp_path}\nlog_file: {tmp_path}/log\n")

    def call(*words):
        where = ["bcast=127.0.0.1", f"destport={listener.getsockname()[1]}"]
        code = salt_run.main(["-c", str(tmp_path), "--out=json", "--out-indent=-1", *words, *where])
        return code, capsys.readouterr().out

    return call


def woken(listener):
    packet = listener.recv(200)
    assert packet[:6] == b"\xff" * 6
    assert packet[6:] == packet[6:12] * 16
    return packet[6:12].hex(":")


def test_one_machine(run, listener):
    assert run("network.wol", "00-11-22-33-44-55") == (0, "true\n")
    assert woken(listener) == MAC


def test_those_in_a_file(run, listener, tmp_path):
    path = tmp_path / "list"
    path.write_text(f"{MAC}\n00-11-22-33-44-66\n")
    code, out = run("network.wollist", str(path))
    assert (code, out.splitlines()[-1]) == (0, f'["{MAC}", "00-11-22-33-44-66"]')
    assert [woken(listener), woken(listener)] == [MAC, "00:11:22:33:44:66"]
    assert run("network.wollist", "/no/such/file")[1].splitlines()[-1] == "[]"


def test_minions_by_their_grains(run, listener, tmp_path):
    accepted = tmp_path / "etc/salt/pki/master/minions"
    accepted.mkdir(parents=True)
    (accepted / "web1").write_text("key")
    grains = {"hwaddr_interfaces": {"lo": "00:00:00:00:00:00", "eth0": MAC}}
    MinionCache(tmp_path / "var/cache/salt/master").write(GRAINS, "web1", grains)
    code, out = run("network.wolmatch", "web*")
    assert (code, out.splitlines()[-1]) == (0, f'["{MAC}"]')
    assert woken(listener) == MAC
