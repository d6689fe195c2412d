"""A state run is cut short, hangs, or finds the disk full: files are whole, the next run converges.

Source: docs/reliability.md#promises, #the-minion-goes-away, #disk-and-power.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml
from faultlab import Lab, all_gone

from cluster import OURS, Cluster, bin_dir, eventually, running
from saltlite.process import start_ticks

pytestmark = pytest.mark.alone

OLD = b"old\n"
LARGE = 8 << 20
BIG = ("big1", "big2")

WAIT = """\
echo $$ > {root}/at-{what}
while [ -e {root}/hold-{what} ]; do sleep 0.05; done
"""


class Site:
    """Files that a state run of ``web`` writes, and its commands, which can be made to wait."""

    def __init__(self, world: Cluster) -> None:
        self.world = world
        self.root = world.root / "site"
        self.target = self.root / "etc"
        self.new = {name: b"\0" * LARGE + name.encode() for name in BIG}
        self.new |= {"checked": b"new\n", "last": b"new\n"}

    def lay_out(self) -> None:
        """Old content everywhere."""
        self.target.mkdir(parents=True, exist_ok=True)
        for name in self.new:
            (self.target / name).write_bytes(OLD)
        for mark in self.root.glob("at-*"):
            mark.unlink()
        srv = self.world.root / "master" / "srv"
        srv.mkdir(exist_ok=True)
        for name in BIG:
            (srv / name).write_bytes(self.new[name])
        (srv / "web.sls").write_text(yaml.safe_dump(self._states(), sort_keys=False))

    def _states(self) -> dict[str, Any]:
        def managed(name: str, **options: Any) -> dict[str, Any]:
            given = [{"name": str(self.target / name)}, *({key: options[key]} for key in options)]
            return {"file.managed": given}

        states = {name: managed(name, source=f"salt://{name}") for name in BIG}
        states["checked"] = managed("checked", contents="new", check_cmd=self._waiter("check"))
        states["command"] = {"cmd.run": [{"name": self._waiter("command")}]}
        states["last"] = managed("last", contents="new")
        return states

    def _waiter(self, what: str) -> str:
        script = self.root / f"{what}.sh"
        script.write_text(WAIT.format(root=shlex.quote(str(self.root)), what=what))
        return f"sh {shlex.quote(str(script))}"

    def reaches(self, moment: str) -> Callable[[], bool]:
        """Whether the run is there: it writes a large file, checks one, or runs the command.

        Who looks too late for a write finds the run at its command, where it waits.
        """
        mark = self.root / f"at-{'command' if moment == 'write' else moment}"

        def there() -> bool:
            if moment == "write" and any(self.target.glob(".big*.tmp")):
                return True
            return mark.exists() and bool(mark.read_text())

        return there

    def hold(self, moment: str) -> None:
        """Have the run wait there; one that is killed while it writes would wait a little later."""
        (self.root / f"hold-{'command' if moment == 'write' else moment}").touch()

    def let_go(self) -> None:
        for hold in self.root.glob("hold-*"):
            hold.unlink()

    def contents(self) -> dict[str, bytes]:
        return {name: (self.target / name).read_bytes() for name in self.new}

    def left_over(self) -> list[str]:
        return sorted(name for name in os.listdir(self.target) if name not in self.new)


@pytest.fixture(scope="module")
def world() -> Iterator[Cluster]:
    with running(minions=1, master_options={"worker_threads": 2}) as cluster:
        yield cluster


@pytest.fixture
def site(world: Cluster) -> Iterator[Site]:
    site = Site(world)
    site.lay_out()
    yield site
    site.let_go()
    jobs = world.root / "m1" / "cache" / "proc"
    eventually(lambda: not any(jobs.iterdir()), what="no run is left for the next test")


@pytest.fixture
def lab(world: Cluster) -> Iterator[Lab]:
    lab = Lab(world)
    yield lab
    lab.close()


def begun(site: Site, moment: str) -> tuple[str, list[psutil.Process]]:
    """A state run that has come to ``moment``: its jid and its processes."""
    site.hold(moment)
    jid = site.world.salt("m1", "state.apply", "web", "--async").stdout.split()[-1]
    eventually(site.reaches(moment), within_s=20, what=f"the run comes to {moment}")
    return jid, site.world.minions["m1"].titled(jid)


def applied(site: Site, sls: str) -> dict[str, Any]:
    """What a state run answers."""
    said = site.world.salt("m1", "state.apply", sls, "--out=json", "-t", "30").json["m1"]
    assert isinstance(said, dict), said
    return said


def check_cut_short(site: Site, lab: Lab, jid: str, said: str) -> None:
    """P-dead; each file is whole; one temporary file at most; the next run mends all that."""
    kept = eventually(lambda: lab.returns(jid).get("m1"), within_s=10, what="a return")
    assert (kept["retcode"], kept["success"]) == (254, False)
    assert said in kept["return"]
    found = site.contents()
    assert found["last"] == OLD
    assert not [name for name, data in found.items() if data not in (OLD, site.new[name])]
    assert len(site.left_over()) <= 1
    site.let_go()
    ran = applied(site, "web")
    assert [state["result"] for state in ran.values()] == [True] * len(ran), ran
    assert site.contents() == site.new
    assert site.left_over() == []
    assert not any((site.world.root / "m1" / "cache" / "proc").iterdir())


@pytest.mark.parametrize("moment", ["check", "command"])
def test_a_state_run_whose_process_is_killed(site: Site, lab: Lab, moment: str) -> None:
    jid, (job,) = begun(site, moment)
    command = int((site.root / f"at-{moment}").read_text())
    job.kill()
    eventually(lambda: not start_ticks(command), within_s=2.0, what="its command has ended")
    check_cut_short(site, lab, jid, "SIGKILL")


def test_a_state_run_whose_minion_is_killed(site: Site, lab: Lab) -> None:
    minion = site.world.minions["m1"]
    jid, jobs = begun(site, "write")
    family = [*minion.processes(), *jobs]
    for process in family:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    assert not all_gone(family, within_s=2.0)
    minion.start()
    check_cut_short(site, lab, jid, "stopped while this job ran")


HANGING = {
    "before": {"test.succeed_without_changes": []},
    "hangs": {"cmd.run": [{"name": ""}, {"timeout": 1}]},
    "after": {"test.succeed_without_changes": []},
    "needs it": {"test.succeed_without_changes": [{"require": [{"cmd": "hangs"}]}]},
}


def test_a_command_that_hangs_ends_at_its_timeout_with_its_family(site: Site) -> None:
    """The answers are those of Salt 3006.30, but for what is another one each time."""
    pids = site.root / "pids"
    command = f"(trap '' TERM; exec sleep 300) & echo $$ $! > {pids}; sleep 301"
    HANGING["hangs"]["cmd.run"][0] = {"name": command}
    (site.world.root / "master" / "srv" / "hanging.sls").write_text(yaml.safe_dump(HANGING))
    ran = applied(site, "hanging")
    said = {state["__id__"]: (state["result"], state["comment"]) for state in ran.values()}
    assert said == {
        "before": (True, "Success!"),
        "hangs": (False, f'Command "{command}" run'),
        "after": (True, "Success!"),
        "needs it": (False, "One or more requisite failed: hanging.hangs"),
    }
    (hung,) = [state for state in ran.values() if state["__id__"] == "hangs"]
    assert hung["changes"]["stdout"] == f"{command} : Timed out after 1 seconds"
    assert hung["duration"] < 3000
    left = [int(pid) for pid in pids.read_text().split()]
    eventually(lambda: not any(map(start_ticks, left)), within_s=2.0, what="its family is gone")


# --- disk full ---------------------------------------------------------------------------


FULL = """
set -e
mount -t tmpfs -o size=1m none "$1"
printf 'old\\n' > "$1/large"
printf 'old\\n' > "$1/small"
shift
exec "$@"
"""


@pytest.mark.root
def test_a_disk_that_is_full_fails_the_state_and_not_the_run(tmp_path: Path) -> None:
    from isolated import unshare

    small_disk = tmp_path / "disk"
    small_disk.mkdir()
    (tmp_path / "srv").mkdir()
    (tmp_path / "srv" / "large").write_bytes(b"new\n" * (1 << 19))
    config = {
        "root_dir": str(tmp_path),
        "file_client": "local",
        "id": "x",
        "enable_fqdns_grains": False,
        "file_roots": {"base": [str(tmp_path / "srv")]},
        "pillar_roots": {"base": [str(tmp_path / "pillar")]},
    }
    (tmp_path / "minion").write_text(yaml.safe_dump(config))
    states: dict[str, Any] = {
        name: {"file.managed": [{"name": str(small_disk / name)}, how]}
        for name, how in (("large", {"source": "salt://large"}), ("small", {"contents": "new"}))
    }
    states["look"] = {"cmd.run": [{"name": f"cd {small_disk} && head -c 9 * && ls -A"}]}
    (tmp_path / "srv" / "web.sls").write_text(yaml.safe_dump(states, sort_keys=False))
    call = [str(bin_dir(OURS) / "salt-call"), "-c", str(tmp_path), "--local", "--out=json"]
    done = subprocess.run(
        [*unshare(), "sh", "-c", FULL, "sh", str(small_disk), *call, "state.apply", "web"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    large, small, look = json.loads(done.stdout)["local"].values()
    assert large["result"] is False
    assert large["comment"] == (
        f"Unable to manage file: [Errno 28] No space left on device: '{small_disk}/large'"
    )
    assert large["changes"] == {}
    assert (small["result"], small["comment"]) == (True, f"File {small_disk}/small updated")
    seen = "==> large <==\nold\n\n==> small <==\nnew\nlarge\nsmall"
    assert look["changes"]["stdout"] == seen
