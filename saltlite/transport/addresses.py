"""Every socket saltlite opens, in one table.

docs/architecture.md shows the same table with what travels on each; a test compares the two.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from saltlite.core.dataclasses import dataclass

UNIX_PATH_LIMIT = 103
"""Bytes a Unix socket path may have on Linux, without the closing NUL (ZeroMQ's own limit)."""


def tcp(host: str, port: int) -> str:
    """``tcp://host:port``, with the brackets that an IPv6 address needs."""
    if ":" in host and not host.startswith("["):
        host = f"[{host}]"
    return f"tcp://{host}:{port}"


def ipc(path: Path) -> str:
    """``ipc://path``.

    Raises:
        ValueError: the path is longer than a Unix socket may have.
    """
    # Bytes and not characters: that is what the kernel counts.
    if len(bytes(path)) > UNIX_PATH_LIMIT:
        raise ValueError(f"socket path longer than {UNIX_PATH_LIMIT} bytes: {path}")
    return f"ipc://{path}"


@dataclass(frozen=True, slots=True)
class MasterSockets:
    """The Unix sockets below a master's ``sock_dir``."""

    sock_dir: Path

    def workers(self, number: int) -> Path:
        """ReqServer's DEALER for one worker: one each, so that only a free one is handed work."""
        return self.sock_dir / f"workers-{number}.ipc"

    @property
    def workers_link(self) -> Path:
        """A link to the first of them; real salt-api asks whether it is there."""
        return self.sock_dir / "workers.ipc"

    @property
    def publish_pull(self) -> Path:
        """Publisher's PULL: jobs to publish, from workers."""
        return self.sock_dir / "publish_pull.ipc"

    @property
    def runs(self) -> Path:
        """RunServer's stream socket: what to run, from workers."""
        return self.sock_dir / "runs.ipc"

    @property
    def logins(self) -> Path:
        """LoginServer's stream socket: logins to check, from workers."""
        return self.sock_dir / "logins.ipc"

    @property
    def reactor_runs(self) -> Path:
        """ReactorRuns' stream socket: runners and wheel functions of reactions, from Reactor."""
        return self.sock_dir / "reactor_runs.ipc"

    @property
    def late(self) -> Path:
        """ReqServer's PULL: replies that come later than their worker's answer."""
        return self.sock_dir / "late_pull.ipc"

    @property
    def event_pull(self) -> Path:
        """EventPublisher's PULL: events, from everywhere on the master."""
        return self.sock_dir / "master_event_pull.ipc"

    @property
    def event_pub(self) -> Path:
        """EventPublisher's PUB: events, to everyone on the master."""
        return self.sock_dir / "master_event_pub.ipc"

    @property
    def event_return(self) -> Path:
        """EventReturn's PULL: every event, from EventPublisher."""
        return self.sock_dir / "master_event_return.ipc"


@dataclass(frozen=True, slots=True)
class MinionSockets:
    """The Unix sockets below a minion's ``sock_dir``.

    Source: docs/architecture.md#who-owns-which-file-on-disk.
    """

    sock_dir: Path
    minion_id: str
    hash_type: str = "sha256"

    @property
    def _bus_name(self) -> str:
        digest = hashlib.new(self.hash_type, self.minion_id.encode(), usedforsecurity=False)
        # Salt's own form, by which tools find the bus; it stays short whatever the id is.
        return f"minion_event_{digest.hexdigest()[:10]}"

    @property
    def event_pull(self) -> Path:
        """The minion's own PULL: events, from job processes and local tools."""
        return self.sock_dir / f"{self._bus_name}_pull.ipc"

    @property
    def event_pub(self) -> Path:
        """The minion's own PUB: events, to local tools."""
        return self.sock_dir / f"{self._bus_name}_pub.ipc"
