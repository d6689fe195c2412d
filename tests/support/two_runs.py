"""Two runs of one change on one machine: the second leaves out what the first has shown to pass.

The first writes a list, with ``--passed-to``: a test in a line, or a file of which all tests have
passed. A test that passes where a program is not there does not need it, and is the same where it
is; those that need one are skipped, and run in the second, with ``--not-again``. See ``.ci/run``.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from repository import ROOT

PASSED_TO, NOT_AGAIN = "SALTLITE_PASSED_TO", "SALTLITE_NOT_AGAIN"
"""The same by the environment: tests start other pytests, which know no such options."""

ALL_RAN = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)


def add_options(parser: pytest.Parser) -> None:
    """The options of both runs."""
    group = parser.getgroup("two runs of one change, see .ci/run")
    passed, known = os.environ.get(PASSED_TO), os.environ.get(NOT_AGAIN)
    group.addoption("--passed-to", type=Path, default=passed, help="write what passes")
    group.addoption("--not-again", type=Path, default=known, help="leave out what is in it")


class PassedTests:
    """Writes down what has passed."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w")
        self._whole: dict[str, bool] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        name = report.nodeid.partition("::")[0]
        self._whole[name] = self._whole.get(name, True) and report.passed
        if report.when == "call" and report.passed:
            self._file.write(f"{report.nodeid}\n")

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        if exitstatus in ALL_RAN:
            self._file.writelines(f"{name}\n" for name, passed in self._whole.items() if passed)
        self._file.close()


class NotAgain:
    """Leaves out what has passed; files of which nothing is left are not even opened."""

    def __init__(self, path: Path) -> None:
        self._passed = frozenset(path.read_text().splitlines())

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        if not collection_path.is_relative_to(ROOT):
            return None
        return str(collection_path.relative_to(ROOT)) in self._passed or None

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        left_out = [item for item in items if item.nodeid in self._passed]
        items[:] = [item for item in items if item.nodeid not in self._passed]
        config.hook.pytest_deselected(items=left_out)


def list_plugins(config: pytest.Config) -> Sequence[object]:
    """What does it, as far as it is asked for."""
    found: list[object] = []
    passed, known = config.getoption("--passed-to"), config.getoption("--not-again")
    is_worker = hasattr(config, "workerinput")  # the controller hears of all workers' tests
    # Who runs a few again sees no file as a whole: what the whole run has written stays.
    if passed and not is_worker and not config.getoption("lf", default=False):
        found.append(PassedTests(passed))
    if known:
        found.append(NotAgain(known))
    return found
