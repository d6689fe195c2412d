"""What an administrator does with a cluster: prepare this master for it, look at it, leave it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Final

from saltlite.cluster import schema
from saltlite.cluster.engine import ClusterEngine, describe_place, read_parameters
from saltlite.cluster.identity import find_key_path, load_cluster_key, make_cluster_key
from saltlite.cluster.job_spool import FOLDER
from saltlite.cluster.membership import name_node, open_engine, open_spool
from saltlite.cluster.nodes import claim_database, list_nodes, remove_node
from saltlite.config.master import MasterConfig
from saltlite.core.dataclasses import replace
from saltlite.crypto.keys import PublicKey
from saltlite.errors import ConfigError, FunctionError, StoreError
from saltlite.runner_context import ClusterHealth

CLOCKS_S: Final = 5.0
"""More than this between this machine's clock and the server's is said."""


class ClusterAdministration:
    """The cluster as ``salt-run`` sees it."""

    def __init__(self, config: MasterConfig) -> None:
        if not config.cluster.cluster_id:
            raise FunctionError("this master belongs to no cluster: cluster_id is not set")
        self._config = config

    def join(self, *, owner_dsn: str, role: str, make_key: bool) -> dict[str, Any]:
        """Make what is missing, and check that this master may start as a node.

        Raises:
            SaltliteError: it may not; the text says what to do.
        """
        config = self._config
        if make_key:
            make_cluster_key(config)
        key = self._load_key()
        if owner_dsn:
            self._install_tables(owner_dsn, role)
        engine = open_engine(config)
        try:
            schema.check(engine)
            claim_database(engine, config.cluster.cluster_id, key.fingerprint())
            apart_s = _clock_difference_s(engine)
            nodes = [one.node for one in list_nodes(engine)]
        finally:
            engine.close()
        found: dict[str, Any] = {
            "node": name_node(config),
            "cluster": config.cluster.cluster_id,
            "engine": describe_place(read_parameters(config)),
            "key": key.fingerprint(),
            "nodes": nodes,
        }
        if abs(apart_s) > CLOCKS_S:
            found["warning"] = f"this machine's clock and the server's are {apart_s:.0f} s apart"
        return found

    def _load_key(self) -> PublicKey:
        path = find_key_path(self._config)
        try:
            return load_cluster_key(self._config).public
        except ConfigError as error:
            folder = path.parent
            raise FunctionError(
                f"there is no {path}. On the first node: salt-run cluster.join make_key=True. "
                f"On every other one: mkdir -p -m 700 {folder}; "
                f"scp -p FIRST:{path} FIRST:{path.with_suffix('.pub')} {folder}/"
            ) from error

    def _install_tables(self, owner_dsn: str, role: str) -> None:
        options = replace(self._config.cluster, cluster_dsn=owner_dsn)
        parameters = read_parameters(replace(self._config, cluster=options))
        engine = ClusterEngine(parameters, timeout_s=60)
        try:
            schema.install(engine, role=role)
        finally:
            engine.close()

    def status(self) -> dict[str, Any]:
        """The nodes, and what waits on this one's disk.

        Raises:
            StoreError: the server cannot be asked.
        """
        config = self._config
        engine = open_engine(config)
        try:
            nodes = {
                one.node: {
                    "alive": one.silent_s <= config.cluster.cluster_lease,
                    "silent_s": round(one.silent_s, 1),
                    "address": one.address,
                    "version": one.version,
                    "keeps_house": one.keeps_house,
                }
                for one in list_nodes(engine)
            }
        finally:
            engine.close()
        waiting = self._count_waiting()
        return {"cluster": config.cluster.cluster_id, "nodes": nodes, "waiting": waiting}

    def examine(self) -> ClusterHealth:
        """What ``doctor`` judges. Nothing is written.

        Raises:
            ConfigError: it is not known where the server is.
        """
        config = self._config
        place = describe_place(read_parameters(config))
        waiting = self._count_waiting()
        engine = open_engine(config)
        try:
            nodes = list_nodes(engine)
            apart_s = _clock_difference_s(engine)
            standbys = int(engine.execute("SELECT count(*) FROM pg_stat_replication")[0][0])
            names = engine.execute("SELECT current_setting('synchronous_standby_names')")[0][0]
        except StoreError as error:
            return ClusterHealth(place=place, waiting=waiting, away=str(error))
        finally:
            engine.close()
        lease_s = config.cluster.cluster_lease
        return ClusterHealth(
            place=place,
            waiting=waiting,
            silent={one.node: one.silent_s for one in nodes if one.silent_s > lease_s},
            versions={one.node: one.version for one in nodes if one.silent_s <= lease_s},
            keeps_house=next((one.node for one in nodes if one.keeps_house), ""),
            apart_s=apart_s,
            standbys=standbys,
            is_synchronous=bool(names),
        )

    def _count_waiting(self) -> int:
        """Returns on this node's disk that have yet to go up."""
        spool = open_spool(self._config)
        try:
            return spool.count_waiting() if spool.exists() else 0
        finally:
            spool.close()

    def leave(self, node: str) -> bool:
        """Forget a node, by default this one; ``False`` if there was none of that name.

        Raises:
            FunctionError: its master runs, or returns wait on its disk.
            StoreError: the server cannot be asked.
        """
        name = node or name_node(self._config)
        engine = open_engine(self._config)
        try:
            found = {one.node: one for one in list_nodes(engine)}.get(name)
            if found is None:
                return False
            if found.silent_s <= self._config.cluster.cluster_lease:
                raise FunctionError(f"the master of {name} runs; stop it first")
            waiting = self._count_waiting() if name == name_node(self._config) else 0
            if waiting:
                place = Path(self._config.paths.cachedir) / FOLDER
                raise FunctionError(
                    f"{waiting} returns wait in {place}: start the master once more"
                )
            return remove_node(engine, name)
        finally:
            engine.close()


def _clock_difference_s(engine: ClusterEngine) -> float:
    before_s = time.time()
    server_s = float(engine.execute("SELECT extract(epoch FROM clock_timestamp())::float8")[0][0])
    return (before_s + time.time()) / 2 - server_s
