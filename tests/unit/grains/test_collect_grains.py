from __future__ import annotations

import logging

import pytest

from saltlite.config.load import load_minion
from saltlite.context import MinionContext
from saltlite.core.ids import valid_minion_id
from saltlite.grains import LazyGrains, collect, load_grains
from saltlite.host import Host


@pytest.fixture
def make(tmp_path):
    def make(text="", grains_file=None):
        (tmp_path / "minion").write_text(f"id: m1\nroot_dir: {tmp_path}\nmaster: 127.0.0.1\n{text}")
        if grains_file is not None:
            (tmp_path / "grains").write_text(grains_file)
        return load_minion(tmp_path)

    return make


def test_a_whole_machine(make):
    grains = load_grains(make(), Host())
    assert grains["id"] == "m1"
    assert grains["kernel"] == "Linux"
    assert grains["server_id"] == 890885657  # as real Salt gives it for m1
    assert grains["master"] == "127.0.0.1"
    assert grains["num_cpus"] >= 1
    assert grains["mem_total"] > 0
    assert grains["os_family"]
    assert "127.0.0.1" in grains["ipv4"]
    assert grains["saltversioninfo"][0] == 3006
    assert valid_minion_id(grains["nodename"])


def test_configuration_before_file_before_core(make):
    config = make(
        "grains: {role: [web], a: config}\n", grains_file="a: file\nb: file\nos: Fake\nid: other\n"
    )
    grains = load_grains(config, Host())
    assert (grains["role"], grains["a"], grains["b"]) == (["web"], "config", "file")
    assert (grains["os"], grains["id"]) == ("Fake", "other")  # as in Salt


@pytest.mark.parametrize("text", ["a: [\n", "- a\n", "just text\n"])
def test_a_broken_file_is_one_line_in_the_log(make, text, caplog):
    with caplog.at_level(logging.ERROR):
        grains = load_grains(make(grains_file=text), Host())
    assert grains["kernel"] == "Linux"
    assert len(caplog.records) == 1
    assert "grains" in caplog.records[0].getMessage()


def test_an_empty_file_is_fine(make, caplog):
    load_grains(make(grains_file="\n"), Host())
    assert caplog.records == []


def test_blacklist(make):
    grains = load_grains(make("grains_blacklist: ['cpu_*', 'ip*']\n"), Host())
    assert not [name for name in grains if name.startswith(("cpu_", "ip"))]


def test_lazy_grains_are_collected_once_and_only_when_looked_at(make, monkeypatch):
    calls = []
    monkeypatch.setattr(collect, "collect", lambda config, host: calls.append(1) or {"a": 1})
    grains = LazyGrains(make(), Host())
    MinionContext(config=make(), host=Host(), grains=grains, pillar={})
    assert calls == []
    assert grains["a"] == 1
    assert dict(grains) == {"a": 1}
    assert len(grains) == 1
    assert calls == [1]
