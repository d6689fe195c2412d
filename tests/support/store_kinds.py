"""Both implementations of the master's stores, opened on a place of its own for a test."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import databases
import pytest

from saltlite.cluster import schema
from saltlite.cluster.engine import ClusterEngine
from saltlite.cluster.identity import make_cluster_key
from saltlite.cluster.membership import join_cluster, open_engine
from saltlite.cluster.stores import ClusterStores
from saltlite.config.load import load_master
from saltlite.config.master import MasterConfig
from saltlite.master.embedded import EmbeddedStores, make_key_ring
from saltlite.master.jobcache import Flush
from saltlite.master.stores import ForwardedReturns, JobStore, PublicationKeyRing, Stores


class _TrackedStores(EmbeddedStores):
    """Files that are opened are closed with their place."""

    def __init__(self, config: MasterConfig, opened: contextlib.ExitStack) -> None:
        super().__init__(config)
        self._opened = opened

    def open_jobs(self, *, flush: Flush | None = None, read_only: bool = False) -> JobStore:
        made = super().open_jobs(flush=flush, read_only=read_only)
        return self._opened.enter_context(contextlib.closing(made))

    def open_forwarded(self) -> ForwardedReturns:
        return self._opened.enter_context(contextlib.closing(super().open_forwarded()))


class EmbeddedPlace:
    """A master's directories; each ``open`` is another process of that master."""

    def __init__(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="sl-"))
        (self.root / "master").write_text(f"root_dir: {self.root}\njob_cache_sync: never\n")
        self._config = load_master(self.root)
        self._ring = make_key_ring()
        self._opened = contextlib.ExitStack()

    def open(self) -> Stores:
        stores = _TrackedStores(self._config, self._opened)
        stores.keys.prepare()
        return stores

    def open_ring(self) -> PublicationKeyRing:
        """Of the process that calls; the memory is from before the fork."""
        return self._ring

    def close(self) -> None:
        self._ring.close()
        self._opened.close()
        shutil.rmtree(self.root)


class ClusterPlace:
    """A node of a cluster, on tables that are empty; each ``open`` is another of its processes."""

    def __init__(self, dsn: str) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="sl-"))
        self.dsn = dsn
        self.config = self.configure("a")
        engine = open_engine(self.config)
        names = [row[0] for row in engine.execute(_TABLES)]
        engine.execute(f"TRUNCATE {', '.join(names)}")
        for name in ("keys", "banks", "epoch"):
            engine.execute("INSERT INTO counters VALUES (%s, 0)", [name])
        make_cluster_key(self.config)
        self._member = join_cluster(self.config, "127.0.0.1")
        engine.close()
        self._opened: list[ClusterStores] = []

    def configure(self, node: str) -> MasterConfig:
        """The configuration of another node."""
        folder = self.root / node
        folder.mkdir(parents=True, exist_ok=True)
        pki = self.root / "cluster"
        (folder / "master").write_text(
            f"root_dir: {folder}\nid: {node}\ncluster_id: c\ncluster_dsn: {self.dsn}\n"
            f"cluster_pki_dir: {pki}\nkeysize: 2048\njob_cache_sync: never\n"
        )
        return load_master(folder)

    def open(self) -> ClusterStores:
        stores = ClusterStores(self.config, self._member)
        stores.keys.prepare()
        self._opened.append(stores)
        return stores

    def open_elsewhere(self, node: str) -> ClusterStores:
        """As a process of another node."""
        stores = ClusterStores(self.configure(node), self._member)
        stores.keys.prepare()
        self._opened.append(stores)
        return stores

    def open_ring(self) -> PublicationKeyRing:
        return self._member.ring

    def close(self) -> None:
        for one in self._opened:
            one.engine.close()
        self._member.ring._engine.close()
        self._member.ring.close()
        shutil.rmtree(self.root)


_TABLES = """
SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'schema_version'
"""

Place = EmbeddedPlace | ClusterPlace

KINDS = ("embedded", "postgres")


@contextlib.contextmanager
def kind_of_place(kind: str) -> Iterator[Callable[[], Place]]:
    """What makes places of a kind, one after the other."""
    if kind == "embedded":
        yield EmbeddedPlace
        return
    if databases.postgres_programs() is None:
        pytest.skip("there is no PostgreSQL server")
    with databases.postgres_server() as server, databases.database_of(server.place, "s") as dsn:
        parameters = dict(part.split("=", 1) for part in dsn.split())
        engine = ClusterEngine(parameters, timeout_s=20)
        schema.install(engine)
        engine.close()
        yield lambda: ClusterPlace(dsn)


def do_at_once(processes: int, do: Callable[[int], Any]) -> list[Any]:
    """What ``do`` returns in each of so many processes, as JSON has it; it is given a number."""
    go, started = os.pipe()
    running = [_start(number, do, go, started) for number in range(processes)]
    os.close(go)
    os.close(started)  # now all of them go
    answers = [_read_all(fd) for _pid, fd in running]
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid, _fd in running]
    assert codes == [0] * processes
    return [json.loads(one) for one in answers]


def _start(number: int, do: Callable[[int], Any], go: int, started: int) -> tuple[int, int]:
    answer, give = os.pipe()
    pid = os.fork()
    if pid:
        os.close(give)
        return pid, answer
    try:
        os.close(started)
        os.read(go, 1)
        os.write(give, json.dumps(do(number)).encode())
        os._exit(0)
    except BaseException:  # noqa: BLE001 - the test is told by the exit code
        traceback.print_exc()
        os._exit(1)


def _read_all(fd: int) -> bytes:
    with os.fdopen(fd, "rb") as pipe:
        return pipe.read()
