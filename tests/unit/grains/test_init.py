"""Grains of the first process; the values are those of Salt 3006.30."""

from __future__ import annotations

from saltlite.grains import init


def test_systemd_version():
    assert init.parse_version("systemd 252 (252.38-1)\n+PAM +AUDIT\n") == {
        "version": "252",
        "features": "+PAM +AUDIT",
    }
    assert init.parse_version("") is None


def test_kinds_of_init():
    assert init.kind_of_init(b"..upstart..") == "upstart"
    assert init.kind_of_init(b"..sysvinit..") == "sysvinit"
    assert init.kind_of_init(b"") == "unknown"
