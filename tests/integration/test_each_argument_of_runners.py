"""Each argument of runners and wheel functions, once, with a running master: as real Salt 3006.30.

The calls are in tests/cases/data/master_functions, with what real Salt gave back
(tests/cases/record/master_functions asks it). Those of a file are made in their order, in one
master's life.
"""

from __future__ import annotations

from typing import Any

import pytest
from repository import DATA, read_yaml

from cluster import OURS, Cluster
from saltlite.cli.runs import runner_context
from saltlite.client.runner import RunnerClient, WheelClient
from saltlite.config.load import load_master
from saltlite.errors import SaltliteError
from saltlite.minion.job import as_plain

CASES = DATA / "master_functions"


@pytest.mark.parametrize(("name", "count"), [("each_argument", 250), ("files_and_keys", 85)])
def test_as_real_salt(name: str, count: int) -> None:
    cases = read_yaml(CASES / f"{name}.yaml")
    assert len(cases) >= count
    cluster = Cluster(
        minions={"web1": OURS}, minion_options={"mine_functions": {"test.echo": ["hi"]}}
    )
    prepare(cluster, name)
    with cluster:
        cluster.start()
        add_pending_keys(cluster)
        cluster.salt("*", "mine.update")
        config = load_master(cluster.master_dir, {})
        wrong = [line for case in cases for line in differences(case, config, str(cluster.root))]
    assert not wrong, "\n".join(wrong)


def prepare(cluster: Cluster, name: str) -> None:
    """The files that the calls of a file of cases find, as they were for real Salt."""
    pillar, states = cluster.root / "master/pillar", cluster.root / "master/srv"
    for folder in (pillar, states / "_runners", states / "_modules", states / "sub/empty"):
        folder.mkdir(parents=True)
    (pillar / "top.sls").write_text("base: {'*': [data]}\n")
    (pillar / "data.sls").write_text("a: 1\n")
    (states / "orch.sls").write_text("x:\n  test.nop\n")
    (states / "_runners/mine_run.py").write_text("def f():\n    return 1\n")
    (states / "_modules/zz.py").write_text("def f():\n    return 1\n")
    (states / "link.sls").symlink_to("orch.sls")
    if name == "files_and_keys":
        (cluster.root / "outside.txt").write_text("secret\n")
        (states / "bin.dat").write_bytes(b"\0\1\2\xff")
        for link, to in LINKS.items():
            (states / link).symlink_to(to.format(root=cluster.root))


LINKS = {
    "sub/inner.sls": "../orch.sls",
    "dirlink": "sub",
    "ghost": "nowhere",
    "out.txt": "{root}/outside.txt",
    "outdir": "{root}",
}


def add_pending_keys(cluster: Cluster) -> None:
    waiting = cluster.pki_dir / "minions_pre"
    waiting.mkdir(exist_ok=True)
    pem = (cluster.pki_dir / "minions/web1").read_text()
    for number in range(1, 5):
        (waiting / f"pend{number}").write_text(pem)


def differences(case: dict[str, Any], config: Any, root: str) -> list[str]:
    """What is not as recorded: one line, or none."""
    answer = answered(case, config)
    if answer is not None:
        answer = {"gives": without(answer["gives"], root)}
    wanted = {"gives": case["gives"]} if "gives" in case else None
    return [] if answer == wanted else [f"{case}: {answer}"]


def answered(case: dict[str, Any], config: Any) -> dict[str, Any] | None:
    """``gives``, or ``None`` for a call that failed."""
    with runner_context(config, lambda _line: None) as ctx:
        client = WheelClient(ctx) if case["kind"] == "wheel" else RunnerClient(ctx)
        try:
            ran = client.run(case["fun"], case["args"], case["kwargs"])
        except SaltliteError:
            return None
    if ran.wrong is not None or not ran.success or ran.retcode:
        return None
    value = as_plain(ran.return_)
    if isinstance(value, dict) and set(value) == {"outputter", "data"}:
        value = value["data"]
    return {"gives": value}


def without(value: Any, root: str) -> Any:
    """Without the directory of this run; keys are text, as in JSON."""
    if isinstance(value, dict):
        return {str(key).replace(root, "{root}"): without(one, root) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [without(one, root) for one in value]
    return value.replace(root, "{root}") if isinstance(value, str) else value
