"""Which minions are connected."""

from __future__ import annotations

import socket
from pathlib import Path

from saltlite.master.minioncache import GRAINS, MinionCache
from saltlite.master.presence import LocalPresence, list_peers


def test_presence_is_who_has_a_connected_address(tmp_path: Path) -> None:
    cache = MinionCache(tmp_path)
    cache.write(GRAINS, "here", {"ipv4": ["127.0.0.1", "10.9.8.7"]})
    cache.write(GRAINS, "away", {"ipv4": ["10.9.8.6"], "ipv6": ["fe80::1"]})
    ids = ["here", "away", "unknown"]
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        presence = LocalPresence(port, cache)
        assert presence.find_connected(ids) == {}
        with socket.create_connection(("127.0.0.1", port)):
            assert list_peers(port) == {"127.0.0.1", "::1"}
            assert presence.find_connected(ids) == {"here": "127.0.0.1"}
