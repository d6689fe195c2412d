"""What a daemon's command says and returns where the daemon cannot start."""

from __future__ import annotations

import logging
import os

import pytest

from saltlite.cli.daemon import EX_CANNOT_START, EX_NO_USER, run_or_explain, run_privately
from saltlite.errors import ConfigError, NoSuchUser


@pytest.mark.parametrize(
    ("error", "code"),
    [(ConfigError("no port"), EX_CANNOT_START), (NoSuchUser("nemo"), EX_NO_USER)],
    ids=["configuration", "user"],
)
@pytest.mark.parametrize("is_heard", [True, False], ids=["heard", "unheard"])
def test_why_it_cannot_start_is_one_line(error, code, is_heard, capsys, caplog):
    def run() -> int:
        raise error

    with caplog.at_level(logging.CRITICAL):
        assert run_or_explain("salt-x", run, is_heard=is_heard) == code
    assert capsys.readouterr().err == f"salt-x: {error}\n"
    assert [record.getMessage() for record in caplog.records] == ([] if is_heard else [str(error)])


def test_what_it_makes_is_its_own(capsys):
    mask = os.umask(0o022)
    try:
        assert run_privately("salt-x", lambda: os.umask(0), in_background=False) == 0o077
    finally:
        os.umask(mask)
    assert capsys.readouterr().err == ""


def test_an_error_of_ours_is_not_explained_away():
    def run() -> int:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run_or_explain("salt-x", run)
