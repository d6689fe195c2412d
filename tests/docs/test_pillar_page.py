"""The worked example of docs/pillar.md: its files, its commands, and what it says they print."""

from __future__ import annotations

import re
import shlex
from types import SimpleNamespace

import yaml
from repository import ROOT

from saltlite.config.load import load_master
from saltlite.core.output_options import OutputOptions
from saltlite.outputters import nested
from saltlite.runners import check, pillar

SECTION = re.compile(r"^## Where a value comes from\n(.*?)^## ", re.DOTALL | re.MULTILINE)
FILE = re.compile(r"^`/srv/pillar/(\S+)`:\n\n```yaml\n(.*?)```", re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"^# salt-run pillar\.(\S+) (.*)\n((?:(?!#|```).*\n)+)", re.MULTILINE)


def test_the_example_runs_as_written(tmp_path):
    [section] = SECTION.findall((ROOT / "docs/pillar.md").read_text())
    root = tmp_path / "pillar"
    for name, text in FILE.findall(section):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    settings = {"root_dir": str(tmp_path), "pillar_roots": {"base": [str(root)]}}
    (tmp_path / "master").write_text(yaml.safe_dump(settings))
    cache = SimpleNamespace(fetch=lambda _bank, _key: {})
    ctx = SimpleNamespace(config=load_master(tmp_path), cache=cache)
    commands = COMMAND.findall(section)
    assert len(commands) == 3
    for function, words, expected in commands:
        split = [word.partition("=") for word in shlex.split(words)]
        args = [word for word, mark, _value in split if not mark]
        kwargs = {key: yaml.safe_load(value) for key, mark, value in split if mark}
        found = getattr(pillar, function)(ctx, *args, **kwargs)
        shown = nested.output(found, OutputOptions()).replace(str(root), "/srv/pillar")
        assert f"{shown.rstrip()}\n" == expected


UNREAD = re.compile(r"^## Keys that nothing reads\n(.*)", re.DOTALL | re.MULTILINE)
ANY_FILE = re.compile(r"^`/(srv/\S+)`:\n\n```yaml\n(.*?)```", re.DOTALL | re.MULTILINE)
CHECK = re.compile(r"^# salt-run check\.pillar\n(.*?)```", re.DOTALL | re.MULTILINE)


def test_keys_that_nothing_reads_are_told_as_written(tmp_path):
    [section] = UNREAD.findall((ROOT / "docs/pillar.md").read_text())
    files = ANY_FILE.findall(section)
    assert len(files) == 3
    for name, text in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    roots = {
        "pillar_roots": {"base": [str(tmp_path / "srv/pillar")]},
        "file_roots": {"base": [str(tmp_path / "srv/salt")]},
    }
    (tmp_path / "master").write_text(yaml.safe_dump({"root_dir": str(tmp_path), **roots}))
    pillar_now = yaml.safe_load((tmp_path / "srv/pillar/web.sls").read_text())
    banks = {"grains": {}, "pillar": pillar_now}
    ctx = SimpleNamespace(
        config=load_master(tmp_path),
        cached=lambda _tgt, _kind: ["web1"],
        cache=SimpleNamespace(fetch=lambda bank, _key: banks[bank]),
    )
    shown = nested.output(check.pillar(ctx), OutputOptions()).replace(str(tmp_path), "")
    [expected] = CHECK.findall(section)
    assert f"{shown.rstrip()}\n" == expected
