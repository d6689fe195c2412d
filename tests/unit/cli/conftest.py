"""What the tests of the commands share: a stand-in for the master, and calling a command."""

from __future__ import annotations

import logging

import pytest
from standin import StandIn, pings

from saltlite.cli import logs


@pytest.fixture
def master():
    groups = {"flat": "web1 or db1", "ids": ["web1", "db1"], "loop": ["N@loop"]}
    with StandIn({"web1": pings}, nodegroups=groups) as standin:
        standin.accept("web1", "ghost")
        yield standin


@pytest.fixture
def call_with_master(master, capsys):
    """Call ``main`` of a command with the stand-in's configuration: exit code, output, errors."""

    def call(main, *words):
        code = main(["-c", str(master.folder), *map(str, words)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def logging_as_before():
    root = logging.getLogger()
    level = root.level
    yield
    logs.close()
    root.setLevel(level)
