"""Whose the bus of a master is, and when another one has taken its place."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
import zmq

from saltlite.api.saltbus import BusPlace
from saltlite.transport.addresses import ipc


@pytest.fixture
def path(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    yield tmp_path_factory.mktemp("bus") / "pub.ipc"


def listen(path: Path) -> socket.socket:
    """A Unix socket that takes connections, in the place of the one that was there."""
    path.unlink(missing_ok=True)
    one = socket.socket(socket.AF_UNIX)
    one.bind(str(path))
    one.listen()
    return one


def test_who_says_nothing_is_a_real_salt(path: Path) -> None:
    with listen(path):
        assert BusPlace(path).find_whose()


def test_who_greets_is_ours(path: Path) -> None:
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    with context.socket(zmq.PUB) as publisher:
        publisher.bind(ipc(path))
        assert not BusPlace(path).find_whose()
    context.destroy(linger=0)


def test_where_nobody_listens_it_is_nobodys(path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        BusPlace(path).find_whose()
    listen(path).close()  # which leaves the file
    with pytest.raises(ConnectionRefusedError):
        BusPlace(path).find_whose()


def test_who_ends_meanwhile_is_nobody(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = BusPlace(path)
    with listen(path) as one:
        monkeypatch.setattr(
            "saltlite.api.saltbus.wait_readable", lambda *_: one.accept()[0].close() or True
        )
        with pytest.raises(ConnectionAbortedError):
            place.find_whose()
    assert place.is_another()


def test_each_socket_is_another_one(path: Path) -> None:
    place = BusPlace(path)
    assert not place.is_another()
    with listen(path):
        assert place.is_another()
        place.find_whose()
        assert not place.is_another()
    with listen(path):
        assert place.is_another()
    path.unlink()
    assert not place.is_another()
