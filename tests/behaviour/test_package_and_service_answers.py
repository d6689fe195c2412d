"""States of packages, services and alternatives against a small machine.

The cases are in tests/cases/data/states/{alternatives,pkg,service}.yaml. Each answer is Salt's to
the same declaration; and each declaration obeys the law: a test run does nothing and tells what the
real run then reports, and a second run has nothing to report.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest
from package_machine import Machine, make
from repository import DATA, read_yaml

from saltlite.errors import SaltliteError
from saltlite.highstate.resource import Verdict, realise
from saltlite.loader.states import resolve

CASES = DATA / "states"


def run(machine: Machine, case: dict[str, Any], *, test: bool) -> Verdict:
    ctx = make(machine)
    try:
        found = realise(resolve(case["fun"], ctx).call(**case["with"]), ctx, test=test)
    except SaltliteError as error:
        return Verdict(result=False, comment=str(error))
    assert isinstance(found, Verdict)
    return found


def cases() -> list[Any]:
    """Each case with the machine it begins with, which the cases before have left behind."""
    found = []
    for kind in ("service", "pkg", "alternatives"):
        machine = Machine()
        for number, case in enumerate(read_yaml(CASES / f"{kind}.yaml")):
            if not case.get("again"):
                machine = Machine(**case.get("machine", {}))
            has = copy.deepcopy(machine.has)
            found.append(pytest.param(case, has, id=f"{number}-{case['fun']}"))
            run(machine, case, test=case.get("test", False))
    return found


ALL = cases()


@pytest.mark.parametrize(("case", "has"), ALL)
def test_answers_as_salt_does(case: dict[str, Any], has: dict[str, Any]) -> None:
    found = run(Machine(**copy.deepcopy(has)), case, test=case.get("test", False))
    assert (found.result, found.comment) == (case["result"], case["comment"])
    assert found.changes == case.get("changes", {})


@pytest.mark.parametrize(("case", "has"), ALL)
def test_a_test_run_does_nothing_and_foretells_the_real_one(
    case: dict[str, Any], has: dict[str, Any]
) -> None:
    machine = Machine(**copy.deepcopy(has))
    foretold = run(machine, case, test=True)
    assert (machine.has, machine.did) == (has, [])
    real = run(machine, case, test=False)
    if real.result and not case["with"].get("sources"):
        assert foretold.changes == real.changes
    if real.result:  # the version in a package file is not known before
        assert set(foretold.changes) == set(real.changes)
        assert (foretold.result is None) is bool(machine.did or real.changes)
    if real.result and not case["fun"].endswith("mod_watch"):
        machine.did.clear()
        assert (run(machine, case, test=False).changes, machine.did) == ({}, [])
