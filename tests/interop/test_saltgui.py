"""SaltGUI's own functional tests, unmodified, in Chromium, against our salt-api.

SaltGUI is looked for in ``$SALTLITE_SALTGUI``, in ``saltgui`` of the interop directory, and in
``shared/clients/saltgui`` beside this clone; the node packages puppeteer-core, mocha and chai in
``$SALTLITE_NODE_MODULES``, else in the interop directory.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from api import ApiCluster, write_trees
from browser import chromium_path

from cluster import INTEROP_HOME

PLACES = (
    Path(os.environ.get("SALTLITE_SALTGUI", INTEROP_HOME / "saltgui")),
    Path(__file__).parents[3] / "shared" / "clients" / "saltgui",
)
SALTGUI = next((one for one in PLACES if (one / "tests" / "functional").is_dir()), PLACES[0])
NODE_MODULES = Path(os.environ.get("SALTLITE_NODE_MODULES", INTEROP_HOME / "node_modules"))
CHROMIUM = chromium_path()
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
PAGES = (
    "login", "minions", "keys", "grains", "pillars", "mine", "jobs", "highstate", "quickview",
    "options", "stats", "navigation", "responsive", "error-handling",
)  # fmt: skip
POPUP = "should not display stats panel in popup mode"
"""Fails before real salt-api too: the page it asks for is not in this SaltGUI."""

PUPPETEER = """\
import core from "puppeteer-core";

let browser = null;

export default {
  launch: async (options) => {
    browser ||= core.launch({
      ...options,
      executablePath: process.env.CHROMIUM,
      args: [...(options.args || []), ...JSON.parse(process.env.CHROMIUM_FLAGS)],
    });
    return (await browser).createBrowserContext();
  },
};
"""
"""In the place of puppeteer, which would download a browser.

One Chromium serves a file; each test has a context of its own, with its cookies, storage and cache,
as a browser started anew would have. It ends with mocha's ``--exit``.
"""


def missing() -> str:
    """What keeps the tests from running, ``""`` if nothing does."""
    if CHROMIUM is None or shutil.which("node") is None:
        return "needs chromium and node"
    if not (SALTGUI / "tests" / "functional").is_dir():
        return f"needs SaltGUI in {SALTGUI}"
    if not (NODE_MODULES / "puppeteer-core").is_dir():
        return f"needs npm install --prefix {NODE_MODULES.parent} puppeteer-core mocha chai"
    return ""


pytestmark = [
    pytest.mark.interop,
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing()), reason=missing()),
    pytest.mark.timeout(300),
]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """SaltGUI's tests beside node packages, with our browser for puppeteer's."""
    folder = tmp_path_factory.mktemp("saltgui")
    for name in ("saltgui", "tests"):
        shutil.copytree(SALTGUI / name, folder / name)
    shutil.copy(SALTGUI / "package.json", folder)
    subprocess.run(["chmod", "-R", "u+w", str(folder)], check=True)
    (folder / "saltgui" / "static" / "salt-auth.txt").write_text("CLEAR\nfile\n")
    modules = folder / "node_modules"
    modules.mkdir()
    for package in NODE_MODULES.iterdir():
        if package.name != "puppeteer":
            (modules / package.name).symlink_to(package)
    (modules / "puppeteer").mkdir()
    (modules / "puppeteer" / "index.js").write_text(PUPPETEER)
    about = {"name": "puppeteer", "version": "0.0.0", "type": "module", "main": "index.js"}
    (modules / "puppeteer" / "package.json").write_text(json.dumps(about))
    return folder


@pytest.fixture(scope="module")
def cluster(project: Path) -> Iterator[ApiCluster]:
    users = project / "users"
    users.write_text("salt:salt\n")
    users.chmod(0o600)
    rights = [".*", "@runner", "@wheel", "@jobs"]
    pages = project / "saltgui"
    options = {
        "app": str(pages / "index.html"), "static": str(pages / "static"), "static_path": "/static",
    }  # fmt: skip
    with ApiCluster(
        minions=3,
        api_options=options,
        master_options={"external_auth": {"file": {"^filename": str(users), "salt": rights}}},
    ) as cluster:
        write_trees(cluster.root / "master")
        yield cluster.start()


@pytest.mark.parametrize("page", PAGES)
def test_the_page_works(cluster: ApiCluster, project: Path, page: str) -> None:
    assert CHROMIUM is not None
    flags = [*FLAGS, f"--host-resolver-rules=MAP localhost 127.0.0.1:{cluster.api_port}"]
    # SaltGUI hides a page half a second after it was left, even if it is back by then: on a slow
    # machine the page that its tests return to may be gone.
    mocha = ["node_modules/mocha/bin/mocha.js", "--check-leaks", "--exit", "--retries=2"]
    command = [*mocha, f"tests/functional/{page}.js"]
    if page == "stats":
        command += ["--grep", POPUP, "--invert"]
    # Browsers that are killed leave their sockets behind, whose names must be short.
    with tempfile.TemporaryDirectory(prefix="sl-") as scratch:
        told = {"CHROMIUM": CHROMIUM, "CHROMIUM_FLAGS": json.dumps(flags), "TMPDIR": scratch}
        done = subprocess.run(
            ["node", *command],
            cwd=project,
            env={**os.environ, **told},
            capture_output=True,
            text=True,
            timeout=280,
            check=False,
        )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    assert " passing" in done.stdout


def test_nothing_was_answered_with_an_error(cluster: ApiCluster) -> None:
    """But for the four files that a site may have, and the logins that are wrong on purpose."""
    wrong = [
        line
        for line in cluster.api.log().splitlines()
        if re.search(r" (GET|POST|HEAD) \S+ [45]\d\d ", line)
        and "salt-motd" not in line
        and "minions.txt" not in line
        and "POST /login 401" not in line
    ]
    assert not wrong, "\n".join(wrong[:20])
