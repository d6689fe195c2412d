"""Grains that a pillar template renders into YAML: what a minion can do by them, and who is told.

Source: docs/security.md#malformed-input.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from attacks import Stranger, clear
from cluster import Cluster, eventually
from rogue import Rogue

UNQUOTED = "role: {{ grains['role'] }}\nplace: x\n"
QUOTED = "role: {{ grains['role'] | yaml_dquote }}\nplace: x\n"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(minions=0, auto_accept=False, master_options={"worker_threads": 2}) as one:
        roots = one.root / "master" / "pillar"
        roots.mkdir(parents=True)
        (roots / "top.sls").write_text("base:\n  a: [plain]\n  b: [quoted]\n")
        (roots / "plain.sls").write_text(UNQUOTED)
        (roots / "quoted.sls").write_text(QUOTED)
        one.start_master()
        yield one


@pytest.fixture(scope="module")
def stranger(cluster: Cluster) -> Iterator[Stranger]:
    one = Stranger(cluster.ret_port)
    eventually(lambda: one.send(clear({"cmd": "ping"})) == {"cmd": "ping"}, what="ping")
    yield one
    one.close()


EVIL = ["a\nsecret: b", "a\nplace: mine", "{{ grains }}", "!!python/object/apply:os.system [id]"]


@pytest.mark.parametrize("role", EVIL)
def test_a_quoted_grain_adds_nothing(cluster: Cluster, stranger: Stranger, role: str) -> None:
    minion = Rogue(cluster, stranger, "b").accept()
    minion.authenticate()
    minion.send({"cmd": "_pillar", "grains": {"role": role}, "ver": "2"})
    shown = cluster.salt_run("cache.pillar", "b", "--out=json").json
    assert shown == {"b": {"role": role, "place": "x"}}


def test_an_unquoted_one_is_warned_of(cluster: Cluster, stranger: Stranger) -> None:
    """Real Salt adds the key as well; ours names the line."""
    minion = Rogue(cluster, stranger, "a").accept()
    minion.authenticate()
    minion.send({"cmd": "_pillar", "grains": {"role": EVIL[0]}, "ver": "2"})
    report = cluster.salt_run("check.pillar", "--out=json").json
    (warning,) = report["warnings"]
    assert "plain.sls:1: a grain becomes part of YAML" in warning
    minion.send({"cmd": "_pillar", "grains": {"role": EVIL[3]}, "ver": "2"})
    shown = cluster.salt_run("cache.pillar", "a", "--out=json").json
    assert "uid=" not in str(shown)
