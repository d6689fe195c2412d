from __future__ import annotations

import dataclasses
import logging
import os

import pytest
from ip_addr import links_of
from programs import need

from saltlite.config.load import load_minion
from saltlite.context import MinionContext
from saltlite.core.ids import valid_minion_id
from saltlite.grains import LazyGrains, cached, collect, load_grains
from saltlite.host import Completed, Host


@pytest.fixture
def make(tmp_path):
    def make(text="", grains_file=None):
        (tmp_path / "minion").write_text(f"id: m1\nroot_dir: {tmp_path}\nmaster: 127.0.0.1\n{text}")
        if grains_file is not None:
            (tmp_path / "grains").write_text(grains_file)
        return load_minion(tmp_path)

    return make


def test_a_whole_machine(make):
    need("ip")
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


@pytest.mark.parametrize(
    ("more", "collects"),
    [("", False), ("grains_blacklist: [rol*]\n", True), ("grains_cache: true\n", True)],
)
def test_for_a_grain_of_the_configuration_nothing_is_collected(make, monkeypatch, more, collects):
    asked = []
    real = collect.quick
    monkeypatch.setattr(collect, "quick", lambda *given: asked.append(given) or real(*given))
    grains = LazyGrains(make("grains: {os: own}\n" + more, grains_file="os: file\n"), Host())
    assert grains["os"] == load_grains(make("grains: {os: own}\n"), Host())["os"] == "own"
    assert (len(asked) == 2) == collects
    assert dict(grains)["os"] == "own"


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
    monkeypatch.setattr(collect, "collect", lambda config, host, known: calls.append(1) or {"a": 1})
    grains = LazyGrains(make(), Host())
    MinionContext(config=make(), host=Host(), grains=grains, pillar={})
    assert grains
    assert calls == []
    assert dict(grains) == {"a": 1}
    assert grains["a"] == 1
    assert len(grains) == 1
    assert calls == [1]


class DeadResolver(Host):
    """This machine with a resolver that answers nobody; ``asked`` are the names it was asked."""

    def __init__(self):
        self.asked = []

    def run(self, command, **options):
        if command[0] != "getent":
            return super().run(command, **options)
        self.asked.append((command[1], command[2], options["timeout_s"]))
        return Completed(pid=1, exit_code=-9, stdout="", stderr="", timed_out=True)


@pytest.mark.parametrize("name", ["id", "os", "osrelease", "ipv4", "mem_total", "role", "nosuch"])
def test_the_resolver_is_not_asked_for_what_it_does_not_know(make, name):
    host = DeadResolver()
    grains = LazyGrains(make("grains: {role: web}\n"), host)
    assert (name in grains) is (name != "nosuch")
    assert host.asked == []
    everything = dict(grains)
    assert host.asked
    assert name == "nosuch" or everything[name] == grains[name]


@pytest.mark.parametrize(
    ("name", "are_asked"),
    [
        *((name, False) for name in ("id", "os", "init", "nosuch")),
        *((name, True) for name in ("osarch", "virtual", "systemd")),
    ],
)
def test_programs_are_asked_for_what_they_alone_know(make, name, are_asked):
    asked = []

    class Watched(DeadResolver):
        def run(self, command, **options):
            asked.append(command[0])
            return super().run(command, **options)

        def which(self, program):
            return f"/usr/bin/{program}" if program == "systemctl" else None

    grains = LazyGrains(make(), Watched())
    grains.get(name)
    assert asked == (["systemctl"] if are_asked else [])
    again = grains.get(name)
    everything = dict(grains)
    assert asked.count("systemctl") == 1
    assert everything.get(name) == again
    assert {"osarch", "virtual"} <= everything.keys()


@pytest.mark.parametrize("name", ["fqdn", "host", "domain", "fqdn_ip4", "fqdn_ip6", "fqdns"])
def test_the_resolver_is_asked_for_names(make, name):
    host = DeadResolver()
    assert name in LazyGrains(make(), host)
    assert len(host.asked) == 1


def test_users_functions_and_the_file_get_all_grains(make, tmp_path):
    directory = tmp_path / "own"
    directory.mkdir()
    (directory / "own.py").write_text("def own(grains):\n    return {'own': grains['fqdn']}\n")
    config = make(f"grains_dirs: [{directory}]\n", grains_file="fqdn: mine\n")
    grains = LazyGrains(config, DeadResolver())
    assert (grains["own"], grains["fqdn"]) == (os.uname().nodename, "mine")


def test_names_of_all_addresses_only_when_wanted(make):
    class Resolver(Host):
        def run(self, command, **options):
            if command[:2] == ["getent", "hosts"]:
                name = {"192.0.2.7": "b.example b", "2001:db8::7": "a.example"}.get(command[2])
                text = f"{command[2]}  {name}\n" if name else ""
                return Completed(pid=1, exit_code=0 if name else 2, stdout=text, stderr="")
            return super().run(command, **options)

        def links(self):
            return links_of(IP_ADDR)

    assert load_grains(make(), Resolver())["fqdns"] == []
    grains = load_grains(make("enable_fqdns_grains: true\n"), Resolver())
    assert grains["fqdns"] == ["a.example", "b.example"]


IP_ADDR = """1: lo: <LOOPBACK,UP>
    inet 127.0.0.1/8 scope host lo
    inet6 ::1/128 scope host
2: eth0: <UP>
    inet 192.0.2.7/24 scope global eth0
    inet 192.0.2.8/24 scope global secondary eth0
    inet6 fe80::1/64 scope link
    inet6 2001:db8::7/64 scope global
"""


@pytest.fixture
def cached_config(make, tmp_path):
    return make(f"grains_cache: true\ncachedir: {tmp_path}/cache\n", grains_file="role: web\n")


def test_cached_grains_count_until_they_expire_or_are_refreshed(cached_config, tmp_path):
    config = cached_config
    assert load_grains(config, Host())["role"] == "web"
    file = tmp_path / "cache" / cached.FILE
    assert file.stat().st_mode & 0o777 == 0o600
    (tmp_path / "grains").write_text("role: db\n")
    assert LazyGrains(config, Host())["role"] == "web"
    assert load_grains(config, Host(), refresh=True)["role"] == "db"
    (tmp_path / "grains").write_text("role: mail\n")
    assert load_grains(config, Host())["role"] == "db"
    old_s = file.stat().st_mtime - 301
    os.utime(file, (old_s, old_s))
    assert load_grains(config, Host())["role"] == "mail"
    (tmp_path / "grains").write_text("role: last\n")
    cached.forget(config)
    assert load_grains(config, Host())["role"] == "last"


def test_cached_grains_that_are_damaged_or_anothers_do_not_count(cached_config, tmp_path, caplog):
    load_grains(cached_config, Host())
    file = tmp_path / "cache" / cached.FILE
    file.write_bytes(b"{no JSON")
    assert load_grains(cached_config, Host())["role"] == "web"
    assert [cached.FILE in record.getMessage() for record in caplog.records] == [True]
    (tmp_path / "grains").write_text("role: other\n")
    renamed = dataclasses.replace(cached_config.identity, id="m2")
    other = dataclasses.replace(cached_config, identity=renamed)
    assert load_grains(other, Host())["role"] == "other"


def test_grains_that_would_come_back_as_others_are_not_kept(make, tmp_path, caplog):
    text = f"grains_cache: true\ncachedir: {tmp_path}/cache\ngrains: {{ports: {{80: http}}}}\n"
    assert load_grains(make(text), Host())["ports"] == {80: "http"}
    assert load_grains(make(text), Host())["ports"] == {80: "http"}
    assert "the grains are not kept: the key 80 is no text" in caplog.text


def test_without_the_option_nothing_is_kept(make, tmp_path):
    load_grains(make(f"cachedir: {tmp_path}/cache\n"), Host())
    assert not (tmp_path / "cache" / cached.FILE).exists()
