"""Text of commands and system files to values, case by case from tests/cases/data/host_parsers."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Iterator

import pytest
from ip_addr import links_of
from repository import DATA, read_yaml

CASES = DATA / "host_parsers"
ALL = [
    pytest.param(case, id=f"{case['parser']}-{case['case']}")
    for path in sorted(CASES.glob("*.yaml"))
    for case in read_yaml(path)
]


def plain(value):
    if dataclasses.is_dataclass(value):
        return plain(dataclasses.asdict(value))
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple, Iterator)):
        return [plain(each) for each in value]
    return value


def parser(name):
    module, _, function = name.partition(":")
    return vars(importlib.import_module(f"saltlite.providers.{module}"))[function]


def same(value):
    return value


READ_FIRST = {"network.interfaces:show_interfaces": links_of}


@pytest.mark.parametrize("case", ALL)
def test_parser(case):
    given = [READ_FIRST.get(case["parser"], same)(each) for each in case["given"]]
    assert plain(parser(case["parser"])(*given)) == case["gives"]


def parsers_of_text():
    """The parsers that take nothing but text."""
    names = sorted({param.values[0]["parser"] for param in ALL})
    return [
        name
        for name in names
        if name.rpartition(":")[2].startswith("parse") and parser(name).__code__.co_argcount == 1
    ]


@pytest.mark.parametrize("name", parsers_of_text())
@pytest.mark.parametrize("text", ["", "\n", "x", ":", "a b c d e f g h i j\n1 2 3\n", "\0\ufffd\n"])
def test_no_parser_stumbles_over_other_text(name, text):
    plain(parser(name)(text))
