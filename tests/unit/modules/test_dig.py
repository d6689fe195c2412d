"""Answers of ``dig`` as functions, with a program in its place; what they give is real Salt's."""

from __future__ import annotations

import os

import pytest

from saltlite.config.minion import MinionConfig
from saltlite.context import MinionContext
from saltlite.errors import FunctionError
from saltlite.host import Host
from saltlite.loader.registry import Registry

DIG = """#!/bin/sh
echo "$*" >> "${0%/*}/asked"
case "$*" in
*fail*) echo ";; connection timed out; no servers could be reached"; exit 9;;
*none*) ;;
*TXT*) printf '"one"\\n"two"\\n';;
*CNAME*) echo alias.example.;;
*-x*) echo ptr.example.;;
*AAAA*) printf 'alias.example.\\n2001:db8::1\\n2001:db8::2\\n';;
*) printf 'alias.example.\\n192.0.2.1\\n192.0.2.2\\n';;
esac
"""


@pytest.fixture
def call():
    ctx = MinionContext(config=MinionConfig(), host=Host(), grains={}, pillar={})
    ctx.functions = Registry(ctx)
    return ctx.functions.call


@pytest.fixture
def asked(tmp_path, monkeypatch):
    program = tmp_path / "dig"
    program.write_text(DIG)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    return tmp_path / "asked"


@pytest.mark.parametrize(
    ("fun", "host", "answer"),
    [
        ("A", "h.example", ["192.0.2.1", "192.0.2.2"]),
        ("a", "none.example", []),
        ("A", "fail.example", []),
        ("AAAA", "h.example", ["2001:db8::1", "2001:db8::2"]),
        ("CNAME", "h.example", "alias.example."),
        ("CNAME", "none.example", ""),
        ("CNAME", "fail.example", []),
        ("TXT", "h.example", ['"one"', '"two"']),
        ("TXT", "none.example", [""]),
        ("TXT", "fail.example", []),
        ("PTR", "192.0.2.1", ["ptr.example."]),
        ("ptr", "none", [""]),
    ],
)
def test_what_a_name_server_knows(call, asked, fun, host, answer):
    assert call(f"dig.{fun}", host) == answer


def test_a_server_is_asked_and_no_name_is_an_option(call, asked):
    call("dig.A", "-h", nameserver="192.0.2.53")
    call("dig.PTR", "192.0.2.1")
    assert asked.read_text() == "+short -q -h -t A @192.0.2.53\n+short -x 192.0.2.1\n"


@pytest.mark.parametrize(
    ("addr", "right"),
    [("192.0.2.1", True), ("1.2.3.4/24", True), ("2001:db8::1", True), ("300.1.1.1", False),
     ("x", False), (1, False)],
)  # fmt: skip
def test_addresses(call, addr, right):
    assert call("dig.check_ip", addr) is right


def test_without_the_program(call, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FunctionError, match="dig is not installed"):
        call("dig.A", "h.example")
