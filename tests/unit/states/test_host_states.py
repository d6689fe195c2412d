"""States of the host do what real Salt's do: the same results, changes and files.

Recorded by ``tests/cases/record_states``. A test run foretells the changes of the real one, where
Salt's tells none; ``ours`` beside a record says where ours is another one on purpose.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

TESTS = Path(__file__).parents[2]
sys.path.insert(0, str(TESTS / "support"))

from isolated_states import ours  # noqa: E402
from state_cases import answered, requests  # noqa: E402

KINDS = (
    "cron",
    "environ",
    "grains",
    "group",
    "host",
    "ini",
    "kmod",
    "locale",
    "mount",
    "ssh_auth",
    "ssh_known_hosts",
    "sysctl",
    "timezone",
    "user",
)


def cases(kind: str) -> list[dict[str, Any]]:
    return yaml.safe_load((TESTS / "cases/states" / f"{kind}.yaml").read_text())


@pytest.mark.parametrize("kind", KINDS)
def test_as_real_salt(kind: str, tmp_path: Path) -> None:
    recorded = cases(kind)
    said = ours([request for case in recorded for request in requests(case)], tmp_path)
    wrong = [
        difference
        for case, found in zip(recorded, answered(recorded, said), strict=True)
        for difference in differences({**case, **case.get("ours", {})}, found)
    ]
    assert not wrong, "\n".join(wrong)


def differences(case: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """What is not as recorded, a line each."""
    what = f"{case['state']} {case['args']}"
    wrong = [
        f"{what} {run} {key}: {found['gives'][run][key]!r} instead of {wanted[key]!r}"
        for run, wanted in case["gives"].items()
        for key in wanted
        if not agrees(run, key, found["gives"], wanted)
    ]
    if "leaves" in case and [*map(bare, found["leaves"])] != [*map(bare, case["leaves"])]:
        wrong.append(f"{what} leaves {found['leaves']!r} instead of {case['leaves']!r}")
    return wrong


def bare(text: str | None) -> str | None:
    """Without blanks at the ends of lines."""
    return text and re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE)


def agrees(run: str, key: str, gives: dict[str, Any], wanted: dict[str, Any]) -> bool:
    got = gives[run]
    if run == "test" and (key == "changes" or got["result"] is not wanted["result"]):
        return foretold(got, gives["first"])
    if run == "test" and got["result"] is True:
        return True  # that it is as declared already is said in the words of a real run
    if key == "comment":
        return words(got[key]) == words(wanted[key])
    return bool(got[key] == wanted[key])


def words(comment: str) -> list[str]:
    """The words of a comment that matter; not the order of names and lines, nor drawn paths."""
    plain = re.sub(r"/tmp/\S+", "", comment).replace(",", " ").split()
    return sorted(word for word in plain if word not in ("is", "already"))


def foretold(said: dict[str, Any], came: dict[str, Any]) -> bool:
    """Whether a test run told what then came; a failure needs not be foreseen."""
    if came["result"] is False:
        return said["result"] in (None, False)
    expected = None if came["changes"] else came["result"]
    return said["result"] is expected and is_part(said["changes"], came["changes"])


def is_part(said: Any, came: Any) -> bool:
    """Whether nothing was said that did not come; a number that is drawn cannot be known."""
    if isinstance(said, dict) and isinstance(came, dict):
        return all(key in came and is_part(said[key], came[key]) for key in said)
    return bool(said == came)
