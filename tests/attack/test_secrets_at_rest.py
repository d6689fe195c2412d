"""What lies on disk, and who may read it. Source: docs/security.md#secrets-at-rest."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from attacks import Stranger
from cluster import Cluster, eventually
from rogue import Rogue
from saltlite.crypto.keys import PrivateKey

PRIVATE_KEYS = ("master.pem", "minion.pem")


@pytest.fixture(scope="module", params=[0o000, 0o077], ids=["umask 000", "umask 077"])
def used(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A pair that has done an ordinary day's work under this umask."""
    with Cluster(minions=1, umask=request.param) as cluster:
        harness = set(cluster.root.rglob("*"))
        cluster.start()
        cluster.salt("m1", "test.echo", "s3cr3t-argument", "--out=json")
        cluster.salt_call("m1", "test.ping", "--out=json")
        stranger = Stranger(cluster.ret_port)
        rogue = Rogue(cluster, stranger, "r")
        offered = rogue.accept()
        offered.authenticate()
        for load in ({"cmd": "_mine", "data": {"x": 1}}, {"cmd": "_pillar", "grains": {"a": 1}}):
            rogue.send(load)
        (cluster.pki_dir / "minions" / "r").unlink()
        stranger.close()
        cluster.harness = harness  # type: ignore[attr-defined]
        yield cluster


def paths_below(root: Path) -> list[Path]:
    """What was there when it was looked for; ``rglob`` fails if a directory vanishes."""
    return [
        Path(folder, name) for folder, dirs, files in os.walk(root) for name in sorted(dirs + files)
    ]


def made_by_daemons(cluster: Cluster) -> list[tuple[Path, os.stat_result]]:
    """Everything below the root that was not there before they started."""
    found = []
    for path in paths_below(cluster.root):
        if path in cluster.harness or path.suffix == ".out":  # type: ignore[attr-defined]
            continue
        with suppress(FileNotFoundError):  # the daemons go on, and sweep
            found.append((path, path.lstat()))
    return found


def mode_of(status: os.stat_result) -> int:
    return stat.S_IMODE(status.st_mode)


def most(path: Path, status: os.stat_result) -> int:
    """The most rights a thing of this kind may have."""
    if stat.S_ISDIR(status.st_mode):
        return 0o755 if path.name == "var" or path.parent.name == "var" else 0o700
    if path.name in PRIVATE_KEYS:
        return 0o400
    if path.suffix == ".pid":
        return 0o644
    if path.name == "log" or path.suffix == ".log":
        return 0o640
    return 0o600


def test_nothing_has_more_rights_than_it_may(used: Cluster) -> None:
    found = made_by_daemons(used)
    names = {path.name for path, _ in found}
    assert {"master.pem", "minion.pem", "minion_master.pub", ".root_key", "sessions"} <= names
    wrong = {
        str(path.relative_to(used.root)): oct(mode_of(status))
        for path, status in found
        if not stat.S_ISLNK(status.st_mode) and mode_of(status) & ~most(path, status)
    }
    assert not wrong


def test_everything_belongs_to_the_daemons_user(used: Cluster) -> None:
    assert {status.st_uid for _, status in made_by_daemons(used)} == {os.geteuid()}


def test_the_pid_files_cannot_be_replaced_by_others(used: Cluster) -> None:
    for name in ("master/master.pid", "m1/minion.pid"):
        path = used.root / name
        assert path.is_file()


def test_no_secret_is_in_a_title_or_an_environment(used: Cluster) -> None:
    """``/proc`` is open to all."""
    secrets = [(used.cache_dir / ".root_key").read_text().strip(), "s3cr3t-argument"]
    secrets += [one.read_text().strip() for one in (used.cache_dir / "sessions").iterdir()]
    shown = []
    for daemon in (used.master, *used.minions.values()):
        for process in daemon.processes():
            shown.append(" ".join(process.cmdline()))
            shown.append(repr(process.environ()))
    assert len(shown) >= 8
    assert not [secret for secret in secrets if any(secret in one for one in shown)]


def test_no_secret_is_in_a_log(used: Cluster) -> None:
    secrets = [(used.cache_dir / ".root_key").read_text().strip(), "PRIVATE KEY"]
    secrets += [one.read_text().strip() for one in (used.cache_dir / "sessions").iterdir()]
    text = used.logs() + "".join(one.read_text() for one in used.root.glob("*/log"))
    assert not [secret for secret in secrets if secret in text]


def test_no_daemon_leaves_a_core(used: Cluster) -> None:
    """A core dump would hold every key."""
    for daemon in (used.master, *used.minions.values()):
        for process in daemon.processes():
            assert process.rlimit(psutil.RLIMIT_CORE)[0] == 0, process.cmdline()


# --- secrets that are not as they should be -----------------------------------------------------


KEY = PrivateKey.generate(2048)


def spoil(path: Path, how: str) -> None:
    """Put something in the place of a private key."""
    path.parent.mkdir(parents=True, mode=0o700)
    path.write_bytes(KEY.pem)
    path.chmod(0o400)
    if how.startswith("0"):
        path.chmod(int(how, 8))
    elif how == "link":
        shutil.move(path, path.with_name("elsewhere"))
        path.symlink_to("elsewhere-that-is-not-there")
    elif how == "directory":
        path.unlink()
        path.mkdir()
    elif how == "passphrase":
        path.chmod(0o600)
        path.write_bytes(KEY.encrypt_pem("x"))
    else:
        path.chmod(0o600)
        path.write_bytes({"empty": b"", "half": KEY.pem[:600], "junk": b"junk"}[how])


SPOILT = ["0666", "0664", "link", "directory", "empty", "half", "junk", "passphrase"]


@pytest.mark.parametrize("how", SPOILT)
@pytest.mark.parametrize("which", ["master", "minion"])
def test_a_private_key_that_cannot_be_used_is_never_replaced(which: str, how: str) -> None:
    """One line that names the file, an exit code, and the same file as before."""
    with Cluster(minions=1) as cluster:
        folder = cluster.pki_dir if which == "master" else cluster.root / "m1" / "pki"
        path = folder / f"{which}.pem"
        spoil(path, how)
        before = path.read_bytes() if path.is_file() else None
        daemon = cluster.master if which == "master" else cluster.minions["m1"]
        daemon.start()
        assert daemon.process is not None
        assert daemon.process.wait(20) != 0
        assert (path.read_bytes() if path.is_file() else None) == before
        lines = daemon.log().splitlines()
        assert any(path.name in line for line in lines), lines
        assert len(lines) <= 5 and "Traceback" not in daemon.log(), lines


@pytest.mark.parametrize(("mode", "closed"), [(0o644, 0o600), (0o444, 0o400)])
@pytest.mark.parametrize("which", ["master", "minion"])
def test_a_private_key_that_others_could_read_is_closed(which: str, mode: int, closed: int) -> None:
    """It is the daemon's own: a warning that names it, and the start goes on with that key."""
    with Cluster(minions=1) as cluster:
        folder = cluster.pki_dir if which == "master" else cluster.root / "m1" / "pki"
        path = folder / f"{which}.pem"
        spoil(path, f"{mode:04o}")
        daemon = cluster.master if which == "master" else cluster.minions["m1"]
        daemon.start()
        eventually(lambda: stat.S_IMODE(path.stat().st_mode) == closed, within_s=20, what="closed")
        assert path.read_bytes() == KEY.pem
        eventually(lambda: f"{path} is a private key that others" in daemon.log(), what="a warning")
        assert daemon.alive()
