"""Trees of masters on loopback: syndics of saltlite and of real Salt, in any mixture.

Every master has an address of its own and all have the same two ports: a real syndic looks for the
jobs of the master above at the ``publish_port`` of its own master.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ports import free_ports

from cluster import OURS, Cluster, Daemon, eventually


class Tree:
    """Masters by name, and the syndics beside them. Ends all of them."""

    def __init__(self) -> None:
        self.ports: tuple[int, int] = tuple(free_ports(2))  # type: ignore[assignment]
        self.masters: dict[str, Cluster] = {}
        self.syndics: dict[str, Daemon] = {}
        self._uppers: dict[str, list[str]] = {}

    def add_master(
        self,
        name: str,
        kind: str = OURS,
        *,
        minions: Sequence[str] = (),
        minion_kind: str | None = None,
        **options: Any,
    ) -> Cluster:
        """A master with minions; nothing is started."""
        number = len(self.masters) + 2
        cluster = Cluster(
            master=kind,
            minions=dict.fromkeys(minions, minion_kind or kind),
            master_options={"worker_threads": 2, "timeout": 5, **options},
            interface=f"127.0.0.{number}",
            ports=self.ports,
        )
        self.masters[name] = cluster
        return cluster

    def add_syndic(
        self,
        name: str,
        lower: str,
        uppers: Sequence[str],
        *,
        kind: str | None = None,
        minion_options: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> Daemon:
        """The syndic ``name`` of the master ``lower``; not started yet."""
        cluster = self.masters[lower]
        addresses = [self.masters[one].interface for one in uppers]
        base = cluster.root / name
        cluster.reconfigure(
            cluster.master_dir / "master",
            syndic_master=addresses if len(addresses) > 1 else addresses[0],
            syndic_master_port=self.ports[1],
            syndic_pidfile=str(base / "syndic.pid"),
            syndic_log_file=str(base / "syndic.log"),
            **options,
        )
        user = {"user": "root"} if os.geteuid() == 0 else {}
        cluster._write(
            cluster.master_dir / "minion",
            {
                "id": name,
                "root_dir": str(base),
                "pki_dir": str(base / "pki"),
                "cachedir": str(base / "cache"),
                "sock_dir": str(base / "run"),
                "keysize": 2048,
                "acceptance_wait_time": 1,
                "random_reauth_delay": 1,
                "recon_default": 100,
                "recon_max": 500,
                "master_port": self.ports[1],
                **user,
                **(minion_options or {}),
            },
        )
        daemon = cluster._daemon(
            kind or cluster.master_kind, "salt-syndic", cluster.master_dir, name
        )
        self.syndics[name] = daemon
        self._uppers[name] = list(uppers)
        cluster.extra_daemons.append(daemon)
        return daemon

    def start(self) -> Tree:
        """Start everything, from the top down, and wait until minions answer their own masters."""
        for cluster in self.masters.values():
            cluster.master.start()
        for cluster in self.masters.values():
            cluster.start_minions()
        for name, syndic in self.syndics.items():
            syndic.start()
            self.wait_for_syndic(name)
        return self

    def wait_for_syndic(self, name: str) -> None:
        """Until the master above has accepted the syndic's key."""
        for upper in (self.masters[one] for one in self._uppers[name]):
            eventually(
                lambda upper=upper: (upper.pki_dir / "minions" / name).exists(),  # type: ignore[misc]
                what=f"{name} is accepted",
            )

    def close(self) -> None:
        for cluster in self.masters.values():
            cluster.close()

    def logs(self) -> str:
        parts = [f"##### {name}\n{one.logs()}" for name, one in self.masters.items()]
        parts += [f"=== {name}\n{one.log()[-6000:]}" for name, one in self.syndics.items()]
        return "\n".join(parts)


@contextlib.contextmanager
def growing() -> Iterator[Tree]:
    """A tree that is ended afterwards, whatever happens."""
    tree = Tree()
    try:
        yield tree
    except BaseException:
        print(tree.logs())
        raise
    finally:
        tree.close()
