"""``scripts/quickstart``: from nothing to answered jobs, a second time, and to nothing again."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from checkout import Checkout

JSON_HEADERS = {"Accept": "application/json", "Content-Type": "application/json"}
DEEP = "a-directory-so-deep-that-no-unix-socket-has-a-path-of-such-a-length/and-deeper-than-that"


@pytest.fixture(params=["", DEEP], ids=["short path", "deep path"])
def checkout(request: pytest.FixtureRequest) -> Iterator[Checkout]:
    top = Path(tempfile.mkdtemp(prefix="qs-", dir="/tmp"))
    root = top / request.param
    root.mkdir(parents=True, exist_ok=True)
    one = Checkout(root)
    try:
        yield one
    finally:
        one.quickstart("stop")
        shutil.rmtree(top)


def assert_page_works(printed: str) -> None:
    """The address and the user that were printed are good for a job over HTTP."""
    found = re.search(
        r"In a browser: (http\S+), user (\S+), password (\S+), checked by: (\S+)", printed
    )
    assert found is not None
    address, user, password, eauth = found.groups()
    page = urlopen(Request(address, headers={"Accept": "text/html"}), timeout=10)
    assert b"page/main.js" in page.read()
    call = {"client": "local", "tgt": "*", "fun": "test.ping",
            "username": user, "password": password, "eauth": eauth}  # fmt: skip
    request = Request(f"{address}run", json.dumps([call]).encode(), JSON_HEADERS)
    answer = json.load(urlopen(request, timeout=30))
    assert answer == {"return": [{"web1": True, "web2": True, "db1": True}]}


@pytest.mark.slow
def test_one_command_to_three_minions_and_back(checkout: Checkout) -> None:
    first = checkout.quickstart()
    assert first.returncode == 0, first.stdout + first.stderr
    for minion in ("web1", "web2", "db1"):
        assert f"{minion}:\n    True" in first.stdout
        assert f"{minion}:\n    I run as " in first.stdout
    assert "salt '*' state.apply test=True " in first.stdout
    assert "docs/tutorial.md goes on from here" in first.stdout
    written = (checkout.root / "quickstart" / "etc" / "master").read_text()
    tree = checkout.root / "quickstart" / "srv" / "salt"
    (tree / "motd.sls").write_text("mine: {test.nop: []}\n")
    assert_page_works(first.stdout)

    again = checkout.quickstart()
    assert again.returncode == 0, again.stdout + again.stderr
    assert "starting" not in again.stdout
    assert (checkout.root / "quickstart" / "etc" / "master").read_text() == written
    assert (tree / "motd.sls").read_text() == "mine: {test.nop: []}\n"

    assert checkout.quickstart("status").returncode == 0
    stopped = checkout.quickstart("stop")
    assert stopped.returncode == 0
    assert "did not stop by itself" not in stopped.stdout
    assert checkout.processes() == []
    assert checkout.quickstart("status").returncode == 1


def test_stop_where_nothing_runs(tmp_path: Path) -> None:
    done = Checkout(tmp_path).quickstart("stop")
    assert (done.returncode, done.stdout) == (0, "quickstart: nothing of it runs\n")


def test_an_unknown_command_is_one_line(tmp_path: Path) -> None:
    done = Checkout(tmp_path).quickstart("bogus")
    assert done.returncode == 1
    assert done.stderr == "quickstart: unknown command: bogus (start, status, stop, cluster)\n"
