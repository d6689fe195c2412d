"""What the recorder of `localconfig` and its test share: planting a case, reading an answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SEEN = """seen:
  test.configurable_test_state:
    - changes: false
    - result: true
    - comment: "FROM {{ opts['my_option'] }} {{ salt['config.get']('my_option') }}
        {{ opts['nested'] | tojson | replace('"', '') }} {{ opts['id'] }} {{ grains['id'] }}
        {{ pillar['tier'] }} {{ opts['test'] }} {{ saltenv }}"
"""
CHANGING = "x: {test.succeed_with_changes: []}\n"
FAILING = "a: {test.fail_without_changes: []}\nb: {test.nop: []}\n"
FILES = {
    "tree/top.sls": "base: {'*': [seen]}",
    "tree/seen.sls": SEEN.replace("FROM", "base"),
    "tree/changing.sls": CHANGING,
    "tree/failing.sls": FAILING,
    "dev/seen.sls": SEEN.replace("FROM", "dev"),
    "other/top.sls": "base: {'web*': [seen, seen.more]}",
    "other/seen.sls": SEEN.replace("FROM", "other"),
    "pillar/top.sls": "base: {'*': [tier]}",
    "pillar/tier.sls": "tier: front",
    "other_pillar/top.sls": "base: {'*': [tier]}",
    "other_pillar/tier.sls": "tier: back",
}
OF_THE_MOMENT = {"start_time", "duration", "__run_num__"}


def planted(case: dict[str, Any], root: Path) -> str:
    """The minion's files in a directory; the path of the file that is named in the call."""
    settings = {
        "root_dir": str(root / "root"),
        "file_client": "local",
        "id": "web1",
        "my_option": "own",
        "nested": {"a": 1},
        "log_level": "quiet",
        "log_level_logfile": "quiet",
        "file_roots": {"base": [str(root / "tree")], "dev": [str(root / "dev")]},
        "pillar_roots": {"base": [str(root / "pillar")]},
        **case.get("options", {}),
    }
    beside = {"over/over": case["over"]}
    beside |= {f"over/{name}": text for name, text in case.get("files", {}).items()}
    written = {name: json.dumps(text).replace("{root}", str(root)) for name, text in beside.items()}
    for name, text in {**FILES, **written, "own/minion": json.dumps(settings)}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return str(root / "over" / "over")


def plain(answer: Any) -> Any:
    """An answer without what is of the moment."""
    if isinstance(answer, dict):
        return {name: plain(one) for name, one in answer.items() if name not in OF_THE_MOMENT}
    return [plain(one) for one in answer] if isinstance(answer, list) else answer
