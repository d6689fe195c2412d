"""pepper's own tests, unmodified, with our salt-api in the place of pytest-salt's.

They are in the source distribution of salt-pepper, which scripts/interop-setup fetches; else
``$SALTLITE_PEPPER_SOURCE`` names its directory. Their ``conftest.py`` needs pytest-salt and a Salt
of 2019, to start daemons and to show results; another gives the same fixtures here. The tests in
their ``unit`` speak to no server, and are left out.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from api import NO_SALT, ApiCluster

from cluster import INTEROP_HOME

SOURCE = Path(os.environ.get("SALTLITE_PEPPER_SOURCE", INTEROP_HOME / "salt-pepper-0.7.6"))
SLEEPERS = "test_local_poll_long or test_long_local or test_local_poll_timeout"
"""Each sleeps for half a minute; what they show, test_pepper.py shows in a second."""

NOT_OURS = "test_ssh_client"
"""Marked as broken by pepper itself; there is no ssh client here."""

CONFTEST = '''\
import json
import os
import sys

import pepper
import pepper.script
import pytest


class Config:
    """``pytest.config`` of old, asked for while tests are collected."""

    def getoption(self, name):
        return "rest_cherrypy"


pytest.config = Config()
PORT = os.environ["PEPPER_PORT"]


@pytest.fixture
def salt_api_port():
    return int(PORT)


@pytest.fixture
def session_minion_id():
    return "pytest-session-salt-minion-0"


@pytest.fixture
def session_master_config_file():
    return os.environ["PEPPER_MASTER"]


@pytest.fixture
def tokfile(tmp_path):
    return str(tmp_path / "token.json")


@pytest.fixture
def pepper_client():
    client = pepper.Pepper(f"http://localhost:{PORT}")
    client.login("pepper", "pepper", "sharedsecret")
    return client


@pytest.fixture(params=["/run", "/login"])
def pepper_cli(request, tmp_path):
    output = tmp_path / "output"
    words = ["--out=json", f"--output-file={output}", "-c", "pepperrc"]
    if request.param == "/run":
        words.insert(0, "--run-uri")

    def run(*args, profile="main"):
        sys.argv = ["pepper", "-p", profile, *words, *args]
        code = pepper.script.Pepper()()
        return unwrap(output.read_text()) if output.exists() else code

    return run


def unwrap(text):
    """What Salt's outputters show of it: the returns by minion, or what the function returned."""
    minions = {}
    text = text.strip()
    while text:
        result, end = json.JSONDecoder().raw_decode(text)
        text = text[end:].strip()
        shown = result.get("return", [result]) if isinstance(result, dict) else result
        for one in shown:
            if isinstance(one, dict) and "data" in one:
                return one["data"]["return"]
            if not isinstance(one, dict):
                return one
            minions |= {
                name: value.get("ret", value.get("return")) if isinstance(value, dict) else value
                for name, value in one.items()
            }
    return minions
'''

PROFILES = """\
[main]
SALTAPI_URL=http://localhost:{port}/
SALTAPI_USER=pepper
SALTAPI_PASS=pepper
SALTAPI_EAUTH=sharedsecret
[pepper]
SALTAPI_URL=http://localhost:{port}/
SALTAPI_USER=pepper
SALTAPI_PASS=pepper
SALTAPI_EAUTH=sharedsecret
[noapi]
SALTAPI_USER=pepper
SALTAPI_PASS=pepper
SALTAPI_EAUTH=sharedsecret
[noopts]
SALTAPI_URL=http://localhost:{port}/
"""

pytestmark = [
    pytest.mark.interop,
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.skipif(
        not (SOURCE / "tests" / "integration").is_dir(),
        reason=f"needs the source distribution of salt-pepper in {SOURCE}",
    ),
]


@pytest.fixture(scope="module")
def cluster() -> Iterator[ApiCluster]:
    options = {
        "sharedsecret": "pepper",
        "token_expire": 94670856,
        "external_auth": {"sharedsecret": {"pepper": [".*", "@jobs", "@wheel", "@runner"]}},
    }
    minions = {"pytest-session-salt-minion-0": "saltlite"}
    with ApiCluster(minions=minions, master_options=options) as cluster:
        yield cluster.start()


def run_tests(folder: Path, cluster: ApiCluster, *words: str) -> tuple[int, str]:
    for name in ("pepper", "tests"):
        shutil.copytree(SOURCE / name, folder / name)
    (folder / "tests" / "conftest.py").write_text(CONFTEST)
    (folder / "salt.py").write_text(NO_SALT)
    (folder / "pepperrc").write_text(PROFILES.format(port=cluster.api_port))
    (folder / "pytest.ini").write_text("[pytest]\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words],
        cwd=folder, capture_output=True, text=True, timeout=280, check=False,
        env={
            **os.environ, "PEPPER_PORT": str(cluster.api_port), "HOME": str(folder),
            "PEPPER_MASTER": str(cluster.master_dir / "master"), "PYTHONPATH": str(folder),
        },
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def test_the_tests_against_a_server(cluster: ApiCluster, tmp_path: Path) -> None:
    chosen = f"not {NOT_OURS} and not ({SLEEPERS})"
    code, said = run_tests(tmp_path, cluster, "tests/integration", "-k", chosen)
    assert code == 0, said[-6000:]
    passed = re.search(r"(\d+) passed", said)
    assert passed is not None
    assert int(passed.group(1)) >= 30
