"""Salt's own tests of rest_cherrypy, unmodified, over HTTP with our salt-api in its place.

They are in the source distribution of Salt 3006.30, which scripts/interop-setup fetches; else
``$SALTLITE_SALT_SOURCE`` names its directory. Their ``conftest.py`` builds CherryPy's application
inside of the tests; the one below gives the address of a running salt-api for it. What they import
of Salt is a JSON, a YAML and an HTTP library, which have other names here; where they patch Salt's
client so that no job is run, a job is run.

Left out are the tests of CORS, which change CherryPy's objects, and those that need accounts of the
system (pam and the syntax of ``external_auth``; tests/integration has ours).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from api import ApiCluster

from cluster import INTEROP_HOME

SOURCE = Path(os.environ.get("SALTLITE_SALT_SOURCE", INTEROP_HOME / "salt-3006.30-source"))
FUNCTIONAL = SOURCE / "tests" / "pytests" / "functional" / "netapi" / "rest_cherrypy"
INTEGRATION = SOURCE / "tests" / "pytests" / "integration" / "netapi" / "rest_cherrypy"
NOT_HERE = {"test_cors.py", "test_auth_pam.py", "test_external_auth_syntax.py"}
USER = "saltdev-netapi"
RIGHTS = ["@wheel", "@runner", "test.*", "grains.*"]
STUBS = {
    "salt/__init__.py": "",
    "salt/utils/__init__.py": "",
    "salt/utils/json.py": "from json import *\n",
    "salt/utils/yaml.py": "from yaml import safe_dump, safe_load\n",
    "salt/ext/__init__.py": "",
    "salt/ext/tornado/__init__.py": "",
    "salt/ext/tornado/httpclient.py": "from tornado.httpclient import *\n",
    "tests/__init__.py": "",
    "tests/support/__init__.py": "",
    "tests/support/mock.py": "from contextlib import nullcontext\n\n\n"
    "def patch(*_what, **_how):\n    return nullcontext()\n",
}

CONFTEST = '''\
import contextlib
import inspect
import json
import os

import pytest
from tornado.httpclient import AsyncHTTPClient, HTTPError
from tornado.ioloop import IOLoop

SERVER = json.loads(os.environ["API_SERVER"])
FORM = "application/x-www-form-urlencoded"


def pytest_configure(config):
    marks = ("netapi_client_data", "slow_test", "destructive_test", "skip_if_not_root", "core_test")
    for mark in marks:
        config.addinivalue_line("markers", mark)


def wanted(item):
    """The clients and the options that the test's own conftest.py would configure."""
    mark = item.get_closest_marker("netapi_client_data")
    clients = ["local"] if "functional" in item.path.parts else list(mark.args[0]) if mark else []
    hooks = item.path.name == "test_webhook_disable_auth.py"
    return {"clients": clients, "options": {"webhook_disable_auth": True} if hooks else {}}


def pytest_collection_modifyitems(config, items):
    items[:] = [item for item in items if wanted(item) == SERVER["wanted"]]


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    given = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    loop = pyfuncitem.funcargs["io_loop"]
    loop.run_sync(lambda: pyfuncitem.obj(**given), timeout=60)
    return True


class Application(str):
    """An address in the place of an application, whose configuration some tests would change."""

    class wsgi_application:
        config = {"global": {}}


class Client:
    def __init__(self, address, headers):
        self.address, self.headers = address, headers

    async def fetch(self, path, **kwargs):
        if self.headers:
            kwargs.setdefault("headers", dict(self.headers))
        client = AsyncHTTPClient(force_instance=True)
        try:
            return with_text(await client.fetch(self.address + path, **kwargs))
        except HTTPError as error:
            error.response = with_text(error.response)
            raise
        finally:
            client.close()


def with_text(response):
    if response is not None and response.body:
        response._body = response.body.decode()
    return response


@pytest.fixture
def io_loop():
    loop = IOLoop(make_current=False)
    yield loop
    loop.close(all_fds=True)


@pytest.fixture
def app():
    return Application(SERVER["address"])


@pytest.fixture
def http_client(app, io_loop, request):
    is_functional = "functional" in request.node.path.parts
    return Client(app, None if is_functional else {"Content-Type": FORM})


@pytest.fixture
def client_config():
    return {"external_auth": {"auto": {SERVER["user"]: SERVER["rights"]}}, "rest_cherrypy": {}}


@pytest.fixture
def auth_creds():
    return {"username": SERVER["user"], "password": "any", "eauth": "auto"}


@pytest.fixture
def salt_minion():
    return None


@pytest.fixture
def subtests():
    class SubTests:
        def test(self, **_given):
            return contextlib.nullcontext()

    return SubTests()


@pytest.fixture
def content_type_map():
    return {
        "json": "application/json",
        "json-utf8": "application/json; charset=utf-8",
        "yaml": "application/x-yaml",
        "text": "text/plain",
        "form": FORM,
    }
'''

pytestmark = [
    pytest.mark.interop,
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.skipif(
        not FUNCTIONAL.is_dir(), reason=f"needs the source distribution of Salt in {SOURCE}"
    ),
]


def write_tests(folder: Path) -> None:
    for name, text in STUBS.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    for source in (FUNCTIONAL, INTEGRATION):
        target = folder / source.parts[-3]
        target.mkdir()
        (target / "__init__.py").touch()
        for path in source.glob("test_*.py"):
            if path.name not in NOT_HERE:
                shutil.copy(path, target)
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "pytest.ini").write_text("[pytest]\n")


@pytest.mark.parametrize(
    ("clients", "options", "least"),
    [
        (["local"], {}, 20),
        (["local", "runner"], {}, 2),
        ([], {}, 8),
        ([], {"webhook_disable_auth": True}, 1),
    ],
    ids=["local", "runner", "no client", "open hooks"],
)
def test_the_tests_against_a_server(
    tmp_path: Path, clients: list[str], options: dict[str, Any], least: int
) -> None:
    auto = {USER: RIGHTS, "*": ["@wheel", "@runner", "test.*"]}
    master_options = {"netapi_enable_clients": clients, "external_auth": {"auto": auto}}
    with ApiCluster(
        minions={"m1": "saltlite"}, api_options=options, master_options=master_options
    ) as cluster:
        cluster.start()
        accepted = next(cluster.root.rglob("minions/m1"))
        shutil.copy(accepted, accepted.with_name("jerry"))  # whom they ask, and who never answers
        write_tests(tmp_path)
        server = {
            "address": f"http://127.0.0.1:{cluster.api_port}",
            "wanted": {"clients": clients, "options": options},
            "user": USER,
            "rights": RIGHTS,
        }
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
            cwd=tmp_path, capture_output=True, text=True, timeout=280, check=False,
            env={
                **os.environ, "API_SERVER": json.dumps(server), "HOME": str(tmp_path),
                "PYTHONPATH": str(tmp_path),
            },
        )  # fmt: skip
    assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None
    assert int(passed.group(1)) >= least, done.stdout
