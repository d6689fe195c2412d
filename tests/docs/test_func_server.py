"""The function server of the conformance tool, spoken to as that tool does."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

SERVER = Path(__file__).parents[2] / "scripts" / "func_server"


def talk(tmp_path, *requests):
    (tmp_path / "minion").write_text(f"id: m1\nfile_client: local\nroot_dir: {tmp_path}\n")
    lines = "".join(
        json.dumps({"id": number, **request}) + "\n" for number, request in enumerate(requests)
    )
    done = subprocess.run(
        [sys.executable, SERVER, f"--config-dir={tmp_path}"],
        input=lines, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_conversation(tmp_path):
    answers = talk(
        tmp_path,
        {"kind": "module", "fun": "test.echo", "args": ["hé"], "kwargs": {}},
        {"kind": "module", "fun": "test.echo", "kwargs": {"text": 5}},
        {"kind": "module", "fun": "nosuch.fun"},
        {"kind": "module", "fun": "cmd.run", "args": ["pwd"], "kwargs": {"cwd": "/nosuch"}},
        {"kind": "module", "fun": "test.echo"},
        {"kind": "list", "fun": "module"},
        {"kind": "reset"},
        {"kind": "reload"},
        {"kind": "state", "fun": "test.nop"},
        {"kind": "module", "fun": "config.get", "args": ["x"], "opts": {"x": 1}},
        {"kind": "module", "fun": "config.get", "args": ["x"]},
        {"kind": "module", "fun": "cmd.run", "args": ["cat; echo on stdout"],
         "kwargs": {"python_shell": True}},
    )  # fmt: skip
    assert [answer["id"] for answer in answers] == list(range(12))
    assert [answer.get("return") for answer in answers[:2]] == ["hé", 5]
    assert [answer["error"]["type"] for answer in answers[2:5]] == [
        "KeyError", "CommandExecutionError", "TypeError",
    ]  # fmt: skip
    assert answers[3]["error"]["message"].startswith("Specified cwd '/nosuch'")
    assert "test.ping" in answers[5]["return"]
    assert answers[6]["return"] is answers[7]["return"] is True
    assert not answers[8]["ok"]
    assert [answer["return"] for answer in answers[9:]] == [1, "", "on stdout"]
