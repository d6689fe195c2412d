"""Tests of states: call a function, hold what it returns against what is expected.

The tests of ``a.b`` are in ``.tst`` files below ``saltcheck-tests`` beside the SLS file, rendered
as SLS files are. A test that is not formed as one has failed. Source of signatures, texts and
results: observed on Salt 3006.30; tests/cases/data/saltcheck has its answers.
"""

from __future__ import annotations

import json
import logging
import os
import posixpath
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from saltlite.context import MinionContext
from saltlite.core.data import traverse
from saltlite.core.dataclasses import dataclass, field
from saltlite.core.fields import read_fields
from saltlite.core.keywords import own_keywords
from saltlite.errors import FunctionUnavailable, RenderError, SaltliteError, UsageError
from saltlite.fileserver.client import file_client
from saltlite.highstate.apply import Wishes, prepare_context
from saltlite.highstate.compile import Compiled
from saltlite.highstate.parallel import AT_ONCE, Beside, may_fork
from saltlite.modules._state import of_sls, of_top, words
from saltlite.templates.names import file_names
from saltlite.templates.pipe import TemplateSource, render

log = logging.getLogger(__name__)

Result = dict[str, Any]
SUFFIX = ".tst"
PASS, SKIP, FAIL, INVALID = "Pass", "Skip", "Fail", "Fail - invalid test"
NO_TEST = "Test argument must be a dictionary"
STATE_APPLY = "saltcheck.state_apply"
_NO_NAME = frozenset("*?[/")


ABSENT: Final = object()
"""In place of what a test does not have, where ``None`` is something it may have."""


@dataclass(frozen=True, slots=True)
class CheckedCall:
    """A test: what is called, and how the result is told. As written, checked where it is used."""

    module_and_function: Any = None
    args: Any = None
    kwargs: Any = None
    pillar_data: Any = None
    assertions: Any = ABSENT
    skip: Any = False
    print_result: Any = True
    output_details: Any = False


@dataclass(frozen=True, slots=True)
class WantedReturn:
    """An assertion of a test, about what was returned or a section of it."""

    assertion: Any = None
    expected_return: Any = None
    assertion_section: Any = None
    assertion_section_delimiter: Any = None


def run_test(ctx: MinionContext, **kwargs: Any) -> Any:
    """Run one test, the map ``test``, and return its result.

    CLI Example:

        salt '*' saltcheck.run_test test='{"module_and_function": "test.echo", \
"assertion": "assertEqual", "expected_return": "This works!", "args": ["This works!"]}'
    """
    test = kwargs.get("test")
    if not test or not isinstance(test, Mapping):
        ctx.retcode = 1
        return NO_TEST
    result = _run_test(ctx, test)
    if _has_failed(result):
        ctx.retcode = 1
    return result


def state_apply(ctx: MinionContext, state_name: str, **kwargs: Any) -> Any:
    """Run ``state.apply``, to prepare for tests or to clean up after them.

    CLI Example:

        salt '*' saltcheck.state_apply postfix
    """
    return ctx.functions.call("state.apply", state_name, **own_keywords(kwargs))


def run_state_tests(
    ctx: MinionContext,
    state: object,
    saltenv: str | None = None,
    check_all: bool = False,
    only_fails: bool = False,
) -> list[dict[str, Any]]:
    """Run the tests of states, and of those that they include.

    ``check_all`` runs every test file beside a state, not only the one of its name; ``only_fails``
    leaves out what has not failed. With ``saltcheck_parallel`` tests run at the same time.

    CLI Example:

        salt '*' saltcheck.run_state_tests postfix,common
    """
    return _run_states(ctx, words(state), saltenv, check_all=check_all, only_fails=only_fails)


def run_state_tests_ssh(
    ctx: MinionContext,
    state: object,
    saltenv: str | None = None,
    check_all: bool = False,
    only_fails: bool = False,
) -> list[dict[str, Any]]:
    """Run the tests of states; the same as ``saltcheck.run_state_tests``.

    CLI Example:

        salt '*' saltcheck.run_state_tests_ssh postfix,common
    """
    return run_state_tests(ctx, state, saltenv, check_all, only_fails)


def run_highstate_tests(
    ctx: MinionContext, saltenv: str | None = None, only_fails: bool = False
) -> list[dict[str, Any]]:
    """Run the tests of the states that the top file has for this minion.

    CLI Example:

        salt '*' saltcheck.run_highstate_tests
    """
    wanted = _compile_states(ctx, saltenv, of_top).wanted.get(_choose_saltenv(ctx, saltenv), ())
    return _run_states(ctx, list(map(str, wanted)), saltenv, only_fails=only_fails)


def report_highstate_tests(ctx: MinionContext, saltenv: str | None = None) -> dict[str, Any]:
    """Tell which states of the top file have tests; the retcode is how many have none.

    CLI Example:

        salt '*' saltcheck.report_highstate_tests
    """
    tree = _TestTree.of(ctx, saltenv)
    names = _names_in_order(_compile_states(ctx, saltenv, of_top))
    missing = [name for name in names if not tree.files(name)]
    if missing:
        ctx.retcode = min(len(missing), 255)
    report = {
        "Missing Tests": len(missing),
        "States missing tests": missing,
        "States with tests": [name for name in names if name not in missing],
    }
    return {"TEST REPORT RESULTS": report}


def parallel_scheck(ctx: MinionContext, data: object) -> dict[str, Any]:
    """Run one test, given as a list of its id and its map; its result by id.

    CLI Example:

        salt '*' saltcheck.parallel_scheck '[ping, {module_and_function: test.ping, \
assertion: assertTrue}]'
    """
    if not isinstance(data, Sequence) or isinstance(data, str) or len(data) != 2:
        raise UsageError("data must be a list of the test's id and its map")
    return {str(data[0]): _run_test(ctx, data[1])}


# --- one test ------------------------------------------------------------------------------------


class _InvalidTest(SaltliteError):
    """A test that is not formed as one; the text says what is wrong."""


@dataclass(frozen=True, slots=True)
class _Assertion:
    """One comparison: whether it holds, and Salt's words about it."""

    holds: Callable[[Any, Any], bool]
    sign: str
    failure: str
    hidden: str
    """What is told of a failure where the result must not be printed."""
    needs_expected: bool = True
    casts: bool = False
    """Whether what is expected becomes of the type of what was returned."""


_ORDER = "{got} not False"
_ORDER_HIDDEN = "Result not {sign} expected"
ASSERTIONS: Mapping[str, _Assertion] = {
    "assertEqual": _Assertion(
        lambda want, got: want == got,
        "==",
        "{want} is not equal to {got}",
        "Result is not equal",
        casts=True,
    ),
    "assertNotEqual": _Assertion(
        lambda want, got: want != got,
        "!=",
        "{want} is equal to {got}",
        "Result is equal",
        casts=True,
    ),
    "assertTrue": _Assertion(
        lambda _, got: got is True, "True is", "{got} not True", "Result not True", False
    ),
    "assertFalse": _Assertion(
        lambda _, got: got is False, "False is", "{got} not False", "Result not False", False
    ),
    "assertIn": _Assertion(
        lambda want, got: want in got, "IN", "{want} not found in {got}", "Result not found"
    ),
    "assertNotIn": _Assertion(
        lambda want, got: want not in got, "NOT IN", "{want} was found in {got}", "Result was found"
    ),
    "assertGreater": _Assertion(
        lambda want, got: want > got, ">", _ORDER, _ORDER_HIDDEN, casts=True
    ),
    "assertGreaterEqual": _Assertion(
        lambda want, got: want >= got, ">=", _ORDER, _ORDER_HIDDEN, casts=True
    ),
    "assertLess": _Assertion(lambda want, got: want < got, "<", _ORDER, _ORDER_HIDDEN, casts=True),
    "assertLessEqual": _Assertion(
        lambda want, got: want <= got, "<=", _ORDER, _ORDER_HIDDEN, casts=True
    ),
    "assertEmpty": _Assertion(
        lambda _, got: not got, "IS EMPTY", "{got} is not empty", "Result is not empty", False
    ),
    "assertNotEmpty": _Assertion(
        lambda _, got: bool(got), "IS NOT EMPTY", "value is empty", "value is empty", False
    ),
}


def _run_test(ctx: MinionContext, test: object) -> Result:
    """The result of a test with its duration in seconds. The job's retcode stays as it is."""
    started, retcode = time.monotonic(), ctx.retcode
    try:
        result = _try_test(ctx, test)
    except _InvalidTest as error:
        result = {"status": f"{INVALID}: {error}"}
    except Exception as error:
        # Whatever the function raises, this test has failed, and the others go on.
        log.warning("a saltcheck test raised an exception", exc_info=True)
        result = {"status": f"{FAIL}: raised {type(error).__name__}: {error}"}
    ctx.retcode = retcode
    return {**result, "duration": round(time.monotonic() - started, 4)}


def _try_test(ctx: MinionContext, given: object) -> Result:
    if not isinstance(given, Mapping):
        raise _InvalidTest("a test is a map")
    test = read_fields(CheckedCall, _with_underscores(given))
    if test.skip:
        return {"status": SKIP}
    assertions = _list_assertions(given, test)
    function, args = _read_function(ctx, test), _read_arguments(test)
    returned = _call_function(ctx, function, args, _read_keywords(test))
    if not assertions:
        return _result_of_states(returned, test)
    results = [_check_result(each, returned, test) for each in assertions]
    if test.assertions is ABSENT:
        return results[0]
    failed = any(map(_has_failed, results))
    numbered = {f"assertion{number}": each for number, each in enumerate(results, 1)}
    return {**numbered, "status": FAIL if failed else PASS}


def _with_underscores(given: Mapping[Any, object]) -> dict[str, Any]:
    return {str(key).replace("-", "_"): value for key, value in given.items()}


def _list_assertions(given: Mapping[Any, object], test: CheckedCall) -> list[WantedReturn]:
    """What is to hold, checked; nothing for ``saltcheck.state_apply``, which needs no assertion."""
    if test.assertions is ABSENT:
        if test.module_and_function == STATE_APPLY and "assertion" not in given:
            return []
        return [_check_assertion(given)]
    if not isinstance(test.assertions, list) or not test.assertions:
        raise _InvalidTest("assertions must be a list of at least one map")
    return [_check_assertion(each) for each in test.assertions]


def _check_assertion(given: object) -> WantedReturn:
    if not isinstance(given, Mapping):
        raise _InvalidTest("an assertion is a map")
    found = read_fields(WantedReturn, _with_underscores(given))
    name = found.assertion
    if not name:
        raise _InvalidTest("there is no assertion")
    if not isinstance(name, str) or name not in ASSERTIONS:
        raise _InvalidTest(f"unknown assertion {name!r}, known are {', '.join(ASSERTIONS)}")
    if ASSERTIONS[name].needs_expected and found.expected_return is None:
        raise _InvalidTest(f"{name} needs expected_return")
    return found


def _read_function(ctx: MinionContext, test: CheckedCall) -> str:
    name = test.module_and_function
    if not isinstance(name, str) or name.count(".") != 1:
        raise _InvalidTest(f"module_and_function must be module.function, not {name!r}")
    if name.startswith("saltcheck.") and name != STATE_APPLY:
        raise _InvalidTest(f"{name}: a test cannot run tests")
    try:
        ctx.functions.argspec(name)
    except FunctionUnavailable:
        raise _InvalidTest(f"{name} is not available") from None
    return name


def _read_arguments(test: CheckedCall) -> list[Any]:
    if test.args is not None and not isinstance(test.args, list):
        raise _InvalidTest("args must be a list")
    return list(test.args or ())


def _read_keywords(test: CheckedCall) -> dict[str, Any]:
    """``kwargs``, with ``pillar-data`` as the keyword ``pillar``."""
    found: dict[Any, Any] = {}
    for key, name, given in (
        ("kwargs", "", test.kwargs),
        ("pillar-data", "pillar", test.pillar_data),
    ):
        if given is not None and not isinstance(given, Mapping):
            raise _InvalidTest(f"{key} must be a map")
        if given:
            found.update({name: dict(given)} if name else given)
    return {str(key): value for key, value in found.items()}


def _call_function(
    ctx: MinionContext, function: str, args: list[Any], kwargs: dict[str, Any]
) -> Any:
    returned = ctx.functions.call(function, *args, **kwargs)
    return list(returned) if isinstance(returned, Iterator) else returned


def _result_of_states(returned: Any, test: CheckedCall) -> Result:
    """The result of ``saltcheck.state_apply`` without an assertion: no state may have failed."""
    good = isinstance(returned, Mapping) and bool(returned)
    if not good or any(_is_failed_state(each) for each in returned.values()):
        shown = returned if test.print_result else "hidden"
        return {
            "status": f"{FAIL}: the states have failed: {shown}",
            **_describe_test(test, "", ""),
        }
    text = f"{ASSERTIONS['assertNotEmpty'].sign} {returned if test.print_result else 'hidden'}"
    return {"status": PASS, **_describe_test(test, "", text)}


def _is_failed_state(answer: object) -> bool:
    return not isinstance(answer, Mapping) or answer.get("result") is False


def _check_result(wanted: WantedReturn, returned: object, test: CheckedCall) -> Result:
    """The result of one assertion about what was returned, or about a section of it."""
    assertion = ASSERTIONS[wanted.assertion]
    got = _find_section(wanted, returned)
    want = wanted.expected_return
    shown = got if test.print_result else "hidden"
    said = [*([] if want is None else [str(want)]), assertion.sign, str(shown)]
    status = _compare_values(wanted.assertion, want, got, prints=bool(test.print_result))
    text = " ".join(said)
    return {"status": status, **_describe_test(test, wanted.assertion_section, text)}


def _find_section(wanted: WantedReturn, returned: object) -> Any:
    """The part of what was returned that counts; ``False`` if there is no such part, as in Salt."""
    section = wanted.assertion_section
    if not section:
        return returned
    delimiter = wanted.assertion_section_delimiter or ":"
    return traverse(returned, section, False, delimiter=str(delimiter))


def _compare_values(name: str, want: object, got: object, *, prints: bool) -> str:
    assertion = ASSERTIONS[name]
    if name == "assertFalse" and isinstance(got, str):
        got = bool(got)  # as Salt: no text is false
    try:
        if assertion.casts:
            want = _cast_expected(want, got)
        holds = assertion.holds(want, got)
    except (TypeError, ValueError, OverflowError) as error:
        return f"{FAIL}: {name} cannot compare them" + (f": {error}" if prints else "")
    if holds:
        return PASS
    text = assertion.failure if prints else assertion.hidden
    return f"{FAIL}: {text.format(want=want, got=got, sign=assertion.sign)}"


def _cast_expected(want: Any, got: Any) -> Any:
    """What is expected, as the type of what was returned; as it is where that cannot be."""
    if isinstance(got, bool):
        return want != "False" and bool(want)
    if not isinstance(got, (str, int, float, list, tuple)):
        return want
    try:
        return type(got)(want)
    except ValueError:
        return want


def _describe_test(test: CheckedCall, section: object, text: str) -> Result:
    """What was called and compared, with ``output_details``."""
    if not test.output_details:
        return {}
    called = f"{test.module_and_function} {json.dumps(test.args, default=str)}"
    key = "module.function [args]"
    if section:
        key, called = f"{key} assertion_section", f"{called} {section}"
    return {key: called, "saltcheck assertion": text}


def _has_failed(result: Mapping[str, object]) -> bool:
    return str(result["status"]).startswith(FAIL)


# --- the tests of states -------------------------------------------------------------------------


@dataclass(slots=True)
class _TestTree:
    """The test files of an environment."""

    ctx: MinionContext
    saltenv: str
    directory: str
    paths: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, ctx: MinionContext, saltenv: str | None) -> _TestTree:
        """Those that the file server has now."""
        env = _choose_saltenv(ctx, saltenv)
        directory = ctx.config.files.saltcheck_test_location.strip("/")
        client = file_client(ctx)
        listed = client.list_files(env) if env in client.envs() else []
        paths = sorted(path for path in listed if path.endswith(SUFFIX))
        return cls(ctx, env, directory, paths)

    def files(self, state: str, *, check_all: bool = False) -> list[str]:
        """The test files of one state; with ``check_all`` all those beside it.

        As in Salt, a glob and a path are no name of a state, and the root has no tests.
        """
        if _NO_NAME & set(state):
            return []
        path = state.replace(".", "/")
        above, name = posixpath.split(path)
        inner, outer = f"{path}/{self.directory}", f"{above}/{self.directory}"
        if check_all:
            beside = [each for each in self.paths if posixpath.dirname(each) == inner]
            return beside or [each for each in self.paths if posixpath.dirname(each) == outer]
        names = [f"{inner}/init{SUFFIX}", f"{inner}/{name}{SUFFIX}", f"{outer}/{name}{SUFFIX}"]
        return [each for each in dict.fromkeys(names) if each in self.paths]

    def tests(self, path: str) -> dict[str, Any]:
        """The tests of a file by id; a file that cannot be read is one test that is no map.

        So it fails under the name of the file, and the tests of other files run.
        """
        try:
            found = self._render_file(path)
        except SaltliteError as error:
            text = error.salt_text if isinstance(error, RenderError) else str(error)
            return {path: _InvalidTest(text)}
        if found is None:
            return {}
        if not isinstance(found, Mapping):
            return {path: _InvalidTest("the file must render to a map of tests")}
        return {str(name): test for name, test in found.items()}

    def _render_file(self, path: str) -> Any:
        cached = file_client(self.ctx).cache_file(f"salt://{path}", self.saltenv)
        data = self.ctx.host.read_bytes(cached) if cached else None
        if data is None:
            raise RenderError("the file is gone", path=path)
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            raise RenderError(f"not UTF-8: {error.reason}", path=path) from error
        sls = path.removesuffix(SUFFIX).replace("/", ".")
        source = TemplateSource(
            text=text,
            path=cached,
            name=path,
            saltenv=self.saltenv,
            sls=sls,
            variables=file_names(sls, cached, path),
        )
        return render(source, self.ctx)


def _choose_saltenv(ctx: MinionContext, saltenv: str | None) -> str:
    return str(saltenv or ctx.config.files.saltenv or "base")


def _compile_states(
    ctx: MinionContext, saltenv: str | None, make: Callable[[MinionContext, Wishes], Compiled]
) -> Compiled:
    wishes = Wishes.of(ctx, {"saltenv": _choose_saltenv(ctx, saltenv), "force": True})
    with prepare_context(ctx, wishes) as own:
        return make(own, wishes)


def _names_in_order(found: Compiled) -> list[str]:
    """The SLS that were read, in the order of their states, those without any last."""
    used = dict.fromkeys(str(chunk.sls) for chunk in found.low)
    return [*used, *sorted(found.names - set(used))]


def _with_included(ctx: MinionContext, state: str, saltenv: str) -> list[str]:
    """A state and what it includes. Of one that does not compile, its own tests are run."""
    if _NO_NAME & set(state):
        return []

    def make(own: MinionContext, wishes: Wishes) -> Compiled:
        return of_sls(own, [state], wishes)

    found = _compile_states(ctx, saltenv, make)
    if found.errors:
        log.warning("saltcheck: %s does not compile: %s", state, "; ".join(found.errors))
    names = _names_in_order(found)
    return names if state in names else [*names, state]


def _run_states(
    ctx: MinionContext,
    states: Sequence[str],
    saltenv: str | None,
    *,
    check_all: bool = False,
    only_fails: bool = False,
) -> list[dict[str, Any]]:
    """Run the tests of states: the results of each, and the summary. Sets the retcode."""
    tree = _TestTree.of(ctx, saltenv)
    states = sorted(set(filter(None, states)))
    tests = _tests_of(tree, states, check_all=check_all)
    wanted = [(state, name, test) for state in states for name, test in tests[state].items()]
    results: dict[str, dict[str, Result]] = {state: {} for state in states}
    for (state, name, _), result in zip(wanted, _run_all(ctx, wanted), strict=True):
        results[state][name] = result
    summary = _summarize_results(results)
    if summary["Failed"]:
        ctx.retcode = 1
    listed = _only_failed(results) if only_fails else [{state: results[state]} for state in states]
    return [*listed, {"TEST RESULTS": summary}]


def _tests_of(
    tree: _TestTree, states: Sequence[str], *, check_all: bool
) -> dict[str, dict[str, Any]]:
    """The tests of each state. A file is run once: for the state of its name if that is asked for.

    A second test of the same id is told by the file that has it, so that none is lost.
    """
    own = {state: tree.files(state, check_all=check_all) for state in states}
    taken = {path for state in states for path in own[state]}
    found: dict[str, dict[str, Any]] = {}
    seen: set[str] = set()
    for state in states:
        mine: dict[str, Any] = {}
        for name in _with_included(tree.ctx, state, tree.saltenv):
            for path in tree.files(name, check_all=check_all):
                if path in seen or (path in taken and path not in own[state]):
                    continue
                seen.add(path)
                for test_id, test in tree.tests(path).items():
                    mine[f"{test_id} ({path})" if test_id in mine else test_id] = test
        found[state] = mine
    return found


def _run_all(ctx: MinionContext, wanted: Sequence[tuple[str, str, object]]) -> list[Result]:
    """The result of each test, in order; several at a time with ``saltcheck_parallel``."""
    files = ctx.config.files
    at_once = min(files.saltcheck_processes or os.cpu_count() or 1, AT_ONCE)
    if not files.saltcheck_parallel or at_once < 2 or not may_fork():
        return [_run_file_test(ctx, test) for _, _, test in wanted]
    return _run_beside(ctx, [test for _, _, test in wanted], at_once)


def _run_beside(ctx: MinionContext, tests: Sequence[object], at_once: int) -> list[Result]:
    beside = Beside(ctx, at_once)
    results: dict[str, Result] = {}

    def collect(tag: str) -> None:
        answer = beside.answer(tag)
        results[tag] = _failed_process(answer) if isinstance(answer, str) else answer

    try:
        for number, test in enumerate(tests):
            while len(beside) >= at_once:
                collect(beside.next())
            beside.start(str(number), number, _make_work(ctx, test))
        while len(beside):
            collect(beside.next())
    finally:
        beside.kill()
    return [results[str(number)] for number in range(len(tests))]


def _make_work(ctx: MinionContext, test: object) -> Callable[[], Result]:
    return lambda: _run_file_test(ctx, test)


def _failed_process(text: str) -> Result:
    """The result of a test whose process came to a bad end."""
    return {"status": f"{FAIL}: {text.replace('this state', 'this test')}", "duration": 0.0}


def _run_file_test(ctx: MinionContext, test: object) -> Result:
    if isinstance(test, _InvalidTest):
        return {"status": f"{INVALID}: {test}", "duration": 0.0}
    return _run_test(ctx, test)


def _summarize_results(results: Mapping[str, Mapping[str, Result]]) -> dict[str, Any]:
    ran = [result for tests in results.values() for result in tests.values()]
    failed = sum(map(_has_failed, ran))
    skipped = sum(result["status"] == SKIP for result in ran)
    return {
        "Execution Time": round(sum(result["duration"] for result in ran), 4),
        "Passed": len(ran) - failed - skipped,
        "Failed": failed,
        "Skipped": skipped,
        "Missing Tests": sum(not tests for tests in results.values()),
    }


def _only_failed(results: Mapping[str, Mapping[str, Result]]) -> list[dict[str, Any]]:
    """The states with failures; as in Salt, an empty map first if others are left out."""
    listed: list[dict[str, Any]] = []
    for state, tests in results.items():
        failed = {name: result for name, result in tests.items() if _has_failed(result)}
        if failed:
            listed.append({state: failed})
    return listed if len(listed) == len(results) else [{}, *listed]
