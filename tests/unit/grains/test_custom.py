"""Grains of users' files."""

from __future__ import annotations

import logging

import pytest

from saltlite.config.load import load_minion
from saltlite.grains.collect import collect
from saltlite.grains.custom import add_custom
from saltlite.host import Host
from saltlite.loader import shim


@pytest.fixture
def write(tmp_path):
    def write(text, name="a.py"):
        path = tmp_path / "var/cache/salt/minion/extmods/grains" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    yield write
    shim.uninstall()


def config(tmp_path, options=""):
    (tmp_path / "minion").write_text(f"id: m1\nroot_dir: {tmp_path}\n{options}")
    return load_minion(tmp_path)


def test_every_public_function_gives_a_map(tmp_path, write):
    write("def f(): return {'a': 1}\ndef g(): return {'b': 2}\ndef _h(): return {'c': 3}\n")
    write("def f(): return [1]\ndef g(): return None\n", "b.py")
    assert add_custom(config(tmp_path), {"os": "Debian"}) == {"os": "Debian", "a": 1, "b": 2}


def test_what_is_known_so_far(tmp_path, write):
    write("def f(): return {'a': 1, 'os': 'Mine'}\n")
    write(
        "def f(grains): return {'seen': [grains['os'], grains['a'], __grains__['a']]}\n"
        "def g(grains=None, proxy=None): return {'opts': __opts__['id'], 'p': proxy}\n",
        "b.py",
    )
    found = add_custom(config(tmp_path), {"os": "Debian"})
    assert found["seen"] == ["Mine", 1, 1]
    assert (found["opts"], found["p"]) == ("m1", {})


def test_they_have_no_functions(tmp_path, write):
    write("def f(): return {'has': '__salt__' in globals()}\n")
    assert add_custom(config(tmp_path), {}) == {"has": False}


@pytest.mark.parametrize(
    ("options", "found"),
    [("", {"m": {"b": 2}}), ("grains_deep_merge: True\n", {"m": {"a": 1, "b": 2}})],
)
def test_maps_are_joined_if_wanted(tmp_path, write, options, found):
    write("def f(): return {'m': {'a': 1}}\n")
    write("def f(): return {'m': {'b': 2}}\n", "b.py")
    assert add_custom(config(tmp_path, options), {}) == found


def test_one_that_fails_is_one_line(tmp_path, write, caplog):
    path = write("def f(): 1 / 0\ndef g(): return {'b': 2}\n")
    with caplog.at_level(logging.ERROR):
        assert add_custom(config(tmp_path), {}) == {"b": 2}
    lines = [record.getMessage() for record in caplog.records]
    assert lines == [f"grains of a.f ({path}): ZeroDivisionError: division by zero"]


def test_the_users_file_and_configuration_go_before_them(tmp_path, write):
    write("def f(): return {k: 'custom' for k in ('kernel', 'role', 'site')}\n")
    (tmp_path / "grains").write_text("role: file\n")
    found = collect(config(tmp_path, "grains: {site: option}\n"), Host())
    assert [found[name] for name in ("kernel", "role", "site")] == ["custom", "file", "option"]
