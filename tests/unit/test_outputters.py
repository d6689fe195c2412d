"""Every sample of real Salt 3006.30's outputters, byte for byte.

The files were recorded by calling each outputter of a real ``salt-call`` with these values. Left
out on purpose: keys with escape sequences (Salt prints them raw), and values of which Salt's
highstate outputter drops a part.
"""

import json
import re

import pytest
from repository import DATA

from saltlite.core.output_options import OutputOptions
from saltlite.core.terminal import is_safe
from saltlite.loader.catalogue import OUTPUTTERS
from saltlite.loader.outputters import render

CASES = DATA / "output"
OWN_COLOURS = re.compile(r"\x1b\[0;(\d;)?\d{0,2}m")
OUR_OWN = {"doctor", "report", "timeline"}
"""Outputters that Salt does not have."""
FILES = sorted(path.stem for path in CASES.glob("*.json"))


def read(name):
    return json.loads((CASES / f"{name}.json").read_text(encoding="utf-8"))


def printed(text):
    return f"{text}\n" if text else ""


@pytest.mark.parametrize("name", FILES)
def test_prints_what_salt_prints(name, caplog):
    cases = read(name)
    assert cases
    for number, case in enumerate(cases):
        options = OutputOptions.of(case.get("options", {}))
        shown = printed(render(case["data"], name, options))
        if is_safe(OWN_COLOURS.sub("", case["text"])):
            assert shown == case["text"], f"{name} {number}"
        else:  # Salt's text would steer the terminal: test_harmless_text.py
            assert is_safe(OWN_COLOURS.sub("", shown)), f"{name} {number}"


def test_every_outputter_has_recordings():
    assert set(OUTPUTTERS) <= {*FILES, *OUR_OWN}


REPORT = {
    "findings": [
        {"severity": "error", "check": "disk", "what": "full\033", "where": "/v", "mend": "rm x"},
        {"severity": "note", "check": "keys", "what": "one waits", "where": "", "mend": ""},
    ],
    "fine": ["ports", "files"],
}
SHOWN = """\
error: disk: full?
    where: /v
    mend:  rm x
note: keys: one waits
fine: ports, files"""


def test_a_doctors_report():
    assert render(REPORT, "doctor", OutputOptions()) == SHOWN
    indented = "\n".join(f"    {line}" for line in SHOWN.splitlines())
    assert render({"m1": REPORT}, "doctor", OutputOptions()) == f"m1:\n{indented}"
    colored = render(REPORT, "doctor", OutputOptions(color=True))
    assert colored.startswith("\033[0;1;31merror: disk: full?\033[0;0m\n")
    assert render({"m1": "no"}, "doctor", OutputOptions()) == "m1:\n    no"


def test_the_steps_of_a_job_are_lines():
    step = {"at_s": 0.5, "took_s": 1.25, "where": "web1", "what": "function ran"}
    inner = {**step, "what": "cmd.run \033[2Jslow", "inner": True, "longest": True}
    data = {
        "jid": "20260102030405000006", "function": "state.apply", "minion": "web1",
        "total_s": 2.0, "steps": [step, inner], "notes": ["a note"],
    }  # fmt: skip
    title, head, first, second, note = render(data, "timeline", OutputOptions()).splitlines()
    assert title == "20260102030405000006  state.apply  web1  2.000 s"
    assert head.split() == ["at", "s", "took", "s", "where", "what"]
    assert first == "   0.5000    1.2500  web1  function ran"
    assert second.startswith("   0.5000    1.2500  web1    cmd.run ")
    assert second.endswith("slow  <-- longest")
    assert "\033" not in second
    assert note == "a note"
    assert render({"Error": "none"}, "timeline", OutputOptions()) == "Error:\n    none"


def test_an_unknown_outputter_is_said_and_nested_is_used(caplog):
    assert render({"a": 1}, "bogus", OutputOptions()) == "a:\n    1"
    assert caplog.messages == ["Invalid outputter bogus specified, fall back to nested"]


def test_names_with_escape_sequences_are_made_harmless():
    assert render({"w\033eb": "x"}, "nested", OutputOptions()) == "w?eb:\n    x"


def test_a_state_run_without_states_is_not_dropped():
    assert render({"web1": {"a": 1}}, "highstate", OutputOptions()).endswith("a:\n        1")


def test_bytes_are_shown_as_text():
    assert render({"web1": b"\xc3\xa9"}, "nested", OutputOptions()) == "web1:\n    é"
    assert render({"web1": b"\xc3\xa9"}, "json", OutputOptions(output_indent=-1)) == '{"web1": "é"}'


def test_changes_of_a_failed_run_keep_their_colours():
    states = {"test_|-a_|-a_|-nop": {"result": False, "changes": {"old": 1}, "comment": ""}}
    shown = render({"web1": states}, "highstate", OutputOptions(color=True, retcode=2))
    assert "\033[0;36mold\033[0;0m:" in shown


def test_a_form_of_columns_that_does_not_fit_is_told(caplog):
    states = {"test_|-a_|-a_|-nop": {"result": True, "changes": {}, "comment": ""}}
    options = OutputOptions(state_output="terse", state_tabular="{9}")
    assert "      test.nop        Clean     Name: a" in render({"w": states}, "highstate", options)
    assert "state_tabular" in caplog.messages[0]


def test_options_come_out_of_any_mapping():
    options = OutputOptions.of(
        {"color": True, "state_output": None, "other": 1, "state_output_exclude": ["a"]}, retcode=2
    )
    assert options == OutputOptions(color=True, retcode=2, state_output_exclude=("a",))
