"""How an attack on a running master is made and judged.

``Stranger`` sends bytes to port 4506 and reads the one reply that must come. ``unharmed`` wraps
an attack in the after-checks: nothing written, no worker lost, nothing on the bus, few and harmless
log lines, no growth, little time.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgpack
import psutil
import zmq

from cluster import Cluster, eventually
from saltlite.master.acl import process_user
from saltlite.transport.addresses import MasterSockets
from saltlite.transport.bus import EventSubscriber

OWN = process_user()
LIMITED, WEB_ONLY = [name for name in ("nobody", "daemon", "bin") if name != OWN][:2]
"""Local users: one may only ``test.ping``, the other only minions named ``web*``. Neither is the
one of the tests, whose master is its own."""

PEER = "peer1"
"""A minion that may publish ``test.ping``, and nothing else."""

REPLY_S = 2.0
AT_ONCE = 100

LARGEST_RING_BYTES = 128 * 1024
"""Connections a stranger opens at the same time."""
NO_REPLY = object()
SECRETS = re.compile(r"BEGIN (RSA )?P|Traceback")


def wire(value: Any) -> bytes:
    """A value as Salt puts it on the wire; bytes are taken as they are."""
    if isinstance(value, bytes):
        return value
    packed: bytes = msgpack.packb(value, use_bin_type=False)
    return packed


def clear(load: Any, **envelope: Any) -> dict[str, Any]:
    """A clear request around ``load``."""
    return {"enc": "clear", "load": load, "version": 3, **envelope}


def decoded(reply: Any) -> Any:
    """The value of a reply frame; ``NO_REPLY`` stays what it is."""
    if reply is NO_REPLY:
        return NO_REPLY
    return msgpack.unpackb(reply, raw=False, strict_map_key=False, unicode_errors="surrogateescape")


def auth_answer(reply: Any) -> Any:
    """What the signed reply to ``_auth`` says inside; anything else as it is."""
    if not isinstance(reply, dict) or not isinstance(reply.get("load"), (str, bytes)):
        return reply
    load = reply["load"]
    packed = load.encode("utf-8", "surrogateescape") if isinstance(load, str) else load
    return decoded(packed)


class Stranger:
    """Somebody who can reach the request port and has no key."""

    def __init__(self, port: int) -> None:
        self.address = f"tcp://127.0.0.1:{port}"
        self.context = zmq.Context()

    def send(self, frame: Any, *, within_s: float = REPLY_S) -> Any:
        """Send one request; the decoded reply, or ``NO_REPLY`` after the deadline."""
        return self.send_many([frame], within_s=within_s)[0]

    def send_many(self, frames: Sequence[Any], *, within_s: float = REPLY_S) -> list[Any]:
        """One connection each, many at once; the replies in the order of the frames."""
        replies = self.exchange([wire(frame) for frame in frames], within_s=within_s)
        return [decoded(reply) for reply in replies]

    def exchange(self, frames: Sequence[bytes], *, within_s: float = REPLY_S) -> list[Any]:
        """As ``send_many``, but bytes in and bytes out."""
        replies: list[Any] = []
        for start in range(0, len(frames), AT_ONCE):
            replies += self._exchange(frames[start : start + AT_ONCE], within_s)
        return replies

    def _exchange(self, frames: Sequence[bytes], within_s: float) -> list[Any]:
        sockets = [self._socket() for _ in frames]
        try:
            for one, frame in zip(sockets, frames, strict=True):
                one.send_multipart([b"", frame])
            deadline = time.monotonic() + within_s
            return [self._reply(one, deadline) for one in sockets]
        finally:
            for one in sockets:
                one.close(0)

    def send_parts(self, parts: Sequence[bytes], *, within_s: float = REPLY_S) -> Any:
        """Frames as they are, without the envelope a REQ socket makes."""
        one = self._socket()
        try:
            one.send_multipart(list(parts))
            return decoded(self._reply(one, time.monotonic() + within_s))
        finally:
            one.close(0)

    def _socket(self) -> zmq.Socket[bytes]:
        one = self.context.socket(zmq.DEALER)
        one.connect(self.address)
        return one

    @staticmethod
    def _reply(one: zmq.Socket[bytes], deadline: float) -> Any:
        left_ms = max(0, int((deadline - time.monotonic()) * 1000))
        if not one.poll(left_ms):
            return NO_REPLY
        body = one.recv_multipart()[-1]
        assert not one.poll(0), "a second reply to one request"
        return body

    def close(self) -> None:
        self.context.destroy(0)


def snapshot(*roots: Path, ignored: str = r"\.sqlite|/run/|/log$|\.out$") -> dict[str, Any]:
    """Path → (type and mode, owner, size or names, time) of everything below ``roots``.

    A directory in which something is ignored has no time: that changes with what is ignored, too.
    """
    found: dict[str, Any] = {}
    for root in roots:
        for directory, _, names in os.walk(root):
            kept = [name for name in names if not re.search(ignored, f"{directory}/{name}")]
            for name in ("", *kept):
                path = os.path.join(directory, name)
                if re.search(ignored, path):
                    continue
                with contextlib.suppress(FileNotFoundError):
                    status = os.lstat(path)
                    time_ns = status.st_mtime_ns if name or len(kept) == len(names) else None
                    size = status.st_size if name else tuple(sorted(kept))
                    found[path] = (status.st_mode, status.st_uid, size, time_ns)
    return found


@dataclass
class Victim:
    """A running master and what is watched of it."""

    cluster: Cluster
    stranger: Stranger
    workers: int
    heard_tags: list[str] = field(default_factory=list)
    """Tags that were on the bus during the last attack."""

    @classmethod
    def of(cls, cluster: Cluster, workers: int) -> Victim:
        return cls(cluster, Stranger(cluster.ret_port), workers)

    def worker_pids(self) -> set[int]:
        return {one.pid for one in self.cluster.master.titled("MWorker")}

    def cpu_s(self) -> float:
        total = 0.0
        for one in self.cluster.master.processes():
            with contextlib.suppress(psutil.NoSuchProcess):
                times = one.cpu_times()
                total += times.user + times.system
        return total

    def resident_bytes(self) -> int:
        total = 0
        for one in self.cluster.master.processes():
            with contextlib.suppress(psutil.NoSuchProcess):
                total += one.memory_info().rss
        return total

    def descriptors(self) -> int:
        return sum(count_descriptors(one.pid) for one in self.cluster.master.processes())

    def honest(self) -> None:
        """Every worker still answers: three times as many requests as workers."""
        pings = [clear({"cmd": "ping", "n": number}) for number in range(3 * self.workers)]
        replies = self.stranger.send_many(pings)
        assert NO_REPLY not in replies, "an honest request got no answer"

    def files(self) -> dict[str, Any]:
        return snapshot(self.cluster.root / "master")


def _is_ring(path: str, victim: Victim) -> bool:
    """Whether each job writes to a file and none enlarges it: those of ``jobs.trace``."""
    folder = victim.cluster.root / "master" / "cache" / "times"
    return Path(path).parent == folder and Path(path).stat().st_size <= LARGEST_RING_BYTES


def count_descriptors(pid: int, within_s: float = 5.0) -> int:
    """The open descriptors of a process; none of one that has ended.

    An ordinary user may not look at those of a zombie, nor of a process that is just ending.
    """
    until_s = time.monotonic() + within_s
    while True:
        try:
            return len(os.listdir(f"/proc/{pid}/fd"))
        except (FileNotFoundError, ProcessLookupError):
            return 0
        except PermissionError:
            if _has_ended(pid):
                return 0
            if time.monotonic() > until_s:
                raise
            time.sleep(0.01)


def _has_ended(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True
    return stat.rpartition(")")[2].split()[0] in ("Z", "X")


@contextlib.contextmanager
def unharmed(
    victim: Victim,
    *,
    written: str | None = None,
    events: str | None = None,
    log_lines: int | None = None,
    cpu_s: float | None = None,
) -> Iterator[Victim]:
    """C1 to C6 around an attack.

    ``written`` and ``events`` are regular expressions of the paths and tags an attack may touch;
    ``log_lines`` is how much may be said, by default ten lines a second and a few.
    """
    eventually(lambda: len(victim.worker_pids()) == victim.workers, within_s=10, what="workers")
    files, pids = victim.files(), victim.worker_pids()
    log_size = len(victim.cluster.master.log())
    cpu_before, begun_s = victim.cpu_s(), time.monotonic()
    sockets = MasterSockets(victim.cluster.sock_dir)
    with EventSubscriber(sockets.event_pub) as bus:
        assert bus.connect_confirmed(5)
        while bus.get(0.03) is not None:
            pass  # what honest peers did just before
        yield victim
        spent_s = victim.cpu_s() - cpu_before
        victim.honest()
        heard = victim.heard_tags = []
        while (event := bus.get(0.05)) is not None:
            heard.append(event.tag)
    after = victim.files()
    changed = {p for p in files.keys() | after.keys() if files.get(p) != after.get(p)}
    expected = {p for p in changed if written and re.search(written, p)}
    unexpected = changed - expected - {os.path.dirname(p) + "/" for p in expected}
    unexpected -= {os.path.dirname(p.rstrip("/")) + "/" for p in expected if p.endswith("/")}
    unexpected -= {p for p in unexpected if p.endswith(".lock") and p not in files}  # once, empty
    rings = {p for p in unexpected if _is_ring(p, victim)}
    unexpected -= rings | {os.path.dirname(p) + "/" for p in rings}
    assert not unexpected, f"written: {sorted(unexpected)}"
    assert victim.worker_pids() == pids, "a worker was lost"
    surprising = [tag for tag in heard if not (events and re.fullmatch(events, tag))]
    assert not surprising, f"on the bus: {surprising}"
    most_lines = 12 + int(10 * (time.monotonic() - begun_s)) if log_lines is None else log_lines
    _check_log(victim.cluster.master.log()[log_size:], most_lines)
    if cpu_s is not None:
        assert spent_s < cpu_s, f"{spent_s:.3f} s of CPU"


def _check_log(text: str, most_lines: int) -> None:
    lines = text.splitlines()
    assert len(lines) <= most_lines, f"{len(lines)} log lines: {lines[:3]}"
    for line in lines:
        assert len(line) <= 700, f"long log line: {line[:200]}"
        assert line.isprintable() and line.isascii(), f"unprintable log line: {line!r}"
        assert not SECRETS.search(line), f"log line says too much: {line}"
        assert "ERROR" not in line and "CRITICAL" not in line, line
