"""The world of the fault lab with three masters that are one: PostgreSQL, HAProxy, minions.

It runs in namespaces of its own (``scripts/fault_lab --cluster``), as root there. Minions and
the simulator come through the load balancer, one minion has a list of masters; the load asks each
master in turn. Source: docs/reliability.md#the-fault-lab-over-three-nodes.
"""

from __future__ import annotations

import contextlib
import subprocess
import time
from pathlib import Path
from typing import Any, Final

import databases
import yaml
from cluster_script import LEASE_S, MINIONS, NODES, WORKERS, Row
from fault_world import GATHER_S, World
from lab_network import BALANCER, PUBLISH_PORT, RET_PORT, balance, engine_address, node_address
from node_cluster import copy_cluster_key

from cluster import OURS, SALT_3006, SALT_3008, Cluster, eventually, is_installed
from saltlite.cluster.engine import ClusterEngine
from saltlite.cluster.job_spool import JobSpool
from saltlite.cluster.postgres_jobs import PostgresJobStore
from saltlite.errors import ServerAway
from saltlite.master.stores import JobStore

DATABASE: Final = "postgres"
OWNER: Final = f"user=postgres dbname={DATABASE}"
TIMEOUT_S: Final = 3
DISK_MIB: Final = 512
SETTINGS: Final = (
    "-c fsync=off -c max_wal_size=48MB -c min_wal_size=32MB -c shared_buffers=48MB "
    "-c max_connections=120 -c superuser_reserved_connections=3 -c log_min_messages=warning"
)
"""A small disk shall be full soon; what a crash of processes leaves needs no flush."""

REAL: Final = {"r1": SALT_3006, "r2": SALT_3008}


class LabEngine:
    """PostgreSQL on small disks of its own, and its standby."""

    def __init__(self, stack: contextlib.ExitStack, *, has_standby: bool) -> None:
        self._places = [stack.enter_context(databases.directory()) for _ in range(2)]
        self._listen = [
            ",".join(engine_address(number, of_standby=second) for number in (1, 2, 3))
            for second in (False, True)
        ]
        self._first = 0
        self._mount(0)
        self.server = databases.make_postgres(
            self._places[0], SETTINGS, listen=self._listen[0], segment_mib=1
        )
        self.server.start()
        self.standby: databases.Postgres | None = None
        if has_standby:
            self.add_standby()

    @property
    def disk(self) -> Path:
        """The small file system with the data."""
        return Path(self.server.place)

    def _mount(self, which: int) -> None:
        options = f"size={DISK_MIB}m,mode=755,uid=65534"
        place = self._places[which]
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", place], check=True)

    def add_standby(self) -> None:
        """Copy the server; from now on it commits nothing that its standby does not have."""
        other = 1 - self._first
        self._mount(other)
        self.standby = databases.copy_postgres(
            self.server, self._places[other], SETTINGS, listen=self._listen[other]
        )
        self.standby.start()
        databases.wait_for_standby(self.server)

    def fail_over(self) -> None:
        """The server crashes, and its standby takes its place."""
        assert self.standby is not None
        self.server.stop()
        self.standby.promote()
        self.server, self.standby = self.standby, None
        subprocess.run(["umount", "-l", self._places[self._first]], check=True)
        self._first = 1 - self._first
        # Nobody stands by, and the settings are those of who has waited for one.
        databases.ask_postgres(self.server.place, "ALTER SYSTEM RESET synchronous_standby_names")
        databases.ask_postgres(self.server.place, "SELECT pg_reload_conf()")

    def close(self) -> None:
        for one in (self.server, self.standby):
            if one is not None and one.runs():
                one.stop()
        for place in self._places:
            # Of one that is not mounted it is an error; a mount would keep its directory.
            subprocess.run(["umount", "-l", place], check=False, capture_output=True)


class ClusterWorld(World):
    """Three nodes, three minions of ours, those of real Salt that are installed."""

    masters = NODES
    listens_to = {"all": "lab/"}  # noqa: RUF012 - never changed

    def __init__(
        self,
        root: Path,
        *,
        row: Row,
        simulated: int,
        real_salt: bool,
        rate: float,
    ) -> None:
        self._row = row
        self._stack = contextlib.ExitStack()
        self.nodes: dict[str, Cluster] = {}
        self._node_of: dict[str, str] = {}
        super().__init__(root, simulated=simulated, real_salt=real_salt, rate=rate)

    def _build(self, real_salt: bool) -> None:
        self.root.mkdir(parents=True, exist_ok=True)
        self.minions = list(MINIONS)
        kinds = REAL if real_salt else {}
        self.real = [name for name, kind in kinds.items() if is_installed(kind)]
        for number, name in enumerate(NODES, 1):
            dsn = ",".join(engine_address(number, of_standby=one) for one in self._engines)
            self.nodes[name] = Cluster(
                minions={},
                master_options={
                    "id": name,
                    "interface": "0.0.0.0",
                    "worker_threads": WORKERS,
                    "gather_job_timeout": GATHER_S,
                    "file_roots": {"base": [str(self.root / "srv")]},
                    "cluster_id": "lab",
                    "cluster_dsn": f"host={dsn} {OWNER}",
                    "cluster_lease": LEASE_S,
                    "cluster_timeout": TIMEOUT_S,
                    "cluster_events": ["salt/job/*/new", "salt/key", "salt/auth", "lab/*"],
                    **self._row.options,
                },
                root=self.root / name,
            )
        for name, node in zip(MINIONS, NODES, strict=True):
            self._add_minion(node, name, OURS)
        for name, node in zip(self.real, NODES, strict=False):
            self._add_minion(node, name, REAL[name])

    @property
    def _engines(self) -> tuple[bool, ...]:
        return (False, True) if self._row.has_standby else (False,)

    def _add_minion(self, node: str, name: str, kind: str) -> None:
        """Behind the load balancer; the last one of ours has all masters in a list."""
        cluster = self.nodes[node]
        self._node_of[name] = node
        ways: dict[str, Any] = {
            "master": BALANCER, "master_port": RET_PORT, "publish_port": PUBLISH_PORT,
        }  # fmt: skip
        if name == MINIONS[-1]:
            places = [
                f"{node_address(number)}:{self.nodes[one].ret_port}"
                for number, one in enumerate(NODES, 1)
            ]
            ways = {
                "master": places, "master_type": "failover", "master_alive_interval": 1,
                "retry_dns": 0,
            }  # fmt: skip
        cluster.add_minion(name, kind, **ways)
        if "master_type" in ways:
            path = cluster.minion_dir(name) / "minion"
            options = yaml.safe_load(path.read_text())
            del options["publish_port"]
            path.write_text(yaml.safe_dump(options))

    def cluster_of(self, side: str) -> Cluster:
        """Where a master or a minion belongs."""
        return self.nodes[self._node_of.get(side, side)]

    # --- start and end -----------------------------------------------------------------------

    def start(self) -> None:
        """Everything, until every minion has answered at every node."""
        self.engine = LabEngine(self._stack, has_standby=self._row.has_standby)
        self._stack.callback(self.engine.close)
        ports = {
            node_address(number): (self.nodes[name].publish_port, self.nodes[name].ret_port)
            for number, name in enumerate(NODES, 1)
        }
        self._stack.enter_context(balance(self.root / "haproxy.cfg", ports))
        self._mount_caches()
        self._write_files(self.root / "srv")
        self._preload_shims()
        self._join()
        for node in self.nodes.values():
            node.start_master()
        for name in self.everybody:
            self.daemon(name).start()
        self._start_swarm()
        for node in self.nodes.values():
            self._wait_for_all(node)
        self._begin_to_watch()

    def _join(self) -> None:
        """The cluster's key and tables, as docs/cluster.md says."""
        first, *others = self.nodes.values()
        owner = f"owner_dsn=host={engine_address(1)} {OWNER}"
        joined = first.salt_run("cluster.join", "make_key=True", owner)
        assert joined.exit_code == 0, joined
        for node in others:
            copy_cluster_key(first, node)

    def _wait_for_all(self, node: Cluster) -> None:
        names = ",".join(self.everybody)

        def answer() -> bool:
            ran = node.salt("-L", names, "test.ping", "--out=json", "--static", "-t", "5")
            return all(f'"{name}": true' in ran.stdout for name in self.everybody)

        eventually(answer, within_s=120, what=f"all answer at {node.root.name}")

    def _swarm_words(self) -> list[str]:
        return [
            f"--master={BALANCER}", f"--port={RET_PORT}", f"--publish-port={PUBLISH_PORT}",
            f"--pki-dir={self.nodes[NODES[0]].pki_dir}",
        ]  # fmt: skip

    def _close_clusters(self) -> None:
        # All at once: a minion of real Salt takes seconds to end.
        for side in (*self.masters, *self.everybody):
            process = self.daemon(side).process
            if process is not None and process.poll() is None:
                process.terminate()
        for node in self.nodes.values():
            node.close()
        self._stack.close()

    # --- at rest -----------------------------------------------------------------------------

    def open_store(self) -> JobStore:
        """The job cache of all nodes."""
        parameters = {"host": self.engine.server.place, "user": "postgres", "dbname": DATABASE}
        return PostgresJobStore(ClusterEngine(parameters, timeout_s=60), "lab")

    def _is_at_rest(self, store: JobStore) -> bool:
        if any(self._waiting_at(name) for name in NODES):
            time.sleep(0.3)
            return False
        with contextlib.suppress(ServerAway):
            return super()._is_at_rest(store)
        return False

    def _waiting_at(self, name: str) -> int:
        """Returns and jobs on a node's disk that have yet to go up."""
        spool = JobSpool(self.cache_dir(name), most_bytes=1 << 30)
        try:
            return spool.count_waiting() + len(list(spool.read_unsent(1))) if spool.exists() else 0
        finally:
            spool.close()
