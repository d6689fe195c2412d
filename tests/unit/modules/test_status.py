"""``status`` of this machine, and of hosts that answer from text."""

from __future__ import annotations

import pytest
from recorded_host import Recorded, caller

from saltlite.config.minion import MinionConfig, NetworkOptions
from saltlite.context import MinionContext
from saltlite.host import Host
from saltlite.loader.registry import Registry
from saltlite.modules import status


def test_processes_where_ps_knows_little():
    import os

    known = caller(Host())("status.procs")
    assert {"user", "cmd"} == set(known[str(os.getpid())])

    class Busybox(Host):
        def which(self, name):
            return None if name == "ps" else super().which(name)

    call = caller(Busybox())
    found = call("status.procs")
    assert found[str(os.getpid())] == known[str(os.getpid())]
    assert call("status.pid", "no such process anywhere [x]y") == ""
    assert "1" in call("status.pid", r"\b1 ").splitlines()


def test_connected_to_the_master():
    fired = []

    class Bus:
        def fire(self, tag, data):
            fired.append((tag, data))

    tcp = "head\n 0: 0100007F:D903 0100007F:{port:04X} 01 0:0 0:0 0 0 0 77\n"
    for port, connected in ((4505, True), (4506, False)):
        host = Recorded(files={"/proc/net/tcp": tcp.format(port=port), "/proc/net/tcp6": "head\n"})
        config = MinionConfig(network=NetworkOptions(master="127.0.0.1:4506"))
        ctx = MinionContext(config=config, host=host, grains={}, pillar={}, events=Bus())
        ctx.functions, ctx.master = Registry(ctx), object()
        assert ctx.functions.call("status.master") is connected
        assert ctx.functions.call("status.master", "nosuch.invalid") is None
    assert fired == [("__master_disconnected", {"master": "127.0.0.1:4506"})]


@pytest.mark.parametrize(
    ("master", "host"),
    [
        ("salt", "salt"),
        ("salt:4506", "salt"),
        ("10.0.0.1:1", "10.0.0.1"),
        ("[::1]:4506", "::1"),
        ("::1", "::1"),
        ("[::1]", "::1"),
    ],
)
def test_a_masters_name_without_its_port(master, host):
    assert status._host_of(master) == host


def test_custom_status(monkeypatch):
    config = MinionConfig(extra={"status.meminfo.custom": ["MemTotal"], "status.x": 1})
    ctx = MinionContext(config=config, host=Host(), grains={}, pillar={})
    ctx.functions = Registry(ctx)
    assert set(ctx.functions.call("status.custom")) == {"MemTotal"}
