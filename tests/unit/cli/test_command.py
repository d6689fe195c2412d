"""How commands end: exit codes, and a hint for people."""

import pytest

from saltlite.cli.command import EX_UNAVAILABLE, end_of, hint_at_doctor
from saltlite.errors import MasterAbsent, RequestTimeout

HINT = "salt-run doctor looks for the cause, and names what mends it\n"


@pytest.mark.parametrize("error", [MasterAbsent("away"), RequestTimeout("tcp://x", 5.0)])
def test_who_has_no_master_is_pointed_to_the_doctor(error, capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    assert end_of(error) == EX_UNAVAILABLE
    assert capsys.readouterr().err == HINT


def test_scripts_read_what_they_always_read(capsys):
    assert hint_at_doctor("salt-run", 69) == 69
    assert capsys.readouterr().err == ""
