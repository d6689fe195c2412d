"""``sdb``: what recorded commands do not show.

Their answers are compared with real Salt's in tests/cases/data/differential/render.yaml.
"""

from __future__ import annotations

import os

import pytest
from local_minion import make

from saltlite.errors import FunctionError, UsageError


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
