"""The commands with ``--eauth``: prompts, tokens, rights, messages and exit codes."""

from __future__ import annotations

import json
import os
import pwd
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from cluster import OURS, Cluster, Ran, bin_dir

EVERYTHING = [".*", "@runner", "@wheel", "@jobs"]
RIGHT = ["--username", "anna", "--password", "pw"]
CUSTOM = """
def auth(username, password):
    return password == "open" + username

def groups(username, **kwargs):
    return ["staff"]

def acl(username, **kwargs):
    return ["test.version", "@jobs"] if username == "hugo" else None

def process_acl(auth_list, opts):
    return [*auth_list, "grains.get"] if "test.ping" in auth_list else auth_list
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(minions=1) as one:
        users = one.root / "users"
        users.write_text("anna:pw\nben:pw\ndan:pw\n")
        extensions = one.root / "master" / "extmods" / "auth"
        extensions.mkdir(parents=True)
        (extensions / "house.py").write_text(CUSTOM)
        one.reconfigure(
            one.master_dir / "master",
            extension_modules=str(extensions.parent),
            external_auth={
                "file": {
                    "^filename": str(users), "anna": EVERYTHING, "ben": ["test.ping"],
                },
                "house": {"staff%": ["test.ping", "@jobs"]},
            },
        )  # fmt: skip
        yield one.start()


def said(ran: Ran) -> tuple[int, str]:
    return ran.exit_code, ran.stdout.strip()


def test_a_job_by_a_login(cluster: Cluster) -> None:
    ran = cluster.salt("-a", "file", *RIGHT, "m1", "test.ping", "--out=json", "--static")
    assert ran.json == {"m1": True}
    ran = cluster.salt("--eauth=file", "--username=ben", "--password=pw", "m1", "test.ping")
    assert said(ran) == (0, "m1:\n    True")


def test_who_is_asked_for_name_and_password(cluster: Cluster) -> None:
    ran = cluster.salt("-a", "file", "m1", "test.ping", stdin="anna\npw\n")
    assert said(ran) == (0, "username: password: m1:\n    True")
    ran = cluster.salt("-a", "file", "--username", "anna", "m1", "test.ping", stdin="pw\n")
    assert said(ran) == (0, "password: m1:\n    True")


def wrong(name: str) -> list[str]:
    """A login that fails. Each failure of a name is answered later than the one before."""
    return ["--username", name, "--password", "no"]


def failure_of(name: str) -> str:
    return f'Authentication failure of type "eauth" occurred for user {name}.'


def test_a_wrong_login(cluster: Cluster) -> None:
    """Real Salt ends with 0; see docs/differences.md."""
    failed = (2, "Authentication error occurred.")
    assert said(cluster.salt("-a", "file", *wrong("dora"), "m1", "test.ping")) == failed
    assert said(cluster.salt("-T", "-a", "file", *wrong("doris"), "m1", "test.ping")) == failed
    ran = cluster.salt_run("-a", "file", *wrong("dorothy"), "jobs.active")
    assert said(ran) == (2, failure_of("dorothy"))
    ran = cluster.salt_key("--eauth", "file", *wrong("dolly"), "-L")
    assert said(ran) == (2, failure_of("dolly"))


def test_a_refusal_is_written_by_the_outputter(cluster: Cluster) -> None:
    """As real Salt 3006.30, whose exit code is 0."""
    ran = cluster.salt("--out=json", "-a", "file", *wrong("emil"), "m1", "test.ping")
    assert said(ran) == (2, json.dumps("Authentication error occurred."))
    ran = cluster.salt_run("--out=json", "-a", "file", *wrong("emma"), "jobs.active")
    assert said(ran) == (2, json.dumps(failure_of("emma")))
    ran = cluster.salt_run("--out=quiet", "-a", "file", *wrong("elsa"), "jobs.active")
    assert said(ran) == (2, "")
    ran = cluster.salt_key("--out=json", "--eauth", "file", *wrong("erna"), "-L")
    assert said(ran) == (2, json.dumps(failure_of("erna")))


def test_what_the_list_does_not_allow(cluster: Cluster) -> None:
    ben = ["--username", "ben", "--password", "pw"]
    ran = cluster.salt("-a", "file", *ben, "m1", "cmd.run", "id")
    assert said(ran) == (0, "Authorization error occurred.")
    eauth = failure_of("ben")
    assert said(cluster.salt_run("-a", "file", *ben, "jobs.active")) == (2, eauth)
    assert said(cluster.salt_key("--eauth", "file", *ben, "-y", "-d", "m1")) == (2, eauth)
    assert (cluster.pki_dir / "minions" / "m1").exists()


def test_a_runner_by_a_login(cluster: Cluster) -> None:
    ran = cluster.salt_run("-a", "file", *RIGHT, "test.arg", "a", "b=1", "--out=json")
    assert ran.json == {"args": ["a"], "kwargs": {"b": 1}}
    missing = cluster.salt_run("-a", "file", *RIGHT, "test.nothing")
    assert said(missing)[0] == 1
    assert "'test.nothing' is not available" in missing.stdout
    later = cluster.salt_run("-a", "file", *RIGHT, "--async", "test.arg")
    assert later.exit_code == 0
    assert "running under tag salt/run/" in later.stderr
    found = cluster.salt_run("jobs.list_jobs", "--out=json").json
    assert "anna" in {job["User"] for job in found.values()}


def test_keys_by_a_login(cluster: Cluster) -> None:
    listed = cluster.salt_key("--eauth", "file", *RIGHT, "-L", "--out=json").json
    assert listed["minions"] == ["m1"]
    waiting = cluster.pki_dir / "minions_pre" / "new1"
    waiting.parent.mkdir(exist_ok=True)
    waiting.write_bytes((cluster.pki_dir / "minions" / "m1").read_bytes())
    accepted = cluster.salt_key("--eauth", "file", *RIGHT, "-y", "-a", "new1")
    assert accepted.stdout.endswith("Key for minion new1 accepted.\n")
    fingers = cluster.salt_key("--eauth", "file", *RIGHT, "-f", "*1", "--out=json").json
    assert set(fingers["minions"]) == {"m1", "new1"}
    rejected = cluster.salt_key("--eauth", "file", *RIGHT, "-y", "-r", "new1", "--include-accepted")
    assert rejected.stdout.endswith("Key for minion new1 rejected.\n")
    deleted = cluster.salt_key("--eauth", "file", *RIGHT, "-y", "-d", "new1")
    assert deleted.stdout.endswith("Key for minion new1 deleted.\n")
    assert not list(cluster.pki_dir.glob("minions*/new1"))


def test_a_module_of_ones_own(cluster: Cluster) -> None:
    """Its list counts in place of the configuration's, for a login as for a token."""
    house = ["-a", "house", "--username", "hugo", "--password", "openhugo"]
    other = ["-a", "house", "--username", "ida", "--password", "openida"]
    refused = (0, "Authorization error occurred.")
    assert cluster.salt(*house, "m1", "test.version", "--out=json", "--static").json["m1"]
    assert said(cluster.salt(*house, "m1", "test.ping")) == refused
    assert said(cluster.salt(*house, "-T", "m1", "test.ping")) == refused
    assert cluster.salt(*house, "-T", "m1", "test.version", "--out=json", "--static").json["m1"]
    assert said(cluster.salt(*other, "m1", "test.ping")) == (0, "m1:\n    True")
    assert said(cluster.salt(*other, "m1", "grains.get", "id")) == (0, "m1:\n    m1")
    assert said(cluster.salt(*other, "m1", "test.version")) == refused
    (cluster.root / "salt_token").unlink()
    assert cluster.salt_run(*house, "jobs.active", "--out=json").json == {}
    wrong = ["-a", "house", "--username", "hugo", "--password", "open"]
    assert said(cluster.salt(*wrong, "m1", "test.ping"))[0] == 2
    names = cluster.salt("-a", "nosuch", "m1", "test.ping").stdout.splitlines()[1]
    assert "house" in names.partition(": ")[2].split(", ")


def test_a_token_is_kept_for_who_has_no_key(cluster: Cluster) -> None:
    """Root has a key and is not limited by a token; who has none is let in by it alone."""
    made = cluster.salt("-T", "-a", "file", *RIGHT, "m1", "test.ping", "--out=json", "--static")
    assert made.json == {"m1": True}
    path = cluster.root / "salt_token"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(path.read_text().strip()) == 64
    path.write_text("a" * 64)
    assert said(cluster.salt("m1", "test.ping")) == (0, "m1:\n    True")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_somebody_else_with_a_token(cluster: Cluster) -> None:
    """He waits for his jobs and runs without the event bus, and sees nobody else's."""
    home = cluster.root / "home"
    home.mkdir(mode=0o755)
    for path in (cluster.root, cluster.root / "master", cluster.master_dir):
        path.chmod(0o755)
    account = pwd.getpwnam("nobody")
    os.chown(home, account.pw_uid, account.pw_gid)

    def run(*words: str, program: str = "salt") -> Ran:
        done = subprocess.run(
            ["setpriv", f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}",
             "--clear-groups", "--", str(bin_dir(OURS) / program), "-c", str(cluster.master_dir),
             *words],
            capture_output=True, text=True, timeout=60, cwd="/", stdin=subprocess.DEVNULL,
            env={**cluster._environment(), "HOME": str(home)},
        )  # fmt: skip
        return Ran(done.returncode, done.stdout, done.stderr)

    if run("--version").exit_code:
        pytest.skip("other users cannot reach this Python")
    login = ["-a", "file", "--username=ben", "--password=pw"]
    made = run("-T", *login, "--async", "m1", "test.ping")
    assert made.stdout.startswith("Executed command with job ID: "), made
    again = run("--async", "m1", "test.ping")
    assert again.stdout.startswith("Executed command with job ID: "), again
    assert said(run("--async", "m1", "cmd.run", "id"))[1] == "Authorization error occurred."
    assert said(run("m1", "test.ping")) == (0, "m1:\n    True")
    assert said(run(*login, "m1", "test.ping")) == (0, "m1:\n    True")
    assert said(run("m1", "cmd.run", "id")) == (0, "Authorization error occurred.")
    gone = run("-t", "1", "-L", "m1,gone", "test.ping")
    assert gone.exit_code == 1
    assert "gone:\n    Minion did not return." in gone.stdout
    anna = ["-a", "file", *RIGHT]
    jobs = run(*anna, "jobs.active", "--out=json", program="salt-run")
    assert (jobs.exit_code, jobs.stdout.strip()) == (0, "{}"), jobs
    failed = run(*anna, "jobs.no_such", program="salt-run")
    assert failed.exit_code == 1, failed
    keys = run("--eauth", *anna[1:], "-L", "--out=json", program="salt-key")
    assert keys.json["minions"] == ["m1"], keys
    (home / "salt_token").write_text("b" * 64)
    assert said(run("--async", "m1", "test.ping")) == (2, "Authentication error occurred.")
    os.utime(home / "salt_token", (0, 0))
    assert run("--async", "m1", "test.ping").exit_code == 1


def test_no_password_is_on_record(cluster: Cluster) -> None:
    secret = "a-word-that-is-nowhere-else"
    users = Path(yaml.safe_load((cluster.master_dir / "master").read_text())["external_auth"]
                 ["file"]["^filename"])  # fmt: skip
    users.write_text(f"{users.read_text()}anna2:{secret}\n")
    shown = ["--username", "anna2", "--password", secret]
    cluster.salt("-a", "file", *shown, "m1", "test.ping")
    made = cluster.salt_run(
        "auth.mk_token", "eauth=file", "username=anna2", f"password={secret}", "--out=json"
    ).json
    assert made["name"] == "anna2"
    found = json.dumps(cluster.salt_run("jobs.list_jobs", "--out=json").json)
    assert "runner.auth.mk_token" in found
    assert secret not in found + cluster.master.log()
    for path in cluster.cache_dir.rglob("*"):
        assert path.is_dir() or not path.is_file() or secret.encode() not in path.read_bytes()
