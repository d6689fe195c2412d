"""No outputter lets what a minion returns reach the terminal as a control sequence."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml

from saltlite.cli.show import Screen
from saltlite.core.output_options import OutputOptions
from saltlite.core.terminal import is_safe
from saltlite.loader.catalogue import OUTPUTTERS

EVIL = "x\x1b[31m\x1b]0;t\x07\r\x08\x7f\x9b2J\u202e\u2066é"
OWN_COLOURS = re.compile(r"\x1b\[0;(\d;)?\d{0,2}m")


class Written:
    """A stream that keeps what it is given."""

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> None:
        self.text += text

    def flush(self) -> None:
        """Do nothing."""


def shown(data: Any, outputter: str, **options: Any) -> str:
    stream: Any = Written()
    Screen(OutputOptions(**options), outputter, stream).show(data)
    return str(stream.text)


def state(key: str, **more: Any) -> dict[str, Any]:
    told = {"result": False, "changes": {EVIL: {EVIL: EVIL}}, "comment": EVIL, "name": EVIL}
    told |= {"__run_num__": 0, "start_time": EVIL, "duration": EVIL, "warnings": [EVIL]}
    return {key: {**told, **more}}


RETURNS: dict[str, Any] = {
    "text": EVIL,
    "lines": f"{EVIL}\n{EVIL}",
    "list": [EVIL, {EVIL: EVIL}, [EVIL]],
    "map": {EVIL: {EVIL: [EVIL]}},
    "states": state(f"file_|-{EVIL}_|-{EVIL}{EVIL}_|-managed"),
    "changes that are no map": state("a_|-b_|-c_|-d", changes=EVIL),
    "compile errors": [EVIL],
}


@pytest.mark.parametrize("outputter", sorted(OUTPUTTERS))
@pytest.mark.parametrize("kind", RETURNS)
@pytest.mark.parametrize("color", [False, True])
@pytest.mark.parametrize("mode", ["full", "terse"])
def test_nothing_of_a_return_steers_the_terminal(
    outputter: str, kind: str, color: bool, mode: str
) -> None:
    for data in ({EVIL: RETURNS[kind]}, RETURNS[kind]):
        text = shown(data, outputter, color=color, state_output=mode)
        assert is_safe(OWN_COLOURS.sub("", text))
        assert "\x1b[31m" not in text


@pytest.mark.parametrize("tabular", [True, "{0}{1} {2}.{3} {4}{5} {6}"])
def test_columns_of_states_do_not_either(tabular: bool | str) -> None:
    data = {"web1": RETURNS["states"]}
    text = shown(data, "highstate", color=True, state_output="terse", state_tabular=tabular)
    assert is_safe(OWN_COLOURS.sub("", text))
    assert "\x1b[31m" not in text


@pytest.mark.parametrize("kind", RETURNS)
def test_programs_read_what_was_returned(kind: str) -> None:
    data = {"web1": RETURNS[kind]}
    assert json.loads(shown(data, "json")) == data
    assert yaml.safe_load(shown(data, "yaml")) == data


@pytest.mark.parametrize("outputter", sorted(OUTPUTTERS))
def test_bytes_that_are_no_text_can_be_shown(outputter: str) -> None:
    name = b"caf\xe9".decode("utf-8", "surrogateescape")
    assert is_safe(shown({"web1": {name: [name, EVIL]}}, outputter))


def test_keys_and_fingerprints_are_harmless() -> None:
    data = {"minions": {EVIL: EVIL}, "minions_pre": [EVIL]}
    assert is_safe(OWN_COLOURS.sub("", shown(data, "key", color=True)))


def test_colours_of_a_return_are_shown_if_the_administrator_wants_them() -> None:
    text = shown({"web1": "\x1b[31mred\x1b[0m\x1b[2J\x07"}, "nested", strip_colors=False)
    assert text == "web1:\n    \x1b[31mred\x1b[0m?[2J?\n"


def test_harmless_text_is_untouched() -> None:
    text = "tab\there, Größe ж 字 👩\u200d💻"
    assert shown({"web1": f"{text}\n{text}"}, "txt") == f"web1: {text}\nweb1: {text}\n"
    assert shown({"web1": text}, "nested") == f"web1:\n    {text}\n"
