"""Waiting for a descriptor, however large its number is."""

from __future__ import annotations

import fcntl
import os
import resource
import socket
from collections.abc import Iterator

import pytest

from saltlite.core.readable import wait_readable

BEYOND_SELECT = 1500


@pytest.fixture(params=[0, BEYOND_SELECT], ids=["small", "large"])
def pair(request: pytest.FixtureRequest) -> Iterator[tuple[socket.socket, socket.socket]]:
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] <= BEYOND_SELECT:
        pytest.skip("no so large descriptor is allowed here")
    first, second = socket.socketpair()
    moved = socket.socket(fileno=fcntl.fcntl(first.fileno(), fcntl.F_DUPFD_CLOEXEC, request.param))
    first.close()
    yield moved, second
    moved.close()
    second.close()


def test_only_what_has_come_is_readable(pair: tuple[socket.socket, socket.socket]) -> None:
    one, other = pair
    assert not wait_readable(one, 0)
    assert not wait_readable(one, 0.01)
    other.send(b"x")
    assert wait_readable(one, 5)


def test_an_end_that_has_gone_is_something_to_read(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    one, other = pair
    other.shutdown(socket.SHUT_WR)
    assert wait_readable(one, 5)
    assert os.read(one.fileno(), 1) == b""
