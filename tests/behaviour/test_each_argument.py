"""Each argument of a state's function, once: the results, changes and files of real Salt 3006.30.

The cases are in tests/cases/data/states/each_argument_*.yaml, recorded by
``tests/cases/record/states``: a base declaration, and the same with one more argument. What ours
does otherwise on purpose is in docs/differences.md and has no case here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from isolated import need_packet_filter
from isolated_states import ours
from programs import need
from repository import DATA, read_yaml
from state_cases import answered, requests

FILES = sorted((DATA / "states").glob("each_argument_*.yaml"))
PROGRAMS = {
    "acl": ("setfacl", "getfacl"),
    "alternatives": ("update-alternatives",),
    "file": ("patch",),
    "git": ("git",),
    "gpg": ("gpg",),
    "http": ("ip",),
    "locale": ("locale-gen",),  # its package has the list of what there is
    "rsync": ("rsync",),
}

OF_ROOT = frozenset(
    {"acl", "alternatives", "cmd", "file", "gem", "git", "gpg", "mount", "npm", "pip", "service"}
    | {"service_root", "ssh_auth", "user", "virtualenv"}
)
"""The kinds that need root itself: other users are in them, or places that only it may change."""


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem.removeprefix("each_argument_"))
def test_as_real_salt(path: Path, tmp_path: Path) -> None:
    kind = path.stem.removeprefix("each_argument_")
    need(*PROGRAMS.get(kind, ()))
    if kind == "iptables":
        need_packet_filter()
    recorded = read_yaml(path)
    asked = [request for case in recorded for request in requests(case)]
    said = ours(asked, tmp_path, mapped=kind not in OF_ROOT)
    wrong = [
        f"{case['state']} {case['args']}: {difference}"
        for case, found in zip(recorded, answered(recorded, said), strict=True)
        for difference in differences(case, found)
    ]
    assert not wrong, "\n".join(wrong)


def differences(case: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """What is not as recorded, a line each."""
    gives, wanted = found["gives"], case["gives"]
    wrong = [
        f"{run} {key}: {gives[run][key]!r} instead of {wanted[run][key]!r}"
        for run in ("first", "second")
        for key in ("result", "changes")
        if comparable(gives[run][key]) != comparable(wanted[run][key])
    ]
    if gives["test"]["result"] is not wanted["test"]["result"] and not foretold(gives):
        wrong.append(f"test: {gives['test']!r} instead of {wanted['test']!r}")
    if "leaves" in case and found["leaves"] != case["leaves"]:
        wrong.append(f"leaves {found['leaves']!r} instead of {case['leaves']!r}")
    return wrong


def foretold(gives: dict[str, Any]) -> bool:
    """Whether the test run said what then came, where Salt's did not."""
    came = gives["first"]
    expected = None if came["changes"] and came["result"] else came["result"]
    return gives["test"]["result"] is expected


def comparable(value: Any) -> Any:
    """Without the numbers of processes; what Salt removes is told in an order that is chance."""
    if not isinstance(value, dict):
        return value
    return {
        key: sorted(one) if key in ("removed", "deleted") and isinstance(one, list) else one
        for key, one in value.items()
        if key != "pid"
    }


def test_there_are_enough_cases() -> None:
    assert sum(len(read_yaml(path)) for path in FILES) >= 400
