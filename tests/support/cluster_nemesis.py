"""What the fault lab does to the nodes of a cluster, to the ways between them, to PostgreSQL."""

from __future__ import annotations

import contextlib
import signal
import time
from dataclasses import replace

import psutil
from cluster_script import LEASE_S, NODES
from cluster_world import OWNER, ClusterWorld
from fault_script import Fault
from lab_network import cut, engine_address, mend, node_address
from nemesis import NETWORK_BACK_S, START_BACK_S, Act, Done, Nemesis, is_alive

from cluster import Daemon, eventually

ENGINE_BACK_S = 10.0
"""Attempts are at most 5 s apart; then the first job is asked for."""

FILLER_BYTES = 1 << 20
LOCKED = "LOCK TABLE returns, publications, jobs IN ACCESS EXCLUSIVE MODE"


class ClusterNemesis(Nemesis):
    """Does what a script of ``cluster_script`` says."""

    longest_s = LEASE_S * 2.5
    _world: ClusterWorld

    def _acts(self) -> dict[str, Act]:
        return {
            "kill-node": self._kill_node,
            "pause-node": self._pause_node,
            "restart-all": self._restart_all,
            "power-cut": self._cut_power,
            "cut-engine": self._cut_from_engine,
            "cut-minions": self._cut_from_minions,
            "engine-away": self._stop_engine,
            "engine-full": self._fill_engine,
            "engine-hangs": self._hang_engine,
            "engine-locked": self._lock_engine,
            "promote": self._promote,
            "kill-bridge": self._kill_child,
            "kill-child": self._kill_child,
            "pause-child": self._pause_child,
            "node-disk": self._fill_node,
            "clock": self._step_node_clock,
            "key": self._rotate_at_node,
        }

    def _touch(self, done: Done, *nodes: str, back_within_s: float) -> None:
        """A fault of these nodes may be felt by each minion: it may be connected there."""
        done.nodes, done.minions = list(nodes), list(self._world.minions)
        done.back_within_s = back_within_s

    # --- nodes -------------------------------------------------------------------------------

    def _kill_node(self, fault: Fault, done: Done) -> None:
        """A machine loses its power, and has it again after a while."""
        self._touch(done, fault.victim, back_within_s=START_BACK_S)
        done.ended_daemon = fault.victim
        with self._lock:
            kill_all(self._world.daemon(fault.victim))
            self._last(fault)
            self._start_master(fault.victim, done)

    def _restart_all(self, fault: Fault, done: Done) -> None:
        self._touch(done, *NODES, back_within_s=START_BACK_S)
        done.ended_daemon = NODES[0]
        with self._lock:
            for name in NODES:
                kill_all(self._world.daemon(name))
            self._last(fault)
            for name in NODES:
                self._world.daemon(name).start()
            for name in NODES:
                self._wait_for_master(name)
            done.ended_s = time.monotonic()

    def _cut_power(self, fault: Fault, done: Done) -> None:
        """Of all machines; PostgreSQL's is the last one to be back."""
        self._touch(done, *NODES, "engine", back_within_s=START_BACK_S)
        done.ended_daemon = NODES[0]
        engine = self._world.engine.server
        with self._lock:
            for name in NODES:
                kill_all(self._world.daemon(name))
            engine.stop()
            for name in NODES:
                self._world.daemon(name).start()
            self._last(fault)
            engine.start()
            for name in NODES:
                self._wait_for_master(name)
            done.ended_s = time.monotonic()

    def _start_master(self, name: str, done: Done) -> None:
        """As an init system does: again and again, while PostgreSQL is away for instance."""
        daemon = self._world.daemon(name)
        listens = self._world.cluster_of(name)._master_listens
        until_s = time.monotonic() + 60
        while time.monotonic() < until_s:
            daemon.start()
            with contextlib.suppress(AssertionError):
                eventually(listens, within_s=30)
                break
            time.sleep(0.5)
        done.ended_s = time.monotonic()

    def _pause_node(self, fault: Fault, done: Done) -> None:
        """For longer than its lease, as a virtual machine that is moved."""
        self._touch(done, fault.victim, back_within_s=START_BACK_S)
        processes = self._world.daemon(fault.victim).processes()
        for one in processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                one.suspend()
        self._last(fault)
        for one in processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                one.resume()

    # --- ways --------------------------------------------------------------------------------

    def _cut_from_engine(self, fault: Fault, done: Done) -> None:
        self._touch(done, fault.victim, back_within_s=NETWORK_BACK_S)
        number = NODES.index(fault.victim) + 1
        self._cut_while(fault, engine_address(number), engine_address(number, of_standby=True))

    def _cut_from_minions(self, fault: Fault, done: Done) -> None:
        self._touch(done, fault.victim, back_within_s=NETWORK_BACK_S)
        self._cut_while(fault, node_address(NODES.index(fault.victim) + 1))

    def _cut_while(self, fault: Fault, *addresses: str) -> None:
        cut(*addresses)
        try:
            self._last(fault)
        finally:
            mend(*addresses)

    # --- PostgreSQL --------------------------------------------------------------------------

    def _touch_engine(self, done: Done) -> None:
        self._touch(done, "engine", back_within_s=ENGINE_BACK_S)

    def _stop_engine(self, fault: Fault, done: Done) -> None:
        self._touch_engine(done)
        self._world.engine.server.stop()
        self._last(fault)
        self._world.engine.server.start()

    def _promote(self, fault: Fault, done: Done) -> None:
        """A crash; for a while nobody is there; the standby takes over, and gets one itself."""
        self._touch_engine(done)
        self._world.engine.fail_over()
        self._last(replace(fault, for_jobs=fault.for_jobs // 4))
        self._world.engine.add_standby()

    def _fill_engine(self, fault: Fault, done: Done) -> None:
        """Its disk is full; it may end of that, and is started again when there is room."""
        self._touch_engine(done)
        engine = self._world.engine
        filler = engine.disk / "filler"
        with filler.open("wb", buffering=0) as file:
            for size in (FILLER_BYTES, 4096):
                with contextlib.suppress(OSError):
                    while True:
                        file.write(b"\0" * size)
        self._last(fault)
        filler.unlink()
        if not engine.server.runs():
            engine.server.start()

    def _hang_engine(self, fault: Fault, done: Done) -> None:
        """All its processes stand still."""
        self._touch_engine(done)
        place = self._world.engine.server.place
        processes = [
            one
            for one in psutil.process_iter(["name", "cmdline"])
            if one.info["name"] == "postgres"
            and any(place in word for word in one.info["cmdline"] or ())
        ]
        processes += [child for one in processes for child in one.children(recursive=True)]
        for one in processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                one.suspend()
        self._last(fault)
        for one in processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                one.resume()

    def _lock_engine(self, fault: Fault, done: Done) -> None:
        """It answers, but each statement about jobs waits: for a vacuum, a backup, a disk."""
        import psycopg

        self._touch_engine(done)
        place = self._world.engine.server.place
        with psycopg.connect(f"host={place} {OWNER}") as connection:
            connection.execute("SET LOCAL deadlock_timeout = '60s'")
            connection.execute(LOCKED.encode())
            self._last(fault)
            connection.rollback()

    # --- processes of a node -----------------------------------------------------------------

    def _look_for(self, fault: Fault, done: Done) -> list[psutil.Process]:
        node, _, part = fault.victim.partition(":")
        self._touch(done, node, back_within_s=done.back_within_s)
        return self._world.daemon(node).titled(f"salt-master {part}")[:1]

    def _kill_child(self, fault: Fault, done: Done) -> None:
        victims = self._victims(fault, done)
        done.was_done = bool(victims)
        for one in victims:
            done.pids.append(one.pid)
            with contextlib.suppress(psutil.NoSuchProcess):
                one.kill()

    def _pause_child(self, fault: Fault, done: Done) -> None:
        victims = self._victims(fault, done)
        done.was_done = bool(victims)
        for one in victims:
            with contextlib.suppress(psutil.NoSuchProcess):
                one.suspend()
        self._last(fault)
        for one in victims:
            with contextlib.suppress(psutil.NoSuchProcess):
                one.resume()

    # --- what one master knows, too ----------------------------------------------------------

    def _fill_node(self, fault: Fault, done: Done) -> None:
        self._fill_disk(fault, done)
        self._touch(done, fault.victim, back_within_s=done.back_within_s)

    def _side(self, fault: Fault, done: Done):  # type: ignore[no-untyped-def]
        return self._world.cache_dir(fault.victim)

    def _step_node_clock(self, fault: Fault, done: Done) -> None:
        self._step_clock(fault, done)
        self._touch(done, fault.victim, back_within_s=NETWORK_BACK_S)

    def _rotate_at_node(self, fault: Fault, done: Done) -> None:
        """A key is deleted at one node, so that all minions get another publication key."""
        self._touch(done, fault.victim, back_within_s=NETWORK_BACK_S)
        node = self._world.cluster_of(fault.victim)
        accepted = node.pki_dir / "minions"
        (accepted / "spare").write_bytes((accepted / self._world.minions[0]).read_bytes())
        node.salt_key("-d", "spare", "-y")


def kill_all(daemon: Daemon) -> None:
    """All processes of a master at once."""
    family = daemon.processes()
    for one in family:
        with contextlib.suppress(psutil.NoSuchProcess):
            one.send_signal(signal.SIGKILL)
    assert daemon.process is not None
    daemon.process.wait(60)
    eventually(lambda: not any(map(is_alive, family)), within_s=10, what="all have ended")
    daemon.family.clear()
