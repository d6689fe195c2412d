"""The examples of docs/python-api.md run as scripts, and say what the page says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster import Cluster

ROOT = Path(__file__).parents[2]
EXAMPLES = re.findall(
    r"^```python\n(.*?)^```",
    (ROOT / "docs" / "python-api.md").read_text(),
    re.DOTALL | re.MULTILINE,
)
SITE = ROOT / "saltlite" / "python"
FINDER = f"import site; site.addsitedir({str(SITE)!r})\n"
"""What a wheel puts beside the package: also where this package was not installed from one."""

SAYS = {
    "client.run(": ["{'m1': 'hello', 'm2': 'hello'}", "() () True"],
    "client.iterate(": ["m1 True", "m2 True"],
    "client.publish(\"m1\", \"test.sleep\"": ["('m1',)", "m1 True", "{'m1': True}"],
    "asyncio": ["{'m1': True} {'m2': True}", "m1", "m2"],
    "client.runner(": ["['m1', 'm2']", "test.nonsense"],
    "saltlite.Caller(": ["two"],
    "saltlite.events.listen": ["/ret/m1 True"],
    "import salt.client": [
        "'m1': True", "'m2': True", "'ret': 'hello'", "['m1', 'm2']", "/ret/m1 True", "'two': 2",
    ],
}  # fmt: skip
"""A word of an example → what it prints, at the least."""


@pytest.fixture(scope="module")
def salted() -> Iterator[Cluster]:
    with Cluster(minions=2) as cluster:
        cluster.start()
        both = cluster.root / "both"
        both.mkdir()
        (both / "master").write_text((cluster.master_dir / "master").read_text())
        (both / "minion").write_text((cluster.minion_dir("m1") / "minion").read_text())
        yield cluster


def run(cluster: Cluster, script: str) -> subprocess.CompletedProcess[str]:
    """Plain Python, with the configuration of master and minion in one directory."""
    both = cluster.root / "both"
    environment = {
        **os.environ,
        "SALT_CONFIG_DIR": str(both),
        "SALT_MASTER_CONFIG": str(both / "master"),
        "SALT_MINION_CONFIG": str(both / "minion"),
    }
    return subprocess.run(
        [sys.executable, "-c", FINDER + script],
        env=environment, cwd=cluster.root, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def test_every_example_is_expected_to_say_something() -> None:
    assert len(EXAMPLES) == len(SAYS)


@pytest.mark.parametrize("word", SAYS)
def test_an_example(salted: Cluster, word: str) -> None:
    (script,) = (one for one in EXAMPLES if word in one)
    ran = run(salted, script)
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr == ""
    missing = [line for line in SAYS[word] if line not in ran.stdout]
    assert missing == [], ran.stdout


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("saltlite.Client().run('m1', 'test.ping', target_type='nonsense')", "MasterRefused"),
        ("next(saltlite.Client().follow('20200102030405000006'))", "UsageError"),
        ("saltlite.Client().runner('no.such')", "FunctionUnavailable"),
        ("saltlite.Client().runner('jobs.lookup_jid', kwarg={'no': 1})", "UsageError"),
        ("saltlite.Caller(local=True).call('no.such')", "FunctionUnavailable"),
        ("saltlite.Caller(local=True).call('test.echo')", "TypeError"),
        ("saltlite.events.listen(config_dir='/nonexistent')", "MasterAbsent"),
        ("saltlite.nothing", "AttributeError"),
        ("import salt.no_such", "saltlite has no salt.no_such"),
        ("import salt.client as c; c.LocalClient('/nonexistent/master')", ""),
    ],
)
def test_what_goes_wrong_has_a_name(salted: Cluster, script: str, said: str) -> None:
    ran = run(salted, f"import saltlite\n{script}\n")
    assert said in ran.stderr
    assert (ran.returncode != 0) == bool(said)


def test_nobody_matches(salted: Cluster) -> None:
    ran = run(salted, "import saltlite\nprint(saltlite.Client().run('x*', 'test.ping'))\n")
    assert ran.stdout == "JobResult(jid='', returns={}, missing=())\n", ran.stderr


def test_a_real_salt_wins_and_nothing_is_loaded_unasked(tmp_path: Path) -> None:
    (tmp_path / "salt.py").write_text("real = True\n")
    words = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import salt; print(salt.real)\n"
    words += "print([name for name in sys.modules if name.startswith('saltlite')])"
    ran = subprocess.run([sys.executable, "-c", FINDER + words], capture_output=True, text=True)
    assert ran.stdout == "True\n[]\n", ran.stderr


def test_other_names_stay_unknown() -> None:
    words = "import importlib.util as u; print(u.find_spec('salty_nothing'), u.find_spec('salt'))"
    ran = subprocess.run([sys.executable, "-c", FINDER + words], capture_output=True, text=True)
    assert ran.stdout.startswith("None ModuleSpec(name='salt'"), ran.stderr


INFRA = """
def test_it(host):
    assert host.backend.HAS_RUN_SALT
    assert host.check_output("echo hello") == "hello"
    assert host.run("exit 3").rc == 3
    assert host.salt("test.echo", ["there"]) == "there"
    assert host.file("/etc/passwd").exists
    assert host.salt("grains.get", ["id"]) == host.backend.host
"""


@pytest.mark.parametrize("hosts", ["salt://m1", "salt://m*"])
def test_pytest_testinfra_as_it_is(salted: Cluster, tmp_path: Path, hosts: str) -> None:
    pytest.importorskip("testinfra", reason="pytest-testinfra is not installed")
    (tmp_path / "test_infra.py").write_text(INFRA)
    words = ["-q", "-p", "no:cacheprovider", f"--hosts={hosts}", str(tmp_path)]
    ran = run(salted, f"import pytest, sys\nsys.exit(pytest.main({words!r}))\n")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert f"{1 if hosts == 'salt://m1' else 2} passed" in ran.stdout
