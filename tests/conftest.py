"""What every test may use."""

from __future__ import annotations

import gc
import os
import shutil
import sys
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
import setproctitle

from saltlite.config import master, minion, paths
from saltlite.config.schema import default_of, options

# It finds where a process's title is through the environment, which tests change: so it looks now.
setproctitle.getproctitle()
sys.path.insert(0, str(Path(__file__).parent / "support"))
import rooms  # noqa: E402
import two_runs  # noqa: E402

os.environ["SHELL"] = "/bin/bash"  # commands run in it, and the cases were recorded with it

SECTIONS: tuple[Any, ...] = (
    *(master.PathOptions, master.LogOptions, minion.PathOptions, minion.MinionLogOptions),
    *(master.FileOptions, master.PillarOptions, minion.FileOptions, minion.PillarOptions),
)
"""The options with directories of their own on a machine with Salt."""

OWN_ROOT = tempfile.mkdtemp(prefix="sl-own-", dir="/tmp")
"""Instead of ``/`` for the directories that a test does not name: what Salt has on this machine
(keys, custom modules, running jobs, a broken configuration) is no part of a test."""


def below_own_root(default: Any) -> Any:
    """A default of an option; absolute paths are below ``OWN_ROOT``."""
    if isinstance(default, str):
        return f"{OWN_ROOT}{default}" if default.startswith("/") and default != "/" else default
    return {name: [f"{OWN_ROOT}{path}" for path in paths] for name, paths in default.items()}


def put_below_own_root(section: Any) -> None:
    """Have a section made with such defaults; what is said of its options stays as it is."""
    make = section.__init__
    defaults = {
        field.name: below_own_root(default_of(field))
        for field in options(section)
        if isinstance(default_of(field), str) or field.name.endswith("_roots")
    }
    section.__init__ = lambda self, **given: make(self, **{**defaults, **given})


for section in SECTIONS:
    put_below_own_root(section)
paths.DEFAULT_DIR = f"{OWN_ROOT}{paths.DEFAULT_DIR}"
os.environ["SALT_CONFIG_DIR"] = paths.DEFAULT_DIR  # for the commands that tests start
os.environ["SALT_SALTFILE"] = f"{OWN_ROOT}/Saltfile"  # instead of one of whoever runs the tests
Path(OWN_ROOT, "Saltfile").touch()
os.chmod(OWN_ROOT, 0o755)  # tests become other users, who read it too


def pytest_addoption(parser: pytest.Parser) -> None:
    two_runs.add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    for plugin in two_runs.list_plugins(config):
        config.pluginmanager.register(plugin)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if "PYTEST_XDIST_WORKER" in os.environ:
        rooms.put_in_order(items)


def pytest_collection_finish() -> None:
    """Leave what has been collected to no later collection of garbage: it is most of the memory."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """Remove what a test may have left there."""
    shutil.rmtree(OWN_ROOT, ignore_errors=True)


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A folder with a name short enough for a Unix socket; ``tmp_path`` grows by the run."""
    path = Path(tempfile.mkdtemp(prefix="sl-", dir="/tmp"))
    yield path
    shutil.rmtree(path)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Have tests wait for each other, outside pytest-timeout's wrapper: it costs them nothing."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return (yield)
    place = Path(item.config._tmp_path_factory.getbasetemp()).parent  # type: ignore[attr-defined]
    with rooms.enter_room(place, item):
        return (yield)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Whole files to each worker, as with ``--dist loadfile``, but for tests that run alone."""
    return rooms.AloneInOneWorker(config, log) if config.option.dist == "loadfile" else None
