"""``saltcheck`` answers what real Salt 3006.30 answered.

The cases are in tests/cases/data/saltcheck, recorded by ``tests/cases/record/saltcheck``.
Where Salt's call ends with an exception, the test has failed here, with a sentence.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from repository import DATA

from saltlite.config.load import load_minion
from saltlite.context import MinionContext
from saltlite.errors import UsageError
from saltlite.host import Host
from saltlite.loader.registry import Registry
from saltlite.minion.job import as_plain

CASES = DATA / "saltcheck"
PING = {"module_and_function": "test.ping"}
DEPARTING = ("badsls", "setup")
"""States whose tests Salt does not run, or whose failure it does not see."""


def context(root: Path, tree: Path = CASES / "tree", **options: Any) -> MinionContext:
    settings = {
        "root_dir": str(root / "root"),
        "file_client": "local",
        "id": "m1",
        "file_roots": {"base": [str(tree)], "prod": [str(CASES / "prod")]},
        **options,
    }
    (root / "minion").write_text(json.dumps(settings))
    ctx = MinionContext(config=load_minion(root), host=Host(), grains={"id": "m1"}, pillar={})
    ctx.functions = Registry(ctx)
    return ctx


def write(tree: Path, **files: str) -> Path:
    for name, text in files.items():
        path = tree / name / "saltcheck-tests" / "init.tst"
        path.parent.mkdir(parents=True)
        path.write_text(text)
        (tree / name / "init.sls").write_text("it:\n  test.nop: []\n")
    return tree


def run(ctx: MinionContext, **test: Any) -> dict[str, Any]:
    found = ctx.functions.call("saltcheck.run_test", test=test)
    assert isinstance(found, dict)
    return found


def normal(value: Any) -> Any:
    """Without times, and without the reason why a test is none, which Salt does not tell."""
    if isinstance(value, dict):
        return {
            key: normal(each)
            for key, each in value.items()
            if key not in ("duration", "Execution Time", "start_time")
        }
    if isinstance(value, list):
        return [normal(each) for each in value]
    if isinstance(value, str) and value.startswith("Fail - invalid test"):
        return "Fail - invalid test"
    return value


def name_of(case: dict[str, Any]) -> str:
    return json.dumps([case["fun"].partition(".")[2], case.get("args"), case.get("kwargs")])


RECORDED = json.loads((CASES / "recorded.json").read_text())
ONE = [each for each in RECORDED if each["fun"] == "saltcheck.run_test"]
STATES = [
    each
    for each in RECORDED
    if each["fun"].endswith(("tests", "tests_ssh"))
    and "raises" not in each
    and not any(name in json.dumps(each.get("args")) for name in DEPARTING)
    and each.get("kwargs", {}).get("saltenv") in (None, "prod")
    and not (each["fun"].endswith("highstate_tests") and each.get("kwargs", {}).get("saltenv"))
]


def departs(case: dict[str, Any]) -> bool:
    """Whether the answer differs knowingly: docs/differences.md."""
    test = case.get("kwargs", {}).get("test")
    if not isinstance(test, dict):
        return False
    hides = test.get("print_result") is False
    wanted = test.get("assertion")
    leaks = hides and wanted not in ("assertEqual", "assertNotEqual", "assertIn", "assertNotIn")
    applies = test.get("module_and_function") == "saltcheck.state_apply"
    return bool((leaks and "assertions" not in test) or applies)


@pytest.mark.parametrize("case", ONE, ids=name_of)
def test_one_test_has_the_result_of_real_salt(case: dict[str, Any], tmp_path: Path) -> None:
    ctx = context(tmp_path)
    found = as_plain(ctx.functions.call(case["fun"], **case.get("kwargs", {})))
    if "raises" in case:
        assert found["status"].startswith("Fail")
        assert ctx.state["retcode"] == 1
    elif not departs(case):
        assert normal(found) == normal(case["return"])


@pytest.mark.parametrize("case", STATES, ids=name_of)
def test_tests_of_states_have_the_results_of_real_salt(
    case: dict[str, Any], tmp_path: Path
) -> None:
    ctx = context(tmp_path, **(case.get("opts") or {}))
    given = {"args": [], "kwargs": {}} | case
    found = as_plain(ctx.functions.call(case["fun"], *given["args"], **given["kwargs"]))
    assert normal(found) == normal(case["return"])
    assert ctx.state.get("retcode", 0) == case["retcode"]


@pytest.mark.parametrize(
    ("test", "reason"),
    [
        ({}, "there is no assertion"),
        ({"assertion": ""}, "there is no assertion"),
        ({"assertion": "assertMaybe"}, "unknown assertion 'assertMaybe', known are assertEqual,"),
        ({"assertion": ["assertTrue"]}, "unknown assertion"),
        ({"assertion": "assertEqual"}, "assertEqual needs expected_return"),
        ({"assertions": []}, "assertions must be a list of at least one map"),
        ({"assertions": "assertTrue"}, "assertions must be a list of at least one map"),
        ({"assertions": ["assertTrue"]}, "an assertion is a map"),
        ({"assertions": [{"assertion": "assertTrue"}, {}]}, "there is no assertion"),
        ({"assertion": "assertTrue", "args": "text"}, "args must be a list"),
        ({"assertion": "assertTrue", "kwargs": ["a"]}, "kwargs must be a map"),
        ({"assertion": "assertTrue", "pillar-data": "text"}, "pillar-data must be a map"),
        ({"assertion": "assertTrue", "module_and_function": "nodot"}, "module_and_function must"),
        ({"assertion": "assertTrue", "module_and_function": 5}, "module_and_function must"),
        (
            {"assertion": "assertFalse", "module_and_function": "no.such"},
            "no.such is not available",
        ),
        (
            {"assertion": "assertTrue", "module_and_function": "saltcheck.run_state_tests"},
            "a test cannot run tests",
        ),
    ],
)
def test_what_is_no_test_fails_and_says_why(
    test: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    ctx = context(tmp_path)
    assert run(ctx, **{**PING, **test})["status"].startswith(f"Fail - invalid test: {reason}") or (
        reason in run(ctx, **{**PING, **test})["status"]
    )
    assert ctx.state["retcode"] == 1


def test_a_function_that_raises_fails_its_test_alone(tmp_path: Path) -> None:
    tree = write(
        tmp_path / "tree",
        a="raises:\n  module_and_function: test.exception\n"
        "  args: [boom]\n  assertion: assertTrue\n"
        "good:\n  module_and_function: test.ping\n  assertion: assertTrue\n",
    )
    ctx = context(tmp_path, tree)
    results, summary = ctx.functions.call("saltcheck.run_state_tests", "a")
    assert results["a"]["raises"]["status"].startswith("Fail: raised ")
    assert results["a"]["good"]["status"] == "Pass"
    assert summary["TEST RESULTS"]["Failed"] == 1
    assert ctx.state["retcode"] == 1


@pytest.mark.parametrize("text", ["a: [\n", "{{ nothing.at.all }}: {}\n", "- one\n", "word\n"])
def test_a_file_that_does_not_render_is_a_failed_test(text: str, tmp_path: Path) -> None:
    good = "good:\n  module_and_function: test.ping\n  assertion: assertTrue\n"
    ctx = context(tmp_path, write(tmp_path / "tree", a=text, b=good))
    broken, fine, summary = ctx.functions.call("saltcheck.run_state_tests", "a,b")
    [(name, result)] = broken["a"].items()
    assert name == "a/saltcheck-tests/init.tst"
    assert result["status"].startswith("Fail - invalid test: ")
    assert fine["b"]["good"]["status"] == "Pass"
    assert (summary["TEST RESULTS"]["Failed"], ctx.state["retcode"]) == (1, 1)


def test_a_test_that_is_no_map_fails(tmp_path: Path) -> None:
    ctx = context(tmp_path, write(tmp_path / "tree", a="one: 1\ntwo:\n  - assertion: assertTrue\n"))
    results, _ = ctx.functions.call("saltcheck.run_state_tests", "a")
    told = {result["status"] for result in results["a"].values()}
    assert told == {"Fail - invalid test: a test is a map"}


def test_pillar_data_is_the_keyword_pillar(tmp_path: Path) -> None:
    ctx = context(tmp_path)
    test = {"module_and_function": "test.kwarg", "pillar-data": {"color": "red"}}
    wanted = {"assertion": "assertEqual", "assertion_section": "pillar:color"}
    assert run(ctx, **test, **wanted, expected_return="red")["status"] == "Pass"


def test_pillar_data_for_a_function_without_pillar_fails(tmp_path: Path) -> None:
    test = {**PING, "pillar-data": {"color": "red"}, "assertion": "assertTrue"}
    assert run(context(tmp_path), **test)["status"].startswith("Fail: raised ")


@pytest.mark.parametrize(("sls", "passes"), [("bare", True), ("nosuchsls", False)])
def test_states_that_prepare_must_have_succeeded(sls: str, passes: bool, tmp_path: Path) -> None:
    ctx = context(tmp_path)
    found = run(ctx, module_and_function="saltcheck.state_apply", args=[sls])
    assert (found["status"] == "Pass") is passes
    assert found["status"].startswith("Pass" if passes else "Fail: the states have failed: ")


@pytest.mark.parametrize("assertion", ["assertTrue", "assertFalse", "assertLess", "assertEmpty"])
def test_a_result_that_is_not_printed_is_in_no_text(assertion: str, tmp_path: Path) -> None:
    test = {"module_and_function": "test.echo", "args": [["sesame"]], "print_result": False}
    found = run(context(tmp_path), **test, assertion=assertion, expected_return=["zoo"])
    assert found["status"].startswith("Fail: ")
    assert "sesame" not in json.dumps(found)


def test_tests_in_processes_of_their_own_have_the_same_results(tmp_path: Path) -> None:
    asked = ("saltcheck.run_state_tests", "malformed,apache,plain,nest,deep.a")
    alone = context(tmp_path).functions.call(*asked)
    several = context(tmp_path, saltcheck_parallel=True, saltcheck_processes=3)
    assert normal(several.functions.call(*asked)) == normal(alone)
    assert several.state["retcode"] == 1


def test_no_test_of_the_same_id_is_lost(tmp_path: Path) -> None:
    one = "same:\n  module_and_function: test.ping\n  assertion: assertTrue\n"
    tree = write(tmp_path / "tree", a=one, b=one.replace("True", "False"))
    (tree / "a" / "init.sls").write_text("include: [b]\n")
    results, summary = context(tmp_path, tree).functions.call("saltcheck.run_state_tests", "a")
    assert len(results["a"]) == 2
    assert summary["TEST RESULTS"]["Failed"] == 1


def test_a_state_that_does_not_compile_has_its_tests_run(tmp_path: Path) -> None:
    bad, _ = context(tmp_path).functions.call("saltcheck.run_state_tests", "badsls")
    assert bad["badsls"]["ok_bad"]["status"] == "Pass"


def test_parallel_scheck_takes_an_id_and_a_test(tmp_path: Path) -> None:
    call = context(tmp_path).functions.call
    found = call("saltcheck.parallel_scheck", ["x", {**PING, "assertion": "assertTrue"}])
    assert found["x"]["status"] == "Pass"
    with pytest.raises(UsageError, match="id and its map"):
        call("saltcheck.parallel_scheck", {"x": {}})
