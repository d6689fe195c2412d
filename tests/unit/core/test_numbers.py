"""Numbers of others are ASCII digits."""

from __future__ import annotations

import pytest

from saltlite.cli.options import daemon_parser, timeout_option
from saltlite.core.numbers import is_digits, read_float, read_int

ARABIC, RAISED = "\u0665", "\u00b2"


def test_digits_are_those_of_ascii() -> None:
    assert is_digits("0123456789")
    for text in ("", "-1", "1.0", ARABIC, RAISED, "1" + RAISED):
        assert not is_digits(text)


def test_numbers_are_those_of_ascii() -> None:
    assert (read_int(" 5 "), read_float("1e3")) == (5, 1000.0)
    for read in (read_int, read_float):
        with pytest.raises(ValueError, match="is not a number"):
            read(ARABIC)


def test_an_option_takes_them_only(capsys: pytest.CaptureFixture[str]) -> None:
    parser = daemon_parser("master", "")
    timeout_option(parser, 5)
    assert parser.parse_command(["-t", "7"], {})[0].timeout == 7
    with pytest.raises(SystemExit) as caught:
        parser.parse_command(["-t", ARABIC], {})
    assert caught.value.code == 64
    assert "option -t: invalid integer value" in capsys.readouterr().err
