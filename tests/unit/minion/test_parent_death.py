"""What ties children to their parent, where the parent is killed at the worst moment."""

from __future__ import annotations

import os
import signal

import pytest

from saltlite.minion.parent_death import Tethers


def live_as_parent(said_fd: int, *, lets_go: bool) -> int:
    """Fork a child that waits until we are gone, be it before we could tie it."""
    alive_read, alive_write = os.pipe()
    tethers = Tethers()

    def fork() -> int:
        pid = os.fork()
        if pid:
            if lets_go:
                return pid
            os.kill(os.getpid(), signal.SIGKILL)
        os.close(alive_write)
        os.read(alive_read, 1)  # ends when the parent has
        tethers.leave()
        os.write(said_fd, b"lives")
        os._exit(0)

    tethers.fork(fork)
    tethers.let_go()
    return 0


@pytest.mark.parametrize(("lets_go", "said"), [(False, b""), (True, b"lives")])
def test_a_child_ends_with_a_parent_that_was_killed_before_it_could_tie_it(
    lets_go: bool, said: bytes
) -> None:
    read_fd, said_fd = os.pipe()
    parent = os.fork()
    if not parent:
        os._exit(live_as_parent(said_fd, lets_go=lets_go))
    os.waitpid(parent, 0)
    os.close(said_fd)
    with os.fdopen(read_fd, "rb") as heard:
        assert heard.read() == said  # the end comes when the child has ended, too
