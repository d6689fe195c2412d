"""States that are exported, and SLS that collect what others exported."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from saltlite.context import MinionContext

Tree = Callable[..., MinionContext]

WEB = """
service up:
  test.succeed_without_changes: []
backend:
  file.accumulated:
    - name: backends
    - filename: /etc/haproxy.cfg
    - text: server web1 10.0.0.1:80
    - export: web
    - require:
      - test: service up
"""
LB = """
collect:
  - tag: web
    from: 'web*'
    accept:
      file.managed: {arguments: [contents], names: PLACE/*}
"""


class Mine:
    """A master with a mine."""

    def __init__(self, found: dict[str, Any] | None = None) -> None:
        self.found = found or {}
        self.loads: list[dict[str, Any]] = []

    def request(self, load: dict[str, Any]) -> Any:
        self.loads.append(load)
        return self.found if load["cmd"] == "_mine_get" else True


def by_function(answers: dict[str, Any]) -> dict[str, Any]:
    assert isinstance(answers, dict), answers
    return {f"{tag.split('_|-')[0]}.{tag.split('_|-')[3]}": one for tag, one in answers.items()}


def test_an_exported_state_goes_into_the_mine(tree: Tree) -> None:
    ctx = tree({"web.sls": WEB})
    ctx.master = mine = Mine()
    call = ctx.functions.call
    found = by_function(call("state.apply", "web", test=True))["file.accumulated"]
    assert (found["result"], mine.loads) == (None, [])
    found = by_function(call("state.apply", "web"))["file.accumulated"]
    assert (found["result"], found["comment"]) == (
        True, "file.accumulated backends was exported as web",
    )  # fmt: skip
    declared = {
        "v": 1, "tag": "web", "fun": "file.accumulated", "name": "backends", "id": "backend",
        "sls": "web", "args": {"filename": "/etc/haproxy.cfg", "text": "server web1 10.0.0.1:80"},
    }  # fmt: skip
    assert found["changes"] == {"exported": {"old": None, "new": declared}}
    assert mine.loads == [{"cmd": "_mine", "data": {"exported": [declared]}, "clear": False}]
    # Nothing new: nothing is sent.
    again = by_function(call("state.apply", "web"))["file.accumulated"]
    assert (again["changes"], len(mine.loads)) == ({}, 1)
    # The SLS does not export it any more.
    (Path(ctx.config.files.file_roots["base"][0]) / "web.sls").write_text("{}")
    call("state.apply", "web")
    assert mine.loads[1:] == [{"cmd": "_mine", "data": {"exported": []}, "clear": False}]


def test_it_waits_for_what_it_requires(tree: Tree) -> None:
    ctx = tree({"web.sls": WEB.replace("succeed_without_changes", "fail_without_changes")})
    ctx.master = mine = Mine()
    found = by_function(ctx.functions.call("state.apply", "web"))["file.accumulated"]
    assert (found["result"], mine.loads) == (False, [])


@pytest.mark.parametrize(
    "more, words",
    [
        ("- contents: __slot__:salt:test.echo(x)", "a slot is no data"),
        ("- contents: x\n    - export: a b", "is no tag"),
        ("- contents: x\n    - export: [a]", "is no tag, and not True"),
    ],
)
def test_what_cannot_be_exported_fails(tree: Tree, more: str, words: str) -> None:
    ctx = tree({"x.sls": f"/x:\n  file.managed:\n    - export: web\n    {more}\n"})
    ctx.master = mine = Mine()
    found = by_function(ctx.functions.call("state.apply", "x"))["file.managed"]
    assert (found["result"], mine.loads) == (False, [])
    assert words in found["comment"]


def test_a_master_that_does_not_take_it_fails_the_state(tree: Tree) -> None:
    ctx = tree({"web.sls": WEB})
    ctx.master = mine = Mine()
    mine.request = lambda load: False  # type: ignore[method-assign]
    for _ in range(2):  # nothing was noted, so it is tried again
        found = by_function(ctx.functions.call("state.apply", "web"))["file.accumulated"]
        assert found["result"] is False


def exported(name: str, text: str = "server", **more: Any) -> dict[str, Any]:
    return {
        "v": 1, "tag": "web", "fun": "file.managed", "name": name, "id": "backend", "sls": "web",
        "args": {"contents": text}, **more,
    }  # fmt: skip


@pytest.fixture
def place(tmp_path: Path) -> Path:
    place = tmp_path / "backends"
    place.mkdir()
    return place


def test_what_others_exported_is_applied(
    tree: Tree, place: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ctx = tree({"lb.sls": LB.replace("PLACE", str(place))})
    mine = Mine(
        {
            "web2": [exported(f"{place}/b", "two")],
            "web1": [
                exported(f"{place}/a", "one"),
                exported("/etc/shadow"),
                exported("/x", fun="cmd.run"),
            ],
            "../evil": [exported(f"{place}/c")],
        }
    )
    ctx.master = mine
    low = ctx.functions.call("state.show_low_sls", "lb")
    assert [one["__id__"] for one in low] == [
        f"exported:web1:web:file.managed:backend:{place}/a@lb",
        f"exported:web2:web:file.managed:backend:{place}/b@lb",
    ]
    assert mine.loads[0] == {
        "cmd": "_mine_get", "tgt": "web*", "fun": "exported", "tgt_type": "glob",
    }  # fmt: skip
    assert "exported by web1 and refused: the name '/etc/shadow' is not accepted" in caplog.text
    assert "exported by web1 and refused: cmd.run is not accepted" in caplog.text
    assert ctx.functions.call("state.check", "lb")["mistakes"] == []
    found = ctx.functions.call("state.apply", "lb")
    assert all(one["result"] for one in found.values()), found
    assert sorted(path.name for path in place.iterdir()) == ["a", "b"]


def test_the_same_twice_does_not_break_the_run(tree: Tree, place: Path) -> None:
    ctx = tree({"lb.sls": LB.replace("PLACE", str(place))})
    ctx.master = Mine({"web1": [exported(f"{place}/a", "one"), exported(f"{place}/a", "two")]})
    found = ctx.functions.call("state.apply", "lb")
    assert (len(found), (place / "a").read_text()) == (1, "one\n")


def test_a_mistake_in_an_entry_is_told(tree: Tree) -> None:
    ctx = tree({"lb.sls": "collect:\n  - tag: web\n"})
    ctx.master = Mine()
    found = ctx.functions.call("state.apply", "lb")
    assert found == [
        "Collect in SLS 'base:lb', entry 1: accept: is no map of functions with what is taken of"
        " each, as in file.accumulated: {arguments: [text], names: 'web-*'}"
    ]
    (mistake,) = ctx.functions.call("state.check", "lb")["mistakes"]
    assert "accept: is no map of functions" in json.dumps(mistake)


def test_an_id_that_is_called_collect_stays_one(tree: Tree) -> None:
    ctx = tree({"x.sls": "collect:\n  test.nop: []\n"})
    found = ctx.functions.call("state.apply", "x")
    assert list(found) == ["test_|-collect_|-collect_|-nop"]


def test_without_a_master_the_own_mine_counts(tree: Tree, place: Path) -> None:
    web = f"{place}/a:\n  file.managed:\n    - contents: one\n    - export: web\n"
    ctx = tree({"web.sls": web, "lb.sls": LB.replace("PLACE", str(place))})
    ctx.functions.call("state.apply", "web")
    assert list(place.iterdir()) == []
    ctx.functions.call("state.apply", "lb")
    assert (place / "a").read_text() == "one\n"
