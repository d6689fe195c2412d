"""environ, hashutil, random, data, key, sdb, jinja, slsutil: what recorded commands do not show.

Their answers are compared with real Salt's in tests/cases/data/differential/render.yaml.
"""

from __future__ import annotations

import os
import string

import pytest

from saltlite.config.minion import FileOptions, IdentityOptions, MinionConfig, PathOptions
from saltlite.context import MinionContext
from saltlite.errors import FunctionError, RenderError, UsageError
from saltlite.host import Host
from saltlite.loader.registry import Registry


def make(tmp_path, extra=None):
    config = MinionConfig(
        identity=IdentityOptions(id="web1"),
        paths=PathOptions(
            conf_file=str(tmp_path / "minion"),
            cachedir=str(tmp_path / "cache"),
            pki_dir=str(tmp_path / "pki"),
            extension_modules=str(tmp_path / "ext"),
        ),
        files=FileOptions(file_client="local", file_roots={"base": [str(tmp_path / "states")]}),
        extra=extra or {},
    )
    ctx = MinionContext(config=config, host=Host(), grains={"os": "Debian"}, pillar={})
    ctx.functions = Registry(ctx)
    return ctx


@pytest.fixture
def call(tmp_path):
    return make(tmp_path).functions.call


@pytest.fixture
def tree(tmp_path):
    for name, text in {
        "f/defaults.yaml": "port: 80\n",
        "f/map.jinja": '{% import_yaml "f/defaults.yaml" as d %}{% set m = {"p": d.port} %}',
        "f/x.json": '{"a": 1}',
    }.items():
        path = tmp_path / "states" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


# environ


def test_clear_all_empties_the_others(call, monkeypatch):
    monkeypatch.setattr(os, "environ", {"KEEP": "1", "GONE": "2"})
    done = call("environ.setenv", {"KEEP": "3"}, clear_all=True, false_unsets=True)
    assert done == {"GONE": None, "KEEP": "3"}
    assert os.environ == {"KEEP": "3"}


# hashutil


def test_a_decoded_file_keeps_its_mode(call, tmp_path):
    path = tmp_path / "out"
    path.write_text("old")
    path.chmod(0o600)
    assert call("hashutil.base64_decodefile", "bmV3", str(path)) is True
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o600
    assert call("hashutil.base64_encodefile", str(path)) == "bmV3\n"


# random


@pytest.mark.parametrize(
    ("options", "letters"),
    [
        ({}, string.ascii_letters + string.digits + string.punctuation),
        ({"punctuation": False}, string.ascii_letters + string.digits),
        ({"chars": "ab"}, "ab"),
        ({"lowercase": False, "digits": False, "punctuation": False}, string.ascii_uppercase),
    ],
)
def test_random_texts_are_of_these_characters(options, letters, call):
    text = call("random.get_str", 200, **options)
    assert len(text) == 200
    assert set(text) <= set(letters)
    assert text != call("random.get_str", 200, **options)


def test_without_a_seed_it_is_chance(call):
    assert len({call("random.rand_int", 1, 10**12) for _ in range(20)}) == 20
    assert sorted(call("random.shuffle", [3, 1, 2])) == [1, 2, 3]
    assert call("random.rand_int", 1, 100, seed="s") == call("random.rand_int", 1, 100, seed="s")


def test_the_id_is_the_seed(tmp_path):
    call = make(tmp_path).functions.call
    assert call("random.seed", 1000) == call("random.seed", 1000, hash="web1")


# data


def test_what_is_stored_is_private_and_survives_rubbish(call, tmp_path):
    assert call("data.update", "token", "s3cr3t")
    stored = tmp_path / "cache" / "datastore"
    assert stored.stat().st_mode & 0o777 == 0o600
    assert call("data.get", "token") == "s3cr3t"
    stored.write_bytes(b"\x81\xa1")
    assert call("data.load") == {}


# key


def test_fingerprints(call, tmp_path):
    (tmp_path / "pki").mkdir()
    pem = "-----BEGIN PUBLIC KEY-----\r\nAAAA\nBBBB\n-----END PUBLIC KEY-----\n\n"
    (tmp_path / "pki" / "minion.pub").write_bytes(pem.encode())
    (tmp_path / "pki" / "minion_master.pub").write_text(pem)
    found = call("key.finger")
    assert found == call("key.finger_master")
    assert len(found.split(":")) == 32
    assert len(call("key.finger", "md5").split(":")) == 16
    with pytest.raises(FunctionError):
        call("key.finger", "nosuch")


def test_the_fingerprint_is_the_one_salt_key_shows(call, tmp_path):
    from saltlite.crypto.keys import pem_fingerprint

    pem = "-----BEGIN PUBLIC KEY-----\nAAAA\nBBBB\n-----END PUBLIC KEY-----"
    (tmp_path / "pki").mkdir()
    (tmp_path / "pki" / "minion.pub").write_text(pem)
    assert call("key.finger") == pem_fingerprint(pem, "sha256")


# sdb


def test_small_databases(tmp_path, monkeypatch):
    (tmp_path / "a.yaml").write_text("x: {y: 1}\n")
    (tmp_path / "b.yaml").write_text("x: {z: 2}\n")
    call = make(
        tmp_path,
        {
            "e": {"driver": "env"},
            "y": {"driver": "yaml", "files": [str(tmp_path / "a.yaml"), str(tmp_path / "b.yaml")]},
            "s": {"driver": "sqlite3", "database": str(tmp_path / "s.db"), "table": "a.b"},
            "bad": {"driver": "sqlite3", "database": str(tmp_path / "s.db"), "table": "x; drop"},
            "odd": {"driver": "nosuch"},
        },
    ).functions.call
    monkeypatch.setenv("SDB_TEST", "v")
    assert call("sdb.get", "sdb://e/SDB_TEST") == "v"
    assert call("sdb.set", "sdb://e/SDB_TEST", "w") == "w"
    assert os.environ["SDB_TEST"] == "w"
    assert [call("sdb.get", f"sdb://y/x:{key}") for key in "yz"] == [1, 2]
    assert call("sdb.set", "sdb://s/k", {"a": [1, None]}) is True
    assert call("sdb.get", "sdb://s/k") == {"a": [1, None]}
    assert call("sdb.delete", "sdb://s/k") is True
    assert call("sdb.get", "sdb://s/k") is None
    made = call("sdb.get_or_set_hash", "sdb://s/h", length=12)
    assert len(made) == 12
    assert call("sdb.get_or_set_hash", "sdb://s/h") == made
    assert call("sdb.get", "sdb://odd/x") == "sdb://odd/x"
    with pytest.raises(FunctionError, match="not a table's name"):
        call("sdb.get", "sdb://bad/x")
    with pytest.raises(FunctionError, match="cannot store values"):
        call("sdb.set", "sdb://y/x", 1)
    with pytest.raises(UsageError):
        call("sdb.get", "sdb://odd/x", strict=True)


DRIVER = """
__func_alias__ = {"set_": "set"}
KEPT = {}

def get(key, profile=None):
    return KEPT.get(key, f"{__opts__['id']} {profile['prefix']}{key}")

def set_(key, value, service=None, profile=None):
    KEPT[key] = value
    return True
"""


@pytest.mark.parametrize("place", ["sdb_dirs", "synchronised", "beside ours"])
def test_a_driver_of_a_users_own(tmp_path, place):
    folder = tmp_path / ("ext/sdb" if place == "synchronised" else "drivers")
    folder.mkdir(parents=True)
    name = "env" if place == "beside ours" else "shelf"
    (folder / f"{name}.py").write_text(DRIVER)
    options = {"k": {"driver": name, "prefix": "p-"}}
    if place != "synchronised":
        options["sdb_dirs"] = [str(folder)]
    call = make(tmp_path, options).functions.call
    assert call("sdb.get", "sdb://k/a") == "web1 p-a"
    assert call("sdb.set", "sdb://k/a", [1]) is True
    assert call("sdb.get", "sdb://k/a") == [1]
    with pytest.raises(FunctionError, match="cannot remove values"):
        call("sdb.delete", "sdb://k/a")


# jinja, slsutil, defaults


def test_maps_of_formulas(call, tree):
    assert call("jinja.load_map", "f/map.jinja", "m") == {"p": 80}
    assert call("jinja.import_yaml", "f/defaults.yaml") == {"port": 80}
    assert call("jinja.import_json", "f/x.json") == {"a": 1}
    assert call("defaults.get", "f:port") == 80
    with pytest.raises(RenderError):
        call("jinja.import_yaml", "f/nosuch.yaml")


def test_a_path_is_no_template(call, tree):
    with pytest.raises(RenderError):
        call("jinja.import_yaml", 'f/x" as y %}{{ salt["test.ping"]() }}{% set z = "')


@pytest.mark.parametrize("name", ["m %}{{ 1 }}", "m as x", "", "m.n"])
def test_a_name_is_no_template(name, call, tree):
    with pytest.raises(UsageError, match="not the name of a variable"):
        call("jinja.load_map", "f/map.jinja", name)


def test_where_files_are(call, tree):
    assert call("slsutil.file_exists", "f/map.jinja") is True
    assert call("slsutil.dir_exists", "f") is True
    assert call("slsutil.path_exists", "nosuch") is False
    assert call("slsutil.findup", "f", ["nosuch", "x.json"]) == "f/x.json"
    assert call("slsutil.renderer", "salt://f/defaults.yaml") == {"port": 80}


def test_variables_of_the_command_line_are_not_all_template_variables(call):
    text = "{{ x }} {{ __pub_jid is defined }}"
    assert (
        call("slsutil.renderer", string=text, default_renderer="jinja", x=5, __pub_jid="1")
        == "5 False"
    )


def test_maps_are_changed_in_place_where_salt_does(call):
    dest = {"a": {"x": 1}}
    assert call("defaults.merge", dest, {"a": {"y": 2}}) is dest
    assert dest == {"a": {"x": 1, "y": 2}}
    assert call("defaults.merge", dest, {"b": 1}, in_place=False) is not dest
