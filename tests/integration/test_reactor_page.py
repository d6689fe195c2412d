"""The example of docs/reactor.md, as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

from cluster import Cluster, eventually

PAGE = Path(__file__).parents[2] / "docs" / "reactor.md"


def blocks() -> dict[str, str]:
    """The files of the example, by the path in their first line."""
    text = PAGE.read_text().partition("## An example")[2].partition("## Configuration")[0]
    found = re.findall(r"```yaml\n# (\S+?),?(?: [^\n]*)?\n(.*?)```", text, re.DOTALL)
    assert [path for path, _ in found] == ["master.d/reactor.conf", "reactor/tidy.sls", "tidy.sls"]
    return dict(found)


def test_the_example() -> None:
    files = blocks()
    with Cluster(minions=1, master_options={"worker_threads": 2}) as cluster:
        srv, full = cluster.root / "master" / "srv", cluster.root / "app"
        (srv / "reactor").mkdir(parents=True)
        full.mkdir()
        (full / "old.log").write_text("x")
        (full / "kept.txt").write_text("x")
        (cluster.master_dir / "master.d").mkdir()
        (cluster.master_dir / "master.d/reactor.conf").write_text(files["master.d/reactor.conf"])
        for name in ("reactor/tidy.sls", "tidy.sls"):
            (srv / name).write_text(files[name])
        cluster.start()
        data = f"{{id: m1, data: {{directory: {full}}}}}"
        seen = cluster.salt_run("reactor.test", "myco/disk/full", f"data={data}", "--out=json")
        assert seen.exit_code == 0, seen.stdout + seen.stderr
        (call,) = seen.json["reactions"]
        assert (call["fun"], call["tgt"]) == ("state.apply", "m1")
        assert (full / "old.log").exists()  # nothing is done
        sent = cluster.salt_call("m1", "event.send", "myco/disk/full", f"{{directory: {full}}}")
        assert sent.exit_code == 0, sent.stdout + sent.stderr
        eventually(lambda: not (full / "old.log").exists(), what="the directory is tidied")
        assert (full / "kept.txt").exists()
