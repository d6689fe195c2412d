"""A pillar is its minion's alone, and nothing of it is in a log."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from saltlite.config.load import load_master
from saltlite.config.master import MasterConfig
from saltlite.master.commands import pillar as command
from saltlite.pillar.context import compile_for_minion

MINIONS = 200
TREE = {
    "top.sls": "base: {'*': [common], 'id:m*': [{match: grain}, own], '{{ grains.id }}': [only]}",
    "common.sls": "{% from 'map.jinja' import mine with context %}\nid: {{ mine }}\n"
    "sub: {list: [a]}",
    "map.jinja": "{% set mine = grains.id %}",
    "own.sls": "secret: s3cr3t-{{ opts.id }}\nsub: {own: {{ salt['grains.get']('id') }}}",
    "only.sls": "include: [part]\nonly: {{ salt['mine.who']() }}",
    "part.sls": "part: {{ grains['id'] }}",
}
MODULE = "def who():\n    return __grains__['id'] + '/' + __opts__['id']\n"
DRIVER = """
def ext_pillar(minion_id, pillar, *args):
    return {'ext': [minion_id, __grains__['id'], pillar['secret']]}
"""


def master(root: Path, **options: Any) -> MasterConfig:
    for name, text in {**TREE, **options.pop("tree", {})}.items():
        (root / "pillar" / name).parent.mkdir(parents=True, exist_ok=True)
        (root / "pillar" / name).write_text(text)
    for kind, name, text in (("modules", "mine", MODULE), ("pillar", "own", DRIVER)):
        (root / "extmods" / kind).mkdir(parents=True, exist_ok=True)
        (root / "extmods" / kind / f"{name}.py").write_text(text)
    settings = {
        "root_dir": str(root),
        "extension_modules": str(root / "extmods"),
        "pillar_roots": {"base": [str(root / "pillar")]},
        "ext_pillar": [{"own": []}],
        **options,
    }
    (root / "master").write_text(yaml.safe_dump(settings))
    return load_master(root)


def expected(name: str) -> dict[str, Any]:
    return {
        "id": name,
        "sub": {"list": ["a"], "own": name},
        "secret": f"s3cr3t-{name}",
        "part": name,
        "only": f"{name}/{name}",
        "ext": [name, name, f"s3cr3t-{name}"],
    }


def test_two_that_ask_at_once_for_200_minions_never_mix(tmp_path: Path) -> None:
    config = master(tmp_path)

    def compiled(name: str) -> dict[str, Any]:
        return compile_for_minion(config, name, {"id": name})

    names = [f"m{number}" for number in range(MINIONS)]
    with ThreadPoolExecutor(2) as pool:
        found = dict(zip(names, pool.map(compiled, names), strict=True))
    assert found == {name: expected(name) for name in names}


def test_what_one_does_to_its_pillar_does_not_reach_the_next(tmp_path: Path) -> None:
    config = master(tmp_path)
    first = compile_for_minion(config, "m1", {"id": "m1"})
    first["sub"]["list"].append("mine")
    assert compile_for_minion(config, "m2", {"id": "m2"}) == expected("m2")


def asked(config: MasterConfig, **load: Any) -> Any:
    ctx: Any = SimpleNamespace(config=config)
    request: Any = SimpleNamespace(id="m1", load={"cmd": "_pillar", "grains": {}, **load})
    return command._compile_pillar(ctx, request, {"id": "m1"})


@pytest.mark.parametrize(
    "load",
    [
        {"id": "m2"},
        {"ext": {"own": ["x"]}},
        {"ext": {"cmd_yaml": "touch {tmp}/PWNED"}},
        {"ext": {"git": "ext::sh -c touch% {tmp}/PWNED"}},
        {"ext": {"virtkey": "../../x"}},
        {"extra_minion_data": {"path": "../../x", "id": "m2"}},
        {"saltenv": "../x", "pillarenv": None},
        {"pillar_override": "junk"},
        {"pillar_override": ["a"]},
        {"pillar_override": {}, "ext": 5, "extra_minion_data": [1], "pillarenv": {"a": 1}},
        {"pillarenv": ["base"], "saltenv": 7, "ver": None, "clean_cache": {"x": 1}},
        {"ext": {}, "pillarenv": 10**18, "pillar_override": None},
    ],
)
def test_hostile_loads_give_the_plain_pillar(tmp_path: Path, load: dict[str, Any]) -> None:
    config = master(tmp_path)
    assert asked(
        config, **yaml.safe_load(yaml.safe_dump(load).replace("{tmp}", str(tmp_path)))
    ) == expected("m1")
    assert not (tmp_path / "PWNED").exists()


@pytest.mark.parametrize("pillarenv", ["../x", "/etc", "a\0b", "none", "x" * 5000])
def test_a_hostile_environment_has_nothing(tmp_path: Path, pillarenv: str) -> None:
    found = asked(master(tmp_path, ext_pillar=[]), pillarenv=pillarenv)
    assert "secret" not in found


def test_an_override_is_in_the_answer_to_who_sent_it_alone(tmp_path: Path) -> None:
    config = master(tmp_path)
    found = asked(config, pillar_override={"id": "m2", "evil": "{{ 7*7 }}"})
    assert found == {**expected("m1"), "id": "m2", "evil": "{{ 7*7 }}"}
    assert asked(config) == expected("m1")


@pytest.mark.parametrize("safe", [True, False])
def test_no_secret_is_in_a_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, safe: bool
) -> None:
    caplog.set_level(1)
    broken = {
        "top.sls": "base: {'*': [own, broken, wrong, list]}",
        "broken.sls": "a: {{ pillar.nothing.there }}",
        "wrong.sls": "a: [s3cr3t",
        "list.sls": "- s3cr3t",
    }
    found = compile_for_minion(
        master(tmp_path, tree=broken, pillar_safe_render_error=safe), "m1", {"id": "m1"}
    )
    assert found["_errors"]
    assert found["secret"] == "s3cr3t-m1"
    assert "s3cr3t" not in caplog.text
