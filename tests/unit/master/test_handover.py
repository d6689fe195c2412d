"""How a process takes what is handed over, also where the machine has no room for it."""

from __future__ import annotations

import errno
import os
import socket
import time
from pathlib import Path
from typing import Any

import pytest

from saltlite.master import handover
from saltlite.master.handover import accept, listen


class Listener:
    def __init__(self, error: OSError) -> None:
        self._error = error

    def accept(self) -> Any:
        raise self._error


def test_a_connection_is_taken(tmp_path: Path) -> None:
    with listen(tmp_path / "socket") as listener, socket.socket(socket.AF_UNIX) as caller:
        listener.setblocking(False)
        assert accept(listener) is None
        caller.connect(str(tmp_path / "socket"))
        taken = accept(listener)
        assert taken is not None
        with taken:
            caller.send(b"x")
            assert taken.recv(1) == b"x"


@pytest.mark.parametrize(
    ("number", "rests"),
    [(errno.EMFILE, True), (errno.ENFILE, True), (errno.ENOMEM, True), (errno.ECONNABORTED, False)],
)
def test_who_has_no_room_for_it_does_not_look_without_rest(
    number: int, rests: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rested: list[float] = []
    monkeypatch.setattr(time, "sleep", rested.append)
    listener: Any = Listener(OSError(number, os.strerror(number)))
    assert accept(listener) is None
    assert rested == [handover.NO_ROOM_S] * rests
