"""The job store of salt-api: its loop and the threads of its batches read it side by side."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from saltlite.cli.salt_api import _open_store
from saltlite.cli.stores import open_stores
from saltlite.config.load import load_master

JID = "20261123040000000001"


def test_each_thread_reads_the_store(tmp_path: Path) -> None:
    (tmp_path / "master").write_text(f"cachedir: {tmp_path}/cache\n")
    config = load_master(str(tmp_path), {})
    jobs = open_stores(config).open_jobs()
    jobs.new_job(JID, {"fun": "test.ping"}, ["m1"])
    jobs.add_return(JID, "m1", {"return": True})
    jobs.close()
    open_store = _open_store(config)
    found: list[Any] = []

    def read() -> None:
        found.append(open_store().returns(JID)["m1"]["return"])

    read()
    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    read()
    assert found == [True] * 5
    assert open_store() is open_store()
