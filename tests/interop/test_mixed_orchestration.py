"""An orchestration by our master over a real minion and one of ours."""

from __future__ import annotations

from pathlib import Path

from cluster import OURS, SALT_3006, running

KINDS = {"ours": OURS, "salt6": SALT_3006}

WEB = """
{{ pillar['folder'] }}/{{ grains['id'] }}:
  file.managed:
    - contents: for {{ grains['id'] }}
"""
BROKEN = """
broken:
  test.fail_without_changes
"""
ROLLOUT = """
one by one:
  salt.state:
    - tgt: '*'
    - sls: web
    - batch: 1
    - pillar: {folder: {{ pillar['folder'] }}}
ask:
  salt.function:
    - name: file.read
    - tgt: ours,salt6
    - tgt_type: list
    - arg: [{{ pillar['folder'] }}/salt6]
    - require: [{salt: one by one}]
breaks:
  salt.state:
    - tgt: '*'
    - sls: broken
    - require: [{salt: ask}]
mends:
  salt.runner:
    - name: manage.up
    - onfail: [{salt: breaks}]
"""


def test_an_orchestration_over_both_kinds(tmp_path: Path) -> None:
    with running(minions=KINDS) as fleet:
        roots = fleet.root / "master" / "srv"
        roots.mkdir(exist_ok=True)
        for name, text in {"web": WEB, "broken": BROKEN, "rollout": ROLLOUT}.items():
            (roots / f"{name}.sls").write_text(text)
        words = ("state.orchestrate", "rollout", f"pillar={{folder: {tmp_path}}}", "--out=json")

        tried = fleet.salt_run(*words, "test=True")
        (_, state), *_ = tried.json["data"].popitem()[1].items()
        assert (state["result"], set(state["changes"]["ret"])) == (None, set(KINDS))
        assert not list(tmp_path.iterdir())

        ran = fleet.salt_run(*words)
        assert (ran.exit_code, ran.json["retcode"]) == (1, 1)
        states = {one["__id__"]: one for one in ran.json["data"].popitem()[1].values()}
        assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
            minion: f"for {minion}\n" for minion in KINDS
        }
        assert states["ask"]["changes"]["ret"] == dict.fromkeys(KINDS, "for salt6\n")
        results = {name: one["result"] for name, one in states.items()}
        assert results == {"one by one": True, "ask": True, "breaks": False, "mends": True}
        assert states["mends"]["changes"]["return"] == sorted(KINDS)

        shapes = [
            {tag: set(one) for tag, one in run.items()}
            for run in states["one by one"]["changes"]["ret"].values()
        ]
        keys = {frozenset(*shape.values()) for shape in shapes}
        assert len(keys) == 1, "both kinds tell the same of a state"
