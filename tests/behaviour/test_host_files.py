"""What real Salt 3006.30 answered and wrote, call after call, in a copy of ``/etc``; we do as much.

A folder of cases has ``calls.json``: a list of ``[call, answer]``, the answer being ``return``,
``error``, or ``any`` where ours is another one on purpose (docs/differences.md). ``etc`` is laid
over the copy; programs in ``bin`` stand in for the machine's.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import isolated
import pytest
from repository import DATA, PROGRAMS

NEEDS = {
    "cron": [],
    "fstab": ["mount", "umount"],
    "hosts_file": [],
    "locale": ["/usr/share/i18n/SUPPORTED", "/usr/share/zoneinfo/US/Mountain", "locale"],
    "ssh": ["ssh-keygen"],
    "sysctl": ["sysctl"],
}


@pytest.mark.parametrize("kind", sorted(NEEDS))
def test_as_real_salt_does(kind, tmp_path):
    for need in NEEDS[kind]:
        if not (Path(need).exists() if need.startswith("/") else shutil.which(need)):
            pytest.skip(f"needs {need}")
    recorded = json.loads((DATA / kind / "calls.json").read_text())
    programs = PROGRAMS / kind
    found = isolated.answers(
        [call for call, _ in recorded],
        DATA / kind / "etc",
        tmp_path,
        programs=programs,
        mapped=True,
    )
    wrong = [
        (call, expected, answer)
        for (call, expected), answer in zip(recorded, found, strict=True)
        if "any" not in expected and answer != expected
    ]
    assert wrong == []
