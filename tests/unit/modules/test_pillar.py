"""What is asked of pillar: missing values, sources on demand, a refresh that is waited for."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from saltlite.config.load import load_master, load_minion
from saltlite.context import MinionContext
from saltlite.core.plain import PlainMap
from saltlite.errors import UsageError
from saltlite.host import Host
from saltlite.modules import pillar
from saltlite.modules.saltutil import refreshing
from saltlite.pillar.context import compile_for_minion

DRIVER = "def ext_pillar(minion_id, pillar, *args, **kwargs):\n    return {'asked': [*args]}\n"
COMPLETE = "/salt/minion/minion_pillar_refresh_complete"


class Bus:
    """A bus that a minion answers on, or does not."""

    def __init__(self, answer: dict[str, Any] | None) -> None:
        self.fired: list[tuple[str, PlainMap]] = []
        self.answer = answer
        self.closed = False

    def fire(self, tag: str, data: PlainMap) -> None:
        self.fired.append((tag, data))

    def connect_confirmed(self, timeout_s: float) -> bool:
        assert not self.fired
        return True

    def get(self, timeout_s: float) -> Any:
        return None if self.answer is None else SimpleNamespace(data=self.answer)

    def close(self) -> None:
        self.closed = True


def context(tmp_path: Path, bus: Bus | None = None, **options: Any) -> MinionContext:
    (tmp_path / "minion").write_text(yaml.safe_dump({"id": "web1", **options}))
    config = load_minion(tmp_path)
    ctx = MinionContext(config=config, host=Host(), grains={}, pillar={"a": {"b": None}})
    if bus is not None:
        ctx.events = bus
        ctx.listen = lambda prefix: bus if prefix == COMPLETE else None
    return ctx


def test_a_missing_value_is_an_error_where_the_option_says_so(tmp_path: Path) -> None:
    ctx = context(tmp_path, pillar_raise_on_missing=True)
    with pytest.raises(KeyError, match="Pillar key not found: a:c"):
        pillar.get(ctx, "a:c")
    assert pillar.get(ctx, "a:c", default=None) is None
    assert pillar.get(ctx, "a:b") is None


def test_a_missing_value_is_empty_otherwise(tmp_path: Path) -> None:
    assert pillar.get(context(tmp_path), "a:c") == ""


@pytest.mark.parametrize(
    ("answer", "expected"),
    [({"complete": True}, True), ({"complete": False}, False), (None, False)],
)
def test_a_refresh_can_be_waited_for(
    tmp_path: Path, answer: dict[str, Any] | None, expected: bool
) -> None:
    bus = Bus(answer)
    assert refreshing.refresh_pillar(context(tmp_path, bus), wait=True) is expected
    assert bus.fired == [("pillar_refresh", {"clean_cache": True})]
    assert bus.closed


def test_a_refresh_is_not_waited_for_without_a_minion(tmp_path: Path) -> None:
    assert refreshing.refresh_pillar(context(tmp_path), wait=True) is False


def test_ext_takes_one_source(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        pillar.ext(context(tmp_path), {"a": 1, "b": 2})
    with pytest.raises(UsageError):
        pillar.ext(context(tmp_path), [])  # type: ignore[arg-type]


def test_ext_without_a_source_is_the_pillar(tmp_path: Path) -> None:
    (tmp_path / "top.sls").write_text("base: {'*': [p]}")
    (tmp_path / "p.sls").write_text("bar: 1")
    ctx = context(tmp_path, file_client="local", pillar_roots={"base": [str(tmp_path)]})
    assert pillar.ext(ctx, {}) == {"bar": 1}
    assert pillar.ext(ctx, {}, pillar={"a": 1}) == {"a": 1, "bar": 1}


def master(tmp_path: Path, **options: Any) -> Any:
    code = tmp_path / "extmods" / "pillar"
    code.mkdir(parents=True)
    (code / "mine.py").write_text(DRIVER)
    settings = {
        "root_dir": str(tmp_path),
        "extension_modules": str(tmp_path / "extmods"),
        "pillar_roots": {"base": [str(tmp_path / "none")]},
        **options,
    }
    (tmp_path / "master").write_text(yaml.safe_dump(settings))
    return load_master(tmp_path)


def test_a_source_counts_on_demand_if_the_option_names_it(tmp_path: Path) -> None:
    config = master(tmp_path, on_demand_ext_pillar=["mine"])
    assert compile_for_minion(config, "web1", {}, on_demand={"mine": ["x"]}) == {"asked": ["x"]}


@pytest.mark.parametrize("name", ["cmd_yaml", "git", "file_tree", "stack", "http_json"])
def test_what_runs_commands_or_reads_files_is_never_there_on_demand(
    tmp_path: Path, name: str
) -> None:
    config = master(tmp_path, on_demand_ext_pillar=["mine", name])
    touched = tmp_path / "touched"
    assert compile_for_minion(config, "web1", {}, on_demand={name: f"touch {touched}"}) == {}
    assert not touched.exists()


@pytest.mark.parametrize(
    "asked", ["mine", ["mine"], {"mine": 1, "x": 2}, {}, {3: 4}, None, {"x": 1}]
)
def test_junk_on_demand_does_nothing(tmp_path: Path, asked: Any) -> None:
    config = master(tmp_path, on_demand_ext_pillar=["mine"])
    assert compile_for_minion(config, "web1", {}, on_demand=asked) == {}


def test_the_masters_options_in_pillar_have_its_own_file_roots(tmp_path: Path) -> None:
    config = master(tmp_path, pillar_opts=True, file_roots={"base": ["/srv/a"]})
    assert compile_for_minion(config, "web1", {})["master"]["file_roots"] == {"base": ["/srv/a"]}
