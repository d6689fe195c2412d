"""``pass_to_ext_pillars`` and what becomes of it; the ``__opts__`` of sources and of templates.

The cases are what Salt 3006.30 gave.
"""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from repository import DATA

from saltlite.config.load import load_master, load_minion
from saltlite.config.master import MasterConfig
from saltlite.context import MinionContext
from saltlite.errors import ConfigError, WireError
from saltlite.host import Host
from saltlite.master.commands import pillar as command
from saltlite.master.minioncache import PILLAR
from saltlite.pillar.context import compile_for_minion, compile_masterless
from saltlite.pillar.request import pillar_load

CASES = json.loads((DATA / "pillar/extra_minion_data.json").read_text())
SEEN = ("id", "minion_id", "file_roots", "pillar_roots", "file_client", "custom", "__role")
SOURCES = {
    "two": "minion_id, pillar, extra_minion_data='DEFAULT'): return {'two': extra_minion_data}",
    "three": "minion_id, pillar, *args, extra_minion_data='DEFAULT'):"
    " return {'three': [list(args), extra_minion_data]}",
    "four": "minion_id, pillar, a=1, extra_minion_data='DEFAULT', **kw):"
    " return {'four': [a, kw, extra_minion_data]}",
    "five": "minion_id, pillar, extra_minion_data, *args):"
    " return {'five': [extra_minion_data, list(args)]}",
    "opts": "minion_id, pillar, *args): return {'opts_of_source':"
    f" {{k: __opts__.get(k) for k in {SEEN}}},"
    " 'called': __salt__['mine.o'](), 'file': __salt__['cp.get_file_str']('salt://inf')}",
}
MODULE = f"def o():\n    return {{k: __opts__.get(k) for k in {SEEN}}}\n"
TOP = "base: {'*': [a]}"


def write(root: Path, role: str, sls: str, **options: Any) -> Path:
    files = {
        **{f"ext/pillar/{name}.py": f"def ext_pillar({SOURCES[name]}\n" for name in SOURCES},
        "ext/modules/mine.py": MODULE,
        "p/top.sls": TOP,
        "p/a.sls": sls,
        "p/inp": "pillar's",
        "f/inf": "state's",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    settings = {
        "root_dir": str(root),
        "extension_modules": str(root / "ext"),
        "pillar_roots": {"base": [str(root / "p")]},
        "file_roots": {"base": [str(root / "f")]},
        **options,
    }
    (root / role).write_text(yaml.safe_dump(settings))
    return root


def master(root: Path, *sources: Any, sls: str = "a: 1", **options: Any) -> MasterConfig:
    return load_master(write(root, "master", sls, ext_pillar=list(sources), **options))


def normal(pillar: Any) -> Any:
    return (
        {name: pillar[name] for name in pillar if name != "a"} if pillar.get("a") == 1 else pillar
    )


@pytest.mark.parametrize("case", CASES["driver"], ids=str)
def test_the_driver_gives_what_salt_gives(tmp_path: Path, case: list[Any]) -> None:
    which, argument, expected = case
    config = master(tmp_path, {"extra_minion_data_in_pillar": argument})
    found = compile_for_minion(config, "web1", {}, extra_minion_data=CASES["data"][which])
    assert found == expected


@pytest.mark.parametrize("case", CASES["sources"], ids=str)
def test_a_source_with_the_argument_gets_it(tmp_path: Path, case: list[Any]) -> None:
    extra, sources, expected = case
    assert normal(compiled_by(master(tmp_path, *sources), extra)) == expected


def compiled_by(config: MasterConfig, extra: Any) -> Any:
    ctx: Any = SimpleNamespace(config=config)
    request: Any = SimpleNamespace(id="web1", load={"extra_minion_data": extra})
    return command._compile_pillar(ctx, request, {"id": "web1"})


def test_the_master_bounds_what_it_takes(tmp_path: Path) -> None:
    config = master(tmp_path, {"two": []})
    with pytest.raises(WireError, match="pass_to_ext_pillars: more than 1,048,576 bytes"):
        compiled_by(config, {"big": "x" * 2**20, "small": 1})


def test_targets_see_the_pillar_without_the_minions_words(tmp_path: Path) -> None:
    ctx: Any = SimpleNamespace(config=master(tmp_path, {"two": []}))
    load: dict[str, Any] = {"extra_minion_data": {"role": "db"}}
    request: Any = SimpleNamespace(id="web1", load=load)
    compiled = command._compile_pillar(ctx, request, {})
    assert compiled["two"] == {"role": "db"}
    seen = command._for_targets(ctx, request, {}, compiled)
    assert seen == {PILLAR: {"a": 1, "two": "DEFAULT"}}
    load["pillar_override"] = {"a": 2}
    assert command._for_targets(ctx, request, {}, compiled) == {}


def test_the_cache_gives_a_pillar_to_who_passes_the_same_alone(tmp_path: Path) -> None:
    kept: dict[Any, Any] = {}
    pillars = SimpleNamespace(
        get=lambda *key: kept.get(key), put=lambda *key: kept.update({key[:2]: key[2]})
    )
    config = master(tmp_path, {"two": []}, pillar_cache=True)
    ctx: Any = SimpleNamespace(config=config, pillars=pillars, wall_s=lambda: 1.0)

    def ask(extra: Any) -> Any:
        request: Any = SimpleNamespace(id="web1", load={"extra_minion_data": extra})
        compiled = command._compile_pillar(ctx, request, {})
        return compiled["two"], command._for_targets(ctx, request, {}, compiled)[PILLAR]["two"]

    assert [ask(extra) for extra in ({"r": 1}, {"r": 2}, {})] == [
        ({"r": 1}, "DEFAULT"),
        ({"r": 2}, "DEFAULT"),
        ("DEFAULT", "DEFAULT"),
    ]
    (tmp_path / "p/a.sls").write_text("a: 2")
    assert len(kept) == 3
    for _minion_id, env in list(kept):  # a minion names an environment as what is kept is named
        if env is not None:
            request: Any = SimpleNamespace(id="web1", load={"pillarenv": env})
            assert command._compile_pillar(ctx, request, {})["two"] == "DEFAULT"
    assert ask({"r": 1}) == ({"r": 1}, "DEFAULT")
    assert {pillar["a"] for pillar in kept.values()} == {1}


OPTIONS: dict[str, Any] = {
    "bag": {"b": 1, "l": [{"q": 1}, 5], "c": {"d": 2, "e": 3}, "n": None},
    "nn": None,
    "a:b": 7,
    "em": "",
}


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        ([], {}),
        (["bag"], {"bag": OPTIONS["bag"]}),
        (["bag:b", "missing", "bag:zz"], {"bag": {"b": 1}}),
        (["bag", "bag:b"], {"bag": OPTIONS["bag"]}),
        (["bag:b", "bag:c:d"], {"bag": {"b": 1, "c": {"d": 2}}}),
        (["bag:c:d", "bag:c:e"], {"bag": {"c": {"d": 2, "e": 3}}}),
        (["bag:l:0", "bag:l:q", "a:b", "", "bag:"], {}),
        (["nn", "bag:n", "em"], {"nn": None, "bag": {"n": None}, "em": ""}),
        (["id", "grains:os"], {"id": "web1", "grains": {"os": "Debian"}}),
    ],
)
def test_a_minion_passes_the_options_that_it_names(
    tmp_path: Path, paths: list[str], expected: Any
) -> None:
    config = load_minion(
        write(tmp_path, "minion", "a: 1", id="web1", pass_to_ext_pillars=paths, **OPTIONS)
    )
    load = pillar_load(config, {"os": "Debian"})
    assert load["extra_minion_data"] == expected
    assert config.extra["bag"] == OPTIONS["bag"]


@pytest.mark.parametrize("wrong", [None, "abc", "", {}, {"a": 1}, True, 5, [5], [None]])
def test_other_things_than_names_are_malformed(tmp_path: Path, wrong: Any) -> None:
    config = load_minion(write(tmp_path, "minion", "a: 1", id="web1", pass_to_ext_pillars=wrong))
    with pytest.raises(ConfigError, match=r"'pass_to_ext_pillars' config is malformed\. .*list"):
        pillar_load(config, {})


def test_a_minion_says_which_option_is_too_large(tmp_path: Path) -> None:
    config = load_minion(
        write(tmp_path, "minion", "", id="web1", big="x" * 2**20, pass_to_ext_pillars=["big"])
    )
    with pytest.raises(WireError, match="the largest option is 'big'"):
        pillar_load(config, {})


SLS = """
opts: {{ [opts.id, opts.minion_id, opts.file_roots, opts.pillar_roots]|json }}
conf: {{ salt['config.get']('file_roots')|json }}
state_file: {{ salt['cp.get_file_str']('salt://inf') }}
pillar_file: {{ salt['cp.get_file_str']('salt://inp') }}
{% import_text 'inp' as imported %}
imported: {{ imported }}
"""


def check(root: Path, pillar: dict[str, Any], own_id: str) -> None:
    roots = {"base": [str(root / "f")]}, {"base": [str(root / "p")]}
    assert pillar["opts_of_source"] == {
        "id": own_id,
        "minion_id": "web1",
        "file_roots": roots[0],
        "pillar_roots": roots[1],
        "file_client": "local",
        "custom": "yes",
        "__role": "master" if own_id != "web1" else "minion",
    }
    assert pillar["called"] == {**pillar["opts_of_source"], "id": "web1", "minion_id": None}
    assert pillar["opts"] == ["web1", "web1", *roots]
    assert pillar["conf"] == roots[0]
    assert (pillar["state_file"], pillar["file"]) == ("state's", "state's")
    assert (pillar["pillar_file"], pillar["imported"]) == (False, "pillar's")


def test_sources_have_the_masters_options_and_functions_its_files(tmp_path: Path) -> None:
    config = master(tmp_path, {"opts": []}, sls=SLS, id="themaster", custom="yes")
    check(tmp_path, compile_for_minion(config, "web1", {"id": "web1"}), "themaster")


def test_without_a_master_they_have_the_minions(tmp_path: Path) -> None:
    config = load_minion(
        write(
            tmp_path,
            "minion",
            SLS,
            id="web1",
            file_client="local",
            ext_pillar=[{"opts": []}, {"extra_minion_data_in_pillar": "*"}],
            custom="yes",
            pass_to_ext_pillars=["custom"],
        )
    )
    pillar = compile_masterless(MinionContext(config=config, host=Host(), grains={}, pillar={}))
    check(tmp_path, pillar, "web1")
    assert "custom" not in pillar
