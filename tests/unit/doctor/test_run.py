"""Checks in processes of their own: whatever one does, all others are reported."""

import os
import time
from types import SimpleNamespace

import pytest

from saltlite.doctor.finding import FINDINGS_LIMIT, error, note, unseen, warning
from saltlite.doctor.run import examine, run_checks
from saltlite.errors import FunctionError


def check(name, look, limit_s=20.0):
    return SimpleNamespace(NAME=name, ABOUT="", LIMIT_S=limit_s, look=look)


def fail(_facts):
    yield note("before", "here")
    raise RuntimeError("broken")


def hang(_facts):
    time.sleep(60)
    return []


def die(_facts):
    os._exit(3)


FINE = check("fine", lambda _facts: [])
WARNS = check("warns", lambda facts: [warning(f"saw {facts}", "there", "do it")])


def test_the_worst_comes_first_and_is_the_exit_code():
    worst = check("worst", lambda _facts: [note("n", ""), error("e", "", "x")])
    report = examine([FINE, WARNS, worst], 7)
    assert [(one["severity"], one["check"]) for one in report["findings"]] == [
        ("error", "worst"),
        ("warning", "warns"),
        ("note", "worst"),
    ]
    assert report["findings"][1] == {
        "severity": "warning",
        "check": "warns",
        "what": "saw 7",
        "where": "there",
        "mend": "do it",
    }
    assert (report["fine"], report["skipped"], report["retcode"]) == (["fine"], [], 2)


@pytest.mark.parametrize(
    ("findings", "code"), [([], 0), ([note("a", "")], 0), ([warning("a", "", "")], 1)]
)
def test_exit_codes(findings, code):
    assert examine([check("one", lambda _facts: findings)], None)["retcode"] == code


def test_a_check_with_nothing_to_look_at_is_not_fine():
    report = examine([FINE, check("idle", lambda _facts: [unseen("none here")])], 0)
    assert (report["fine"], report["skipped"]) == (["fine"], ["idle"])
    assert (report["findings"], report["retcode"]) == ([], 0)


def test_a_check_that_fails_is_a_finding():
    (found,) = run_checks([check("bad", fail)], None)[0].findings
    assert found.what == "the check itself failed: RuntimeError: broken"
    assert found.where.rpartition(":")[0] == __file__


def test_a_check_that_dies_is_a_finding():
    (found,) = run_checks([check("dead", die)], None)[0].findings
    assert found.what == "the check ended without an answer"


def test_a_check_that_hangs_ends_with_its_time():
    began_s = time.monotonic()
    late, fine = run_checks([check("late", hang, limit_s=0.2), FINE], None)
    assert time.monotonic() - began_s < 10
    assert late.findings[0].what == ("the check had no answer within 0.2 s: what it looks at hangs")
    assert late.findings[0].mend == "run it alone with doctor only=late, or leave it out"
    assert fine.findings == []


def test_what_a_check_says_is_bounded():
    many = check("many", lambda _facts: [note("x" * 9999, "a\nb") for _ in range(500)])
    found = run_checks([many], None)[0].findings
    assert len(found) == FINDINGS_LIMIT + 1
    assert (len(found[0].what), found[0].where) == (501, "a b")
    assert found[-1].what == "450 more of this kind"


def test_only_and_skip():
    checks = [FINE, WARNS]
    assert examine(checks, 0, only="fine")["skipped"] == ["warns"]
    assert examine(checks, 0, only=["warns", "fine"], skip="fine")["fine"] == []
    assert examine(checks, 0, skip=" warns ,")["fine"] == ["fine"]


@pytest.mark.parametrize("given", ["wanrs", ["wanrs"], "fine,wanrs"])
def test_an_unknown_check_is_refused(given):
    with pytest.raises(FunctionError, match=r"no check 'wanrs'; there are fine, warns"):
        examine([FINE, WARNS], 0, only=given)


def test_only_takes_names():
    with pytest.raises(FunctionError, match="take names of checks"):
        examine([FINE], 0, skip=3)
