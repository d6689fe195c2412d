"""Which entries mean a tag."""

from __future__ import annotations

import fnmatch
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from saltlite.config.schema import OptionSource
from saltlite.errors import ConfigError
from saltlite.reactor.source import EntrySource, configured_entries
from saltlite.reactor.table import ReactorEntry, TagTable, read_entries

TAG = "salt/job/20261122221111123456/ret/other.example.com"


@pytest.mark.parametrize(
    ("pattern", "tag", "fits"),
    [
        ("salt/minion/*/start", "salt/minion/web1/start", True),
        ("salt/minion/*/start", "salt/minion/a/b/start", True),  # * also matches /
        ("salt/minion/*/start", "salt/minion/web1/start/x", False),
        ("salt/Minion/*", "salt/minion/web1", False),
        ("x/?", "x/a", True),
        ("x/?", "x/", False),
        ("x/[ab]", "x/b", True),
        ("x/[!ab]", "x/b", False),
        ("x/[!ab]", "x/c", True),
        ("x/[", "x/[", True),  # nothing closes it
        ("x/]", "x/]", True),
        ("a*a", "a", False),
        ("a*a", "aa", True),
        ("*", "anything", True),
        ("", "anything", False),
        ("*/inotify//etc/hosts", "salt/beacon/m1/inotify//etc/hosts", True),
    ],
)
def test_patterns(pattern: str, tag: str, fits: bool) -> None:
    assert bool(TagTable([ReactorEntry(pattern, ("f",))]).matching(tag)) is fits


def test_as_fnmatch_says() -> None:
    """Of random patterns and tags, in the order of the list."""
    chance = random.Random(5)
    letters = "ab/*?[]!"
    for _ in range(300):
        patterns = ["".join(chance.choices(letters, k=chance.randint(1, 6))) for _ in range(8)]
        table = TagTable([ReactorEntry(pattern, ("f",)) for pattern in patterns])
        tag = "".join(chance.choices("ab/[]!", k=chance.randint(0, 7)))
        found = [entry.pattern for entry in table.matching(tag)]
        assert found == [one for one in patterns if fnmatch.fnmatchcase(tag, one)], (tag, patterns)


SHAPES = {
    "other beginnings": "salt/x{}/*/ret",
    "other ends": "salt/job/*/ret/m{}",
    "other middles": "*/x{}/*",
    "literal": "salt/minion/m{}/start",
}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_a_thousand_patterns_cost_little(shape: str) -> None:
    table = TagTable([ReactorEntry(shape.format(number), ("f",)) for number in range(1000)])
    assert not table.matching(TAG)

    patterns = [entry.pattern for entry in table.entries]

    def cost_s(match: Callable[[], object]) -> float:
        began_s = time.process_time()
        for _ in range(50):
            match()
        return time.process_time() - began_s

    def ask_each() -> object:
        return [fnmatch.fnmatchcase(TAG, pattern) for pattern in patterns]

    costs = [(cost_s(lambda: table.matching(TAG)), cost_s(ask_each)) for _ in range(5)]
    assert min(ours for ours, _ in costs) < min(each for _, each in costs) / 20


def test_entries_of_another_form_are_named() -> None:
    value: list[Any] = [
        {"a": "x.sls"}, {"b": ["y.sls", "z.sls"]}, "c", {"d": 1}, {"e": []}, {"f": "x", "g": "y"},
        {1: "x"}, {"": "x"}, {"h": [1]}, None,
    ]  # fmt: skip
    found = read_entries(value, lambda number: f"/m:{number}")
    assert [entry.as_map() for entry in found.entries] == [
        {"a": ["x.sls"]},
        {"b": ["y.sls", "z.sls"]},
    ]
    assert [problem.partition(": ")[0] for problem in found.problems] == [
        f"/m:{number}" for number in range(2, 10)
    ]
    assert found.problems[0] == (
        "/m:2: reactor: found 'c' (text), allowed: a map of one tag pattern to an SLS file or a "
        "list of them"
    )
    assert read_entries({"a": "x"}).problems == (
        "reactor: found {'a': 'x'} (map), allowed: a list of maps",
    )


def test_places_in_files(tmp_path: Path) -> None:
    main = tmp_path / "master"
    main.write_text("id: x\nreactor:\n  - a: /x.sls\n  - wrong\n\n  - {b: 1}\n")
    value = [{"a": "/x.sls"}, "wrong", {"b": 1}]
    found = configured_entries(value, {"reactor": OptionSource(str(main), 2)})
    assert [one.partition(": ")[0] for one in found.problems] == [f"{main}:4", f"{main}:6"]


def test_a_file_is_read_again_when_it_changes(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tmp_path.chmod(0o755)
    file = tmp_path / "reactor.yml"
    file.write_text("- a: /x.sls\n- nothing\n")
    source = EntrySource(str(file), {})
    assert source.table.matching("a")
    assert f"{file}:2: reactor: found 'nothing'" in caplog.text
    file.write_text("- b: /x.sls\n- c: /y.sls\n")
    assert not source.table.matching("b")
    source.refresh()
    assert source.table.matching("b")
    file.write_text("- b: [\n")
    source.refresh()
    source.refresh()
    assert source.table.matching("b")  # as it was
    assert caplog.text.count("goes on with what it had") == 1
    file.unlink()
    source.refresh()
    assert source.table.matching("c")


def test_a_file_that_others_may_write_is_refused(tmp_path: Path) -> None:
    """Whoever writes it runs commands as root."""
    tmp_path.chmod(0o755)
    file = tmp_path / "reactor.yml"
    file.write_text("- a: /x.sls\n")
    file.chmod(0o666)
    with pytest.raises(ConfigError, match="cannot be read"):
        configured_entries(str(file), {})
