"""The command ``pepper`` of PyPI's salt-pepper, unmodified, against our salt-api."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from api import NO_SALT, ApiCluster

PEPPER = Path(os.environ.get("SALTLITE_PEPPER", Path(sys.executable).parent / "pepper"))

pytestmark = [
    pytest.mark.interop,
    pytest.mark.skipif(not PEPPER.exists(), reason="needs salt-pepper (pip install .[test])"),
]


@pytest.fixture(scope="module")
def cluster() -> Iterator[ApiCluster]:
    options = {
        "sharedsecret": "s3cret",
        "external_auth": {"sharedsecret": {"pepper": [".*", "@runner", "@wheel", "@jobs"]}},
    }
    with ApiCluster(minions=2, master_options=options) as cluster:
        yield cluster.start()


def pepper(
    cluster: ApiCluster,
    tmp_path: Path,
    *words: str,
    password: str = "s3cret",
    beside_salt: bool = False,
) -> tuple[int, str, str]:
    """Its exit code and what it prints; ``beside_salt``: in an environment where ``salt`` is."""
    (tmp_path / "pepperrc").write_text("")
    (tmp_path / "salt.py").write_text(NO_SALT)
    done = subprocess.run(
        [str(PEPPER), "-c", str(tmp_path / "pepperrc"),
         "-u", f"http://127.0.0.1:{cluster.api_port}", "-a", "sharedsecret",
         "--username", "pepper", "--password", password, "--non-interactive", *words],
        capture_output=True, text=True, timeout=60, check=False,
        env={
            **os.environ, "HOME": str(tmp_path),
            "PYTHONPATH": "" if beside_salt else str(tmp_path),
        },
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


def returned(cluster: ApiCluster, tmp_path: Path, *words: str) -> object:
    code, out, err = pepper(cluster, tmp_path, *words)
    assert code == 0, out + err
    return json.loads(out)


def test_a_job(cluster: ApiCluster, tmp_path: Path) -> None:
    found = returned(cluster, tmp_path, "*", "test.ping")
    assert isinstance(found, dict)
    assert {one: value["ret"] for one, value in found["return"][0].items()} == {
        "m1": True, "m2": True,
    }  # fmt: skip


def test_shown_by_outputters(cluster: ApiCluster, tmp_path: Path) -> None:
    """In an environment with saltlite, as in one with Salt."""
    code, out, err = pepper(cluster, tmp_path, "*", "test.ping", beside_salt=True)
    assert (code, out) == (0, "m1:\n    True\nm2:\n    True\n"), err
    words = ("--out=yaml", "--client", "runner", "test.arg", "a", "k=1")
    code, out, err = pepper(cluster, tmp_path, *words, beside_salt=True)
    assert (code, out) == (0, "args:\n- a\nkwargs:\n  k: 1\n"), err


def test_kinds_of_targets_and_arguments(cluster: ApiCluster, tmp_path: Path) -> None:
    found = returned(cluster, tmp_path, "-L", "m1", "test.arg", "one", "k=v")
    assert isinstance(found, dict)
    told = found["return"][0]["m1"]["ret"]
    assert told["args"] == ["one"]
    assert told["kwargs"]["k"] == "v"


def test_runners_and_wheel_functions(cluster: ApiCluster, tmp_path: Path) -> None:
    found = returned(cluster, tmp_path, "--client", "runner", "test.arg", "a", "k=1")
    assert isinstance(found, dict)
    assert found["return"][0]["data"]["return"] == {"args": ["a"], "kwargs": {"k": 1}}
    found = returned(cluster, tmp_path, "--client", "wheel", "key.list_all")
    assert isinstance(found, dict)
    assert found["return"][0]["data"]["return"]["minions"] == ["m1", "m2"]


def test_batches_and_jobs_in_the_background(cluster: ApiCluster, tmp_path: Path) -> None:
    found = returned(cluster, tmp_path, "--client", "local_batch", "--batch", "1", "*", "test.ping")
    assert isinstance(found, dict)
    assert len(found["return"]) == 2
    found = returned(cluster, tmp_path, "--client", "local_async", "*", "test.ping")
    assert isinstance(found, dict)
    assert found["return"][0]["minions"] == ["m1", "m2"]


def test_without_a_session(cluster: ApiCluster, tmp_path: Path) -> None:
    found = returned(cluster, tmp_path, "--run-uri", "*", "test.ping")
    assert isinstance(found, dict)
    assert set(found["return"][0]) == {"m1", "m2"}


def test_waiting_for_all(cluster: ApiCluster, tmp_path: Path) -> None:
    code, out, err = pepper(cluster, tmp_path, "--fail-if-incomplete", "*", "test.ping")
    assert code == 0, out + err


def test_a_wrong_password(cluster: ApiCluster, tmp_path: Path) -> None:
    code, out, err = pepper(cluster, tmp_path, "*", "test.ping", password="no")
    assert code != 0
    assert "denied" in out + err
