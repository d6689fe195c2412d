"""``supervisord`` reads what its program says as real Salt 3006.30 does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from saltlite.config.minion import MinionConfig
from saltlite.context import MinionContext
from saltlite.errors import FunctionError
from saltlite.host import Host
from saltlite.loader.registry import Registry

Program = Callable[..., None]
Call = Callable[..., Any]
STATUS = """\
bad                              STOPPED   Not started
g:ga                             RUNNING   pid 23845, uptime 0:00:01
ok                               STARTING  
"""  # noqa: W291 - so supervisorctl writes it


@pytest.fixture
def call() -> Call:
    ctx = MinionContext(config=MinionConfig(), host=Host(), grains={}, pillar={})
    ctx.functions = Registry(ctx)
    return ctx.functions.call


def arguments(tmp_path: Path) -> list[str]:
    return (tmp_path / "args").read_text().splitlines()


def test_processes_and_their_states(call: Call, program: Program) -> None:
    program("supervisorctl", STATUS, exit_code=3)
    assert call("supervisord.status") == {
        "bad": {"state": "STOPPED", "reason": "Not started"},
        "g:ga": {"state": "RUNNING", "reason": "pid 23845, uptime 0:00:01"},
        "ok": {"state": "STARTING", "reason": ""},
    }
    assert call("supervisord.status_raw") == STATUS.rstrip()


def test_a_name_that_is_none(call: Call, program: Program) -> None:
    program("supervisorctl", "nosuch: ERROR (no such process)\n", exit_code=4)
    said = {"nosuch:": {"state": "ERROR", "reason": "(no such process)"}}
    assert call("supervisord.status", "nosuch") == said
    assert call("supervisord.status_bool", "nosuch") is False


def test_a_supervisord_that_is_not_there_is_told(call: Call, program: Program) -> None:
    program("supervisorctl", "unix:///run/s.sock no such file\n", exit_code=4)
    with pytest.raises(FunctionError, match=r"unix:///run/s.sock no such file"):
        call("supervisord.status")


@pytest.mark.parametrize(("wanted", "is_so"), [(None, False), ("stopped", False)])
def test_all_must_be_in_a_state(
    call: Call, program: Program, wanted: str | None, is_so: bool
) -> None:
    program("supervisorctl", STATUS, exit_code=3)
    assert call("supervisord.status_bool", "g", wanted) is is_so


def test_one_in_the_state_that_is_expected(call: Call, program: Program) -> None:
    program("supervisorctl", STATUS.splitlines()[0], exit_code=3)
    assert call("supervisord.status_bool", "bad", "STOPPED") is True


def test_what_failed_without_a_word_of_it_says_so(call: Call, program: Program) -> None:
    program("supervisorctl", "*** Unknown syntax: mstop x\n", exit_code=1)
    assert call("supervisord.custom", "mstop 'x y'") == "ERROR: *** Unknown syntax: mstop x"
    program("supervisorctl", "x: ERROR (spawn error)\n", exit_code=7)
    assert call("supervisord.start", "x") == "x: ERROR (spawn error)"


def test_which_supervisord(call: Call, program: Program, tmp_path: Path) -> None:
    program("supervisorctl")
    call("supervisord.add", "g:*", conf_file="/etc/s.conf")
    call("supervisord.update", name="g")
    (tmp_path / "env/bin").mkdir(parents=True)
    (tmp_path / "env/bin/supervisorctl").symlink_to(tmp_path / "supervisorctl")
    call("supervisord.restart", bin_env=str(tmp_path / "env"))
    assert arguments(tmp_path) == ["-c /etc/s.conf add g", "update g", "restart all"]


def test_options_also_of_included_files(call: Call, tmp_path: Path) -> None:
    config = tmp_path / "s.conf"
    config.write_text("[include]\nfiles = *.ini\n[program:a]\ncommand=/bin/sleep 1 ; a while\n")
    (tmp_path / "b.ini").write_text("[program:b]\nautostart=false\nnumprocs=2\nname=%(x)s\n")
    options = call("supervisord.options", "b", str(config))
    assert options == {"autostart": False, "numprocs": 2, "name": "%(x)s"}
    assert call("supervisord.options", "a", str(config)) == {"command": "/bin/sleep 1"}
    with pytest.raises(FunctionError, match="Process 'c' not found"):
        call("supervisord.options", "c", str(config))
