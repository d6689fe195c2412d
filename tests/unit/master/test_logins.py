"""What is kept of the load of a login."""

from __future__ import annotations

from typing import Any

import pytest

from saltlite.master.logins import NO_LOGIN, PASSWORD_LIMIT, drop_credentials, read_login


def test_what_is_kept_of_a_load() -> None:
    load = {"cmd": "publish", "fun": "a.b", "key": "k", "password": "p",
            "kwargs": {"eauth": "pam", "username": "u", "metadata": {"a": 1}}}  # fmt: skip
    assert drop_credentials(load) == {
        "cmd": "publish", "fun": "a.b", "kwargs": {"metadata": {"a": 1}},
    }  # fmt: skip
    runner = {
        "cmd": "runner",
        "kwargs": {"password": "x"},
        "token": "t",
        "kwarg": {"password": "x"},
    }
    assert drop_credentials(runner) == {
        "cmd": "runner", "kwargs": {"password": "x"}, "kwarg": {"password": "x"},
    }  # fmt: skip

    loads = {"cmd": "authorize", "token": "t", "loads": [load, runner, 5]}
    assert drop_credentials(loads) == {
        "cmd": "authorize", "loads": [drop_credentials(load), drop_credentials(runner), 5],
    }  # fmt: skip


GOOD = {"eauth": "pam", "username": "anna", "password": "p"}


@pytest.mark.parametrize(
    "fields",
    [
        {"eauth": "x" * 257},
        {"eauth": ["pam"]},
        {"eauth": None},
        {"username": "a" * 257},
        {"username": "a\0b"},
        {"username": b"anna"},
        {"password": "p" * (PASSWORD_LIMIT + 1)},
        {"password": "a\0b"},
        {"password": ["p"]},
        {"password": None},
    ],
)
def test_what_cannot_be_a_login_waits_as_nobody(fields: dict[str, Any]) -> None:
    """A line of a thousand logins must not hold passwords of megabytes."""
    assert read_login({**GOOD, "more": 1}) == GOOD
    assert read_login({**GOOD, **fields}) is NO_LOGIN
