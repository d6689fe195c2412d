"""The trees of tests/cases/data/pillar/compiled.yaml in both releases of Salt that we stand beside.

The unit tests hold ours to these records; this holds the records to the releases, key order
included.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from repository import DATA, read_yaml

from cluster import SALT_3006, SALT_3007, SALT_3008, bin_dir

HERE = Path(__file__).parent
CASES = DATA / "pillar" / "compiled.yaml"
GRAINS = {"id": "web1", "role": "web", "os": "Debian", "lst": ["a", "b"]}


@pytest.mark.parametrize("release", [SALT_3006, SALT_3007, SALT_3008])
def test_the_records_are_what_salt_gives(release: str, tmp_path: Path) -> None:
    """Of top files that name each other's environments 3007 alone heeds only the one of base."""
    cases: list[dict[str, Any]] = read_yaml(CASES)
    base = {"root_dir": str(tmp_path / "root"), "file_client": "local", "id": "web1"}
    (tmp_path / "minion").write_text(yaml.safe_dump({**base, "log_level": "quiet"}))
    requests = [options(case, tmp_path / str(n)) for n, case in enumerate(cases)]
    done = subprocess.run(
        [bin_dir(release) / "python", HERE / "real_pillars.py", tmp_path],
        input="".join(f"{json.dumps(request)}\n" for request in requests),
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    found = [line.replace(str(tmp_path), "{root}") for line in done.stdout.splitlines()]
    assert len(found) == len(cases), done.stderr[-1000:]
    other = {
        case["name"]
        for case, text in zip(cases, found, strict=True)
        if text != json.dumps(case["pillar"])
    }
    assert other == ({"two envs"} if release == SALT_3007 else set()), found


def options(case: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Write the tree of a case; the options under which it is compiled."""
    for env, files in case["tree"].items():
        (folder / env).mkdir(parents=True)
        for name, text in files.items():
            path = folder / env / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    given = json.loads(json.dumps(case.get("options", {})).replace("{tree}", str(folder)))
    roots = {env: [str(folder / env)] for env in case["tree"]}
    sees_itself = "{{ pillar" in json.dumps(case["tree"])
    asked = {"grains": GRAINS, "pillar": {}, "pillar_roots": roots, "sees_itself": sees_itself}
    return {**asked, **given}
