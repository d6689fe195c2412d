"""When the master is not there: the reason, in about a second, with a non-zero exit."""

from __future__ import annotations

import time

import pytest

from cluster import Cluster

pytestmark = pytest.mark.alone


@pytest.fixture
def nobody() -> Cluster:
    return Cluster(minions=1)


def test_salt_says_so_at_once(nobody: Cluster) -> None:
    with nobody:
        begun = time.monotonic()
        ran = nobody.salt("*", "test.ping")
        took_s = time.monotonic() - begun
    assert ran.exit_code != 0
    assert "master" in (ran.stdout + ran.stderr).lower()
    assert "Traceback" not in ran.stderr
    assert took_s < 5


def test_salt_call_gives_up_after_its_timeout(nobody: Cluster) -> None:
    with nobody:
        begun = time.monotonic()
        ran = nobody.salt_call("m1", "test.ping", "-t", "2")
        took_s = time.monotonic() - begun
    assert ran.exit_code != 0
    assert "Traceback" not in ran.stderr
    assert took_s < 15


def test_salt_call_local_needs_nobody(nobody: Cluster) -> None:
    with nobody:
        ran = nobody.salt_call("m1", "--local", "test.ping")
    assert (ran.exit_code, ran.stdout) == (0, "local:\n    True\n")
