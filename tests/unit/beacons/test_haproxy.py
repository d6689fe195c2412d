"""``haproxy`` with a socket that answers."""

from __future__ import annotations

import socket
import threading

import pytest

from saltlite.beacons import haproxy
from saltlite.config.minion import MinionConfig, PathOptions
from saltlite.context import BeaconContext, MinionContext
from saltlite.errors import FunctionError
from saltlite.host import Host
from saltlite.loader.registry import with_functions
from saltlite.providers.watch.haproxy import parse_sessions


class Clock:
    def __init__(self):
        self.now_s = 0.0

    def __call__(self):
        return self.now_s


def context(host, clock=None):
    minion = MinionContext(config=MinionConfig(), host=host, grains={}, pillar={})
    return BeaconContext(with_functions(minion), "name", clock or Clock())


STATISTICS = """# pxname,svname,qcur,qmax,scur,smax,slim
www,FRONTEND,,,3,9,2000
www,web1,0,0,46,50,
www,web2,0,0,,50,
www2,web1,0,0,1,50,
www,BACKEND,0,0,46,50,200

"""


@pytest.fixture
def haproxy_socket(tmp_path):
    """Answers one connection after another with the statistics."""
    path, asked = str(tmp_path / "h"), []
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as one:
        one.bind(path)
        one.listen()

        def serve():
            for _ in range(2):
                peer, _address = one.accept()
                with peer:
                    asked.append(peer.recv(100))
                    peer.sendall(STATISTICS.encode())

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield path, asked


def test_sessions_are_read_from_the_socket(haproxy_socket):
    path, asked = haproxy_socket
    config = {
        "backends": {
            "www": {"threshold": 45, "servers": ["web1", "web2", "nosuch", "FRONTEND"]},
            "www2": {"threshold": "0", "servers": ["web1"]},
        },
        "socket": path,
    }
    events = [
        {"server": "web1", "scur": "46", "threshold": 45},
        {"server": "web1", "scur": "1", "threshold": "0"},
    ]
    assert haproxy.beacon(context(Host()), config) == events
    assert haproxy.beacon(context(Host()), config) == events
    assert asked == [b"show stat\n"] * 2


@pytest.mark.parametrize("text", ["", "nonsense", "# a,b\n1,2\n", "# pxname\nx,y,z\n"])
def test_an_answer_that_is_none_has_no_sessions(text):
    assert parse_sessions(text) == {}


def test_without_a_socket_it_says_so(tmp_path):
    config = {"backends": {"www": {"threshold": 45, "servers": ["web1"]}}}
    with pytest.raises(FunctionError, match="haproxy"):
        haproxy.beacon(context(Host()), {**config, "socket": str(tmp_path / "none")})


def test_a_users_own_function_is_asked(tmp_path):
    (tmp_path / "modules").mkdir()
    code = "def get_sessions(server, backend): return '7'\n"
    (tmp_path / "modules/haproxy.py").write_text(code)
    config = MinionConfig(paths=PathOptions(extension_modules=str(tmp_path)))
    minion = MinionContext(config=config, host=Host(), grains={}, pillar={})
    ctx = BeaconContext(with_functions(minion), "name", Clock())
    given = {"backends": {"www": {"threshold": 6, "servers": ["web1"]}}}
    assert haproxy.beacon(ctx, given) == [{"server": "web1", "scur": "7", "threshold": 6}]
