"""salt-api beside a master, ours or real Salt's, for tests."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ports import free_ports
from replay import Client

from cluster import OURS, Cluster, Daemon, bin_dir, eventually

CLIENTS = [
    "local", "local_async", "local_batch", "local_subset",
    "runner", "runner_async", "wheel", "wheel_async",
]  # fmt: skip

NO_SALT = "raise ImportError('there is no Salt')\n"
"""``salt.py`` where pepper is to find no Salt, as with its users: else ours answers it here."""


class ApiCluster(Cluster):
    """A cluster with salt-api; ``api_kind`` says whose."""

    def __init__(
        self, *, api_kind: str = OURS, api_options: Mapping[str, Any] | None = None, **kwargs: Any
    ) -> None:
        self.api_kind = api_kind
        (self.api_port,) = free_ports(1)
        self.pages = Path(tempfile.mkdtemp(prefix="sl-www-", dir="/tmp"))
        self.app_file = self.pages / "index.html"
        self.app_file.write_text("<!DOCTYPE html>\n<title>the app</title>\n")
        static = self.pages / "static"
        (static / "scripts").mkdir(parents=True)
        recorded = self.pages / "static" / "scripts" / "config.js"
        recorded.write_text(recorded_config_js())
        server = {
            "port": self.api_port,
            "host": "127.0.0.1",
            "disable_ssl": True,
            **(api_options or {}),
        }
        options = {
            "netapi_enable_clients": CLIENTS,
            "rest_cherrypy": server,
            **kwargs.pop("master_options", {}),
        }
        super().__init__(master_options=options, **kwargs)
        command = [
            str(bin_dir(api_kind) / "salt-api"), "-c", str(self.master_dir), "-l", "info",
            "--pid-file", str(self.root / "master" / "api.pid"),
            "--log-file", str(self.root / "master" / "api.log"),
        ]  # fmt: skip
        self.api = Daemon(command, self.root / "api.out", self._environment(), self.umask)
        self.client = Client(self.api_port)

    def start(self) -> ApiCluster:
        super().start()
        self.start_api()
        return self

    def start_api(self) -> None:
        self.api.start()
        eventually(self._api_listens, what="salt-api listens")

    def _api_listens(self) -> bool:
        if not self.api.alive():
            raise AssertionError(f"salt-api ended: {self.api.log()[-4000:]}")
        with contextlib.suppress(OSError):
            return self.client.ask("GET", "/", {"Accept": "application/json"}).status == 200
        return False

    def logs(self) -> str:
        return f"{super().logs()}\n=== salt-api\n{self.api.log()[-6000:]}"

    def close(self) -> None:
        self.api.stop()
        super().close()
        shutil.rmtree(self.pages, ignore_errors=True)

    def prepare_saltgui(self) -> None:
        """What the recording of SaltGUI found: two keys without minions, a pillar, a mine."""
        session = self.client.log_in("anna")
        known = self.pki_dir / "minions"
        for minion in ("newbie", "x"):
            if not (known / minion).exists():
                chunk = {"client": "wheel", "fun": "key.gen_accept", "id_": minion}
                self.client.run(session, chunk)
            assert (known / minion).exists()
        self.salt("m1", "mine.send", "test.ping")
        self.salt("m1", "saltutil.refresh_pillar", "wait=True")
        job = {"client": "local", "tgt": "m1", "fun": "state.apply"}
        assert self.client.run(session, job).status == 200

    def __enter__(self) -> ApiCluster:
        return self


def recorded_config_js() -> str:
    import json

    from replay import CASES

    exchanges = json.loads((CASES / "root.json").read_text())["exchanges"]
    found = next(one for one in exchanges if one["name"] == "static file")
    return str(found["response"]["body"])


RECORDED_AUTH: dict[str, Any] = {
    "auto": {
        "anna": [".*", "@runner", "@wheel", "@jobs"],
        "ben": [
            "test.*",
            {"G@os:Debian": ["grains.items"]},
            {"m1": [{"cmd.run": {"args": ["echo.*"]}}]},
            {"@runner": ["jobs.list_jobs", "test.arg"]},
            {"@wheel": ["key.list_all"]},
        ],
        "cara": ["@jobs"],
        "*": ["status.uptime"],
    },
    "sharedsecret": {"anna": [".*", "@runner", "@wheel", "@jobs"], "staff%": ["test.*"]},
}


@contextlib.contextmanager
def recorded_cluster(api_kind: str = OURS, master: str = OURS) -> Iterator[ApiCluster]:
    """The configuration of the recording, running; see tests/cases/data/api/README.md."""
    folder = Path(tempfile.mkdtemp(prefix="sl-users-", dir="/tmp"))
    users = folder / "users"
    users.write_text("fred:pw1\n")
    users.chmod(0o600)
    file_auth = {
        "^filename": str(users), "^filetype": "text", "fred": [".*", "@runner", "@wheel"],
        "staff%": ["test.*"],
    }  # fmt: skip
    cluster = ApiCluster(
        api_kind=api_kind,
        master=master,
        minions={"m1": master},
        minion_options={"mine_functions": {"test.ping": []}},
        master_options={
            "sharedsecret": "s3cret",
            "nodegroups": {"g1": "m*"},
            "external_auth": {**RECORDED_AUTH, "file": file_auth},
            "id": "master1_master",
        },
    )
    server = {
        "port": cluster.api_port, "host": "127.0.0.1", "disable_ssl": True,
        "app": str(cluster.app_file), "static": str(cluster.pages / "static"),
        "static_path": "/static", "collect_stats": True,
    }  # fmt: skip
    cluster.reconfigure(cluster.master_dir / "master", rest_cherrypy=server)
    write_trees(cluster.root / "master")
    with cluster:
        cluster.start()
        yield cluster
    shutil.rmtree(folder, ignore_errors=True)


def write_trees(base: Path) -> None:
    """The states and the pillar of the recording."""
    trees = {
        "srv/one.sls": "hello:\n  test.succeed_with_changes: []\n",
        "srv/orch.sls": "step1:\n  salt.function:\n    - name: test.ping\n    - tgt: '*'\n",
        "srv/top.sls": "base:\n  '*':\n    - one\n",
        "pillar/top.sls": "base:\n  '*':\n    - role\n",
        "pillar/role.sls": "role: web\n",
    }
    for name, text in trees.items():
        path = base / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
