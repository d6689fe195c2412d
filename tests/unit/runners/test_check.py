"""``check.pillar`` over real files, with the grains and pillars that a master would have cached."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import yaml

from saltlite.config.load import load_master
from saltlite.errors import SaltliteError
from saltlite.runners import check

TREE = {
    "top.sls": "base:\n  '*':\n    - common\n  'os:Debian':\n    - match: grain\n    - debian\n",
    "common.sls": "users: {ann: {password: s3cr3t}}\nports: [80]\n",
    "debian.sls": "include: [part]\nrepo: {{ grains.oscodename | yaml_encode }}\n",
    "part.sls": "part: 1\n",
}
GRAINS = {
    "deb1": {"os": "Debian", "oscodename": "bookworm"},
    "deb2": {"os": "Debian", "oscodename": "bookworm"},
    "rh1": {"os": "RedHat"},
}


@pytest.fixture
def world(tmp_path):
    """A master's files and cache; ``write`` changes a file, ``run`` checks."""
    root = tmp_path / "pillar"
    root.mkdir()
    settings = {
        "root_dir": str(tmp_path),
        "pillar_roots": {"base": [str(root)]},
        "file_roots": {"base": [str(tmp_path / "none")]},
    }
    (tmp_path / "master").write_text(yaml.safe_dump(settings))
    banks = {"grains": dict(GRAINS), "pillar": {}}
    ctx = SimpleNamespace(
        config=load_master(tmp_path),
        cached=lambda tgt, kind: [each for each in ("rh1", "deb2", "deb1") if tgt in ("*", each)],
        cache=SimpleNamespace(fetch=lambda bank, key: banks[bank].get(key)),
    )

    def configure():
        (tmp_path / "master").write_text(yaml.safe_dump(settings))
        ctx.config = load_master(tmp_path)

    found = SimpleNamespace(
        root=root,
        settings=settings,
        configure=configure,
        banks=banks,
        run=lambda **given: check.pillar(ctx, **given),
        write=lambda name, text: (root / name).write_text(text),
    )
    for name, text in TREE.items():
        found.write(name, text)
    for minion in GRAINS:
        banks["pillar"][minion] = {"users": {"ann": {"password": "s3cr3t"}}, "ports": [80]}
        if minion != "rh1":
            banks["pillar"][minion] |= {"part": 1, "repo": "bookworm"}
    return found


def test_nothing_wrong_nothing_changed(world):
    assert world.run() == {"checked": 3, "errors": [], "changes": [], "retcode": 0}


def test_what_would_change_and_for_whom_without_values(world):
    world.write("common.sls", "users: {ann: {password: n3w}, bob: {}}\nports: [80]\n")
    world.write("part.sls", "{}\n")
    found = world.run()
    assert found["changes"] == [
        {
            "minions": ["deb1", "deb2"],
            "added": ["users:bob"],
            "changed": ["users:ann:password"],
            "removed": ["part"],
        },
        {"minions": ["rh1"], "added": ["users:bob"], "changed": ["users:ann:password"]},
    ]
    assert found["retcode"] == 0
    assert "s3cr3t" not in str(found) and "n3w" not in str(found)


def test_values_when_asked_for(world):
    world.write("part.sls", "part: true\n")  # True is not 1
    (changes,) = world.run(tgt="deb1", show_values=True)["changes"]
    assert changes == {"minions": ["deb1"], "changed": {"part": {"old": 1, "new": True}}}


ERRORS = {
    "a tab": ("common.sls", "a: 1\nb:\n\t- c\n", "common.sls:3: "),
    "no colon": ("common.sls", "a: 1\nb\nc: 2\n", "common.sls:"),
    "an undefined grain": ("common.sls", "a: 1\nb: {{ grains.nosuch.x }}\n", "common.sls:2: "),
    "an unclosed block": ("common.sls", "{% if grains.id %}\na: 1\n", "common.sls:"),
    "a key twice": ("common.sls", "a: 1\nb: 2\na: 3\n", "common.sls:3: "),
    "no such SLS": ("top.sls", "base:\n  '*':\n    - common\n    - nosuch\n", "top.sls:4: "),
    "no such include": ("common.sls", "# nosuch\ninclude:\n  - nosuch.x\n", "common.sls:3: "),
    "include is no list": ("common.sls", "a: 1\ninclude: {a: b}\n", "common.sls:2: "),
    "a list": ("common.sls", "- a\n", "common.sls: "),
    "top renders wrong": ("top.sls", "base:\n  '*':\n\t- x\n", "top.sls:3: "),
    "top is a list": ("top.sls", "- base\n", "top.sls "),
    "no such environment": ("top.sls", "base:\n  '*': []\nprod:\n  '*': [x]\n", "top.sls:3: "),
    "an imported file": ("common.sls", "{% import 'part.sls' as x %}", "part.sls:2: "),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_once_with_file_and_line_for_all_whom_they_concern(world, name):
    file, text, place = ERRORS[name]
    world.write("part.sls", "{% set a = 1 %}\n{{ a.b.c }}")
    world.write("debian.sls", "{}\n")
    world.write(file, text)
    found = world.run()
    assert [each["error"] for each in found["errors"]] == [found["errors"][0]["error"]]
    (error,) = found["errors"]
    below = error["error"].removeprefix(f"{world.root}/").removeprefix("salt://")
    assert below.startswith(place)
    assert error["minions"] == ["deb1", "deb2", "rh1"]
    assert found["changes"] == []
    assert found["retcode"] == 1


def test_an_error_of_some_minions_and_the_lines_around_it(world):
    world.write("debian.sls", "secret: t0p\nrepo: {{ grains.oscodenam.x }}\n")
    world.banks["pillar"]["rh1"] = {"ports": [80]}
    found = world.run()
    (error,) = found["errors"]
    assert error["minions"] == ["deb1", "deb2"]
    assert found["changes"] == [{"minions": ["rh1"], "added": ["users"]}]
    assert "t0p" not in str(found)
    (shown,) = world.run(show_values=True)["errors"]
    assert "secret: t0p" in shown["lines"]


def test_minions_of_whom_something_is_not_known(world):
    del world.banks["grains"]["rh1"], world.banks["pillar"]["deb1"]
    assert world.run() == {
        "checked": 2,
        "errors": [],
        "changes": [],
        "without cached grains, not checked": ["rh1"],
        "without cached pillar, not compared": ["deb1"],
        "retcode": 0,
    }


def test_no_minion_is_an_error(world):
    with pytest.raises(SaltliteError, match=r"no minion .* fits 'web'"):
        world.run(tgt="web")


def test_nothing_goes_to_the_log(world, caplog):
    world.write("common.sls", "a: {{ nosuch.x }}\n")
    assert world.run()["retcode"] == 1
    assert caplog.text == ""


def test_grains_that_become_yaml_unquoted_are_warned_of(world):
    world.write("common.sls", "users: {ann: {password: s3cr3t}}\nports: [80]\nx: {{ grains.os }}\n")
    world.write("data.sls", "#!py\n'{{ grains.os }}'\n")
    found = world.run()
    assert found["warnings"] == [f"{world.root}/common.sls:3: {check.UNQUOTED}"]
    assert found["retcode"] == 0


def test_such_a_grain_does_add_a_key(world):
    """What the warning is about."""
    world.write("common.sls", "users: {ann: {password: s3cr3t}}\nports: [80]\nx: {{ grains.os }}\n")
    world.banks["grains"]["rh1"] = {"os": "a\nsecret: b"}
    (changes,) = [each for each in world.run()["changes"] if "rh1" in each["minions"]]
    assert changes["added"] == ["secret", "x"]


@pytest.fixture
def states(world, tmp_path):
    """A tree of states that reads what the pillar of ``world`` has."""
    root = tmp_path / "srv" / "salt"
    (root / "web").mkdir(parents=True)
    text = "{{ pillar.users }}{{ pillar.ports }}\n{{ pillar.get('repo') }}{{ pillar.part }}\n"
    (root / "web" / "init.sls").write_text(f"{text}port: {{{{ pillar['web']['port'] }}}}\n")
    world.settings["file_roots"] = {"base": [str(root)]}
    world.configure()
    return root


def test_keys_that_nothing_reads_are_told_once_with_file_and_line(world, states):
    assert "warnings" not in world.run()
    world.write("part.sls", "part: 1\nold: {secret: s3cr3t}\n")
    world.write("common.sls", "users: {}\nports: []\nweb:\n  prot: s3cr3t\n")
    found = world.run()
    assert found["warnings"] == [
        f"misspelt: web:prot ({world.root}/common.sls:4) is read nowhere; "
        f"{states}/web/init.sls:3 reads web:port",
        f"unused: old ({world.root}/part.sls:2)",
    ]
    assert found["retcode"] == 0 and "s3cr3t" not in str(found)


def test_files_elsewhere_may_read_any_key(world, states):
    world.settings["fileserver_backend"] = ["roots", "gitfs"]
    world.configure()
    world.write("part.sls", "part: 1\nold: 1\n")
    found = world.run()
    assert "warnings" not in found
    assert found["unused keys cannot be told"] == "files of gitfs are not looked at"


def test_a_linked_formula_is_read_and_a_loop_of_links_ends(world, states, tmp_path):
    (tmp_path / "formula").mkdir()
    (tmp_path / "formula" / "map.jinja").write_text("{{ salt['config.get'](tplroot) }}")
    (tmp_path / "formula" / "again").symlink_to(tmp_path / "formula")
    (states / "old").symlink_to(tmp_path / "formula")
    world.write("part.sls", "part: 1\nold: 1\n")
    assert "warnings" not in world.run()


def test_a_file_too_large_to_be_read_may_read_any_key(world, states):
    world.write("part.sls", "part: 1\nold: 1\n")
    (states / "data.bin").write_bytes(b"\0pillar" * 100_000)
    found = world.run()
    assert len(found["warnings"]) == 1 and "unused keys cannot be told" not in found
    (states / "large.txt").write_text("{{ pillar.x }}" * 100_000)
    found = world.run()
    assert "warnings" not in found
    assert found["unused keys cannot be told"] == f"{states}/large.txt is larger than 512 KiB"


def test_only_so_many_keys_are_told(world, states):
    world.write("part.sls", "part: 1\n" + "".join(f"old_{number}: 1\n" for number in range(130)))
    warnings = world.run()["warnings"]
    assert len(warnings) == 101 and warnings[-1] == "unused: 30 keys more"
