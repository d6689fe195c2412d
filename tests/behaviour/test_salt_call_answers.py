"""Our ``salt-call --local`` against the answers of real Salt (tests/cases/record/salt_call).

Every command runs in this process with the recording's configuration. What must differ is named,
with the reason, in tests/cases/data/salt_call/differences.json.
"""

from __future__ import annotations

import io
import json
import logging
import os
import re
import shlex

import pytest
from programs import need
from repository import DATA

from saltlite.cli import salt_call
from saltlite.cli.show import Screen
from saltlite.config.load import load_minion
from saltlite.context import MinionContext
from saltlite.core.output_options import OutputOptions
from saltlite.grains import LazyGrains
from saltlite.host import Host
from saltlite.loader.registry import Registry

CASES = DATA / "salt_call"
SETUP = json.loads((CASES / "setup.json").read_text())
DIFFERENCES = json.loads((CASES / "differences.json").read_text())
APART = {"setup.json", "differences.json"}
RECORDED = {
    line: answer
    for path in sorted(CASES.glob("*.json"))
    if path.name not in APART
    for line, answer in json.loads(path.read_text()).items()
}
OTHERS = re.compile(r"\brunas=(?:root|nobody)\b")
AS_ROOT = (pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="needs root: runas"))
ENVIRON = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "LANG": "C.UTF-8",
    "SHELL": "/bin/bash",
}


@pytest.fixture
def machine(tmp_path, monkeypatch):
    for name in list(os.environ):
        monkeypatch.delenv(name)
    for name, value in ENVIRON.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "script.sh").write_text(SETUP["script"])
    pillar = tmp_path / "pillar"
    pillar.mkdir()
    (pillar / "top.sls").write_text("base: {'*': [data]}\n")
    (pillar / "data.sls").write_text(json.dumps(SETUP["pillar"]))
    (tmp_path / "minion").write_text(
        f"{SETUP['minion']}root_dir: {tmp_path}\npillar_roots: {{base: [{pillar}]}}\n"
    )
    return tmp_path


def answer_of(line, root, caplog, capsys):
    """What our salt-call makes of one recorded command line."""
    argv = ["-c", str(root), "--local", *shlex.split(line.replace("{root}", str(root)))]
    options, words = salt_call._build_parser().parse_command(argv)
    config = load_minion(root, salt_call._config_overrides(options))
    ctx = MinionContext(
        config=config, host=Host(), grains=LazyGrains(config, Host()), pillar=SETUP["pillar"]
    )
    ctx.functions = Registry(ctx)
    printed = io.StringIO()
    screen = Screen(OutputOptions(output_indent=-1), "json", printed)
    with caplog.at_level(logging.ERROR):
        rc = salt_call._call_function(ctx, screen, options, words, None)
    logged = [
        f"[{record.levelname:8}] {record.getMessage()}"
        for record in caplog.records
        if record.levelno >= logging.ERROR
    ]
    out = json.loads(printed.getvalue())["local"] if printed.getvalue() else None
    said = "\n".join([*logged, capsys.readouterr().err]).replace(str(root), "{root}")
    return {"rc": rc, "out": out, "err": said_by(said)}


def said_by(text):
    """Lines that are not Python's, each once; ``KeyError:`` and ``KeyError`` are the same."""
    python = (" ", "Traceback")
    lines = (line for line in text.splitlines() if line.strip() and not line.startswith(python))
    return list(dict.fromkeys(line.removesuffix(": ") for line in lines))


def without(value, keys):
    """A value without the named entries, at any depth."""
    if isinstance(value, dict):
        return {key: without(item, keys) for key, item in value.items() if key not in keys}
    if isinstance(value, list):
        return [without(item, keys) for item in value]
    return value


@pytest.mark.parametrize(
    "line", [pytest.param(line, marks=AS_ROOT if OTHERS.search(line) else ()) for line in RECORDED]
)
def test_as_real_salt_call(line, machine, caplog, capsys):
    if line.startswith("match.ipcidr"):
        need("ip")
    differs = DIFFERENCES.get(line, {})
    recorded = {"err": [], **RECORDED[line]}
    recorded["err"] = said_by("\n".join(recorded["err"]))
    ours = answer_of(line, machine, caplog, capsys)
    for part in ("rc", "out", "err"):
        keys = [key for key in differs if key not in ("rc", "out", "err")]
        same = without(ours[part], keys) == without(recorded[part], keys)
        if differs.get(part, "").startswith("by chance:"):
            continue
        if part in differs:
            assert not same, f"{part} is equal by now: take it out of differences.json"
        else:
            assert without(ours[part], keys) == without(recorded[part], keys), part


def test_differences_are_of_recorded_commands():
    assert set(DIFFERENCES) <= set(RECORDED)
