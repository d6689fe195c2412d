"""States of the host do what real Salt's do: the same results, changes and files.

Recorded by ``tests/cases/record/states``. A test run foretells the changes of the real one, where
Salt's tells none; ``ours`` beside a record says where ours is another one on purpose.
"""

from __future__ import annotations

import re
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from isolated import need_packet_filter, unshare
from isolated_states import ours
from programs import need
from repository import DATA, read_yaml
from state_cases import answered, requests

KINDS = (
    "alias",
    "blockdev",
    "blockdev_tuned",
    "apache",
    "cron",
    "debconf",
    "environ",
    "firewalld",
    "firewalld_service",
    "gem",
    "grains",
    "group",
    "host",
    "ini",
    "iptables",
    "kmod",
    "locale",
    "lvm",
    "mount",
    "network",
    "npm",
    "pip",
    "selinux",
    "ssh_auth",
    "ssh_known_hosts",
    "supervisord",
    "swap",
    "sysctl",
    "timezone",
    "user",
    "virtualenv",
)

PROGRAMS = {"ssh_known_hosts": ("ssh-keygen", "ssh-keyscan")}
"""The kinds that need programs of the machine; other ones are given fakes."""


OF_ROOT = ("mount", "user")
"""The kinds that need root itself: they give directories away and mount what is no tmpfs."""


def cases(kind: str) -> list[dict[str, Any]]:
    return read_yaml(DATA / "states" / f"{kind}.yaml")


@pytest.mark.parametrize("kind", KINDS)
def test_as_real_salt(kind: str, tmp_path: Path) -> None:
    need(*PROGRAMS.get(kind, ()))
    if kind == "iptables":
        need_packet_filter()
    if kind == "blockdev_tuned":
        needs_device_nodes()
    recorded = cases(kind)
    said = ours(
        [request for case in recorded for request in requests(case)],
        tmp_path,
        mapped=kind not in OF_ROOT,
    )
    wrong = [
        difference
        for case, found in zip(recorded, answered(recorded, said), strict=True)
        for difference in differences({**case, **case.get("ours", {})}, found)
    ]
    assert not wrong, "\n".join(wrong)


def needs_device_nodes() -> None:
    """Skip where root may not make the node of a device; none is opened."""
    probe = "mount -t tmpfs none /mnt && mknod /mnt/blk b 240 0"
    if subprocess.run(
        [*unshare(mapped=True), "sh", "-c", probe], capture_output=True, check=False
    ).returncode:
        pytest.skip("the kernel lets nobody make device nodes here")


def differences(case: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """What is not as recorded, a line each."""
    what = f"{case['state']} {case['args']}"
    wrong = [
        f"{what} {run} {key}: {found['gives'][run][key]!r} instead of {wanted[key]!r}"
        for run, wanted in case["gives"].items()
        for key in wanted
        if not agrees(run, key, found["gives"], wanted)
    ]
    if "test" not in case["gives"] and not foretold(
        found["gives"]["test"], found["gives"]["first"]
    ):
        wrong.append(f"{what}: a test run tells {found['gives']['test']!r}")
    if "leaves" in case:
        left, recorded = (
            [*map(bare, map(declared, texts))] for texts in (found["leaves"], case["leaves"])
        )
        if left != recorded:
            wrong.append(f"{what} leaves {left!r} instead of {recorded!r}")
    return wrong


DECLARED = {case["args"]["name"] for kind in ("user", "group") for case in cases(kind)} - {
    line.partition(":")[0] for line in Path("/etc/passwd").read_text().splitlines()
}
RECORDED_ON, TODAY = "20778", str(int(time.time() // 86400))


def declared(text: str | None) -> str | None:
    """Of a list of accounts what is about those of the cases: every machine has others.

    The day of the last change is that of the recording, or today.
    """
    if text is None or not text.startswith("root:"):
        return text
    fields = (line.split(":") for line in text.splitlines())
    own = (each for each in fields if {each[0], *each[-1].split(",")} & DECLARED)
    return "\n".join(
        ":".join("today" if field in (RECORDED_ON, TODAY) else field for field in each)
        for each in own
    )


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


def test_a_test_run_names_the_users_that_a_group_needs_and_are_not_there():
    from saltlite.states import group

    declared = group.present("staff", members="ann,bob")
    assert isinstance(declared, group.Group)
    for info in (None, {"gid": 5, "members": []}):
        now = group.Groups(info, {}, ("bob",))
        steps = declared.plan(now)
        assert isinstance(steps, list)
        said = declared.would(now, steps)
        assert said.splitlines()[-1] == "It will fail unless this run makes the users: bob"
        assert "It will fail" not in declared.would(group.Groups(info, {}), steps)
