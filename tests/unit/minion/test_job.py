"""The words for every end of a function; as on Salt 3006.30, unless a test says otherwise."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from datetime import datetime
from types import SimpleNamespace
from typing import Any

import pytest

from saltlite.config.minion import MinionConfig, ReturnOptions
from saltlite.context import MinionContext
from saltlite.errors import CommandError, FunctionError, FunctionUnavailable, RequestTimeout
from saltlite.host import Host
from saltlite.minion.job import as_plain, build_failure_fields, run_job
from saltlite.minion.taken_job import TakenJob

JID = "20240102030405000678"


def ping() -> bool:
    return True


def echo(text: str) -> str:
    """Give back.

    Some more.
    """
    return text


def everything(*args: Any, **kwargs: Any) -> dict[str, Any]:
    return {"args": list(args), "kwargs": kwargs}


def boom() -> None:
    raise RuntimeError("over here")


def refuse() -> None:
    raise FunctionError("no good", retcode=3)


def leave() -> None:
    sys.exit(3)


def missing_program() -> None:
    raise CommandError(["foo"], None, "not there")


def failing_program() -> None:
    raise CommandError(["foo"], 2, "oops")


def no_master() -> None:
    raise RequestTimeout("tcp://m", 5)


def chunks() -> Iterator[Any]:
    yield 1
    yield "b"


def chunks_of_maps() -> Iterator[Any]:
    yield {"a": 1}
    yield {"b": 2}


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "t.ping": ping,
    "t.echo": echo,
    "t.everything": everything,
    "t.boom": boom,
    "t.refuse": refuse,
    "t.leave": leave,
    "t.missing_program": missing_program,
    "t.failing_program": failing_program,
    "t.no_master": no_master,
    "t.chunks": chunks,
    "t.chunks_of_maps": chunks_of_maps,
    "t.result_false": lambda: {"result": False},
    "t.result_none": lambda: {"result": None},
    "t.success_false": lambda: {"success": False},
    "t.false": lambda: False,
    "t.object": object,
    "t.set": lambda: {1},
    "t.tuple": lambda: (1, 2),
}


class Functions:
    def __init__(self, state: dict[str, Any]) -> None:
        self.state = state

    def get_offered(self, name: str) -> Any:
        def with_retcode(code: Any) -> str:
            self.state["retcode"] = code
            return "x"

        table = {**FUNCTIONS, "t.retcode": with_retcode}
        if name not in table:
            raise FunctionUnavailable(name)
        return SimpleNamespace(
            call=table[name],
            doc=table[name].__doc__,
            outputter="highstate" if name == "t.ping" else None,
        )

    def names(self) -> list[str]:
        return sorted(FUNCTIONS)

    def doc(self, name: str) -> str | None:
        return FUNCTIONS[name].__doc__ if name in FUNCTIONS else None


def run(fun: Any, arg: Any = (), *, ordered: bool = False, **fields: Any) -> dict[str, Any]:
    state: dict[str, Any] = {}
    ctx = MinionContext(
        config=MinionConfig(returns=ReturnOptions(multifunc_ordered=ordered)),
        host=Host(),
        grains={},
        pillar={},
        functions=Functions(state),  # type: ignore[arg-type]
        state=state,
    )
    job = {"fun": fun, "arg": list(arg), "tgt": "*", "jid": JID, "ret": "", **fields}
    return run_job(TakenJob.of(job), ctx)


def test_a_plain_success_with_its_outputter() -> None:
    assert run("t.ping") == {
        "fun": "t.ping",
        "fun_args": [],
        "jid": JID,
        "return": True,
        "retcode": 0,
        "success": True,
        "out": "highstate",
    }


def test_without_an_outputter_there_is_no_out() -> None:
    assert "out" not in run("t.false")


@pytest.mark.parametrize(
    ("fun", "value", "retcode"),
    [
        ("t.false", False, 0),
        ("t.result_false", {"result": False}, 1),
        ("t.result_none", {"result": None}, 1),
        ("t.success_false", {"success": False}, 1),
        ("t.chunks", [1, "b"], 0),
        ("t.chunks_of_maps", {"a": 1, "b": 2}, 0),
        ("t.set", [1], 0),
        ("t.tuple", [1, 2], 0),
    ],
)
def test_values_and_what_they_mean(fun: str, value: Any, retcode: int) -> None:
    got = run(fun)
    assert (got["return"], got["retcode"], got["success"]) == (value, retcode, retcode == 0)


@pytest.mark.parametrize(
    ("set_to", "retcode"), [(5, 5), (-1, -1), (True, 1), ("x", 1), (None, 0), (0, 0)]
)
def test_the_context_says_the_retcode(set_to: Any, retcode: int) -> None:
    got = run("t.retcode", [set_to])
    assert (got["retcode"], got["success"]) == (retcode, retcode == 0)
    assert type(got["retcode"]) is int


@pytest.mark.parametrize(
    ("fun", "arg", "text", "retcode"),
    [
        ("nosuch.x", [], "'nosuch.x' is not available.", 1),
        ("os.system", ["x"], "'os.system' is not available.", 1),
        ("t.__class__", [], "'t.__class__' is not available.", 1),
        ("a..b", [], "'a..b' is not available.", 1),
        (
            "t.ping",
            ["a=1", "b=None"],
            "ERROR executing 't.ping': The following keyword arguments are not valid: a=1, b=None",
            1,
        ),
        (
            "t.echo",
            [],
            "Passed invalid arguments to t.echo: "
            "echo() missing 1 required positional argument: 'text'\n"
            "\n    Give back.\n\n    Some more.\n    ",
            1,
        ),
        ("t.refuse", [], "ERROR: no good", 3),
        ("t.no_master", [], "ERROR: no reply from tcp://m within 5 s", 1),
        ("t.failing_program", [], "ERROR: foo: exit code 2: oops", 1),
        ("t.object", [], "ERROR: a value of type object cannot be returned", 1),
    ],
)
def test_failures_in_salts_words(fun: str, arg: list[Any], text: str, retcode: int) -> None:
    got = run(fun, arg)
    assert got["return"] == text
    assert (got["retcode"], got["success"], got["out"]) == (retcode, False, "nested")


def test_a_function_without_documentation_gets_an_empty_line() -> None:
    assert run("t.ping", [1])["return"] == (
        "Passed invalid arguments to t.ping: ping() takes 0 positional arguments but 1 was given\n"
    )


def test_a_missing_program() -> None:
    assert run("t.missing_program")["return"].startswith(
        "Command required for 't.missing_program' not found: not there"
    )


def test_an_exception_shows_the_function_and_not_the_runner() -> None:
    text = run("t.boom")["return"]
    assert text.startswith(
        "The minion function caused an exception: Traceback (most recent call last):\n"
    )
    assert text.endswith("RuntimeError: over here\n")
    assert "minion/job.py" not in text


def test_a_function_that_ends_the_process_is_a_failure_like_any() -> None:
    """Real Salt sends no return at all."""
    got = run("t.leave")
    assert got["return"].endswith("SystemExit: 3\n")
    assert (got["retcode"], got["success"]) == (1, False)


def test_the_beginning_of_a_name_shows_what_there_is() -> None:
    assert run("t.e")["return"] == {
        "t.echo": echo.__doc__,
        "t.everything": None,
        "t.e": "'t.e' is not available.",
    }


def test_arguments_positional_keyword_and_text_that_is_a_keyword() -> None:
    got = run("t.everything", [1, "two", {"__kwarg__": True, "k": "v"}, "n=1.5", {"a": 1}, "5"])
    assert got["return"]["args"] == [1, "two", {"a": 1}, "5"]
    assert {key: got["return"]["kwargs"][key] for key in ("k", "n")} == {"k": "v", "n": 1.5}


def test_functions_with_kwargs_get_the_job_fields() -> None:
    kwargs = run("t.everything", ["a=b"], user="root", tgt_type="glob")["return"]["kwargs"]
    assert kwargs == {
        "a": "b",
        "__pub_fun": "t.everything",
        "__pub_arg": ["a=b"],
        "__pub_tgt": "*",
        "__pub_jid": JID,
        "__pub_ret": "",
        "__pub_user": "root",
        "__pub_tgt_type": "glob",
    }


def test_a_caller_does_not_say_what_the_job_is() -> None:
    """Who asks is what the master says: ``__pub_id`` of a user's own would be another minion's."""
    said = ["__pub_id=web1", {"__kwarg__": True, "__pub_id": "web1", "__pub_user": "root"}]
    kwargs = run("t.everything", said, user="anna")["return"]["kwargs"]
    assert "__pub_id" not in kwargs
    assert kwargs["__pub_user"] == "anna"


def test_several_functions() -> None:
    got = run(["t.ping", "nosuch.x", "t.echo", "t.retcode"], [[], [], ["hi"], [5]])
    assert got["return"] == {
        "t.ping": True,
        "nosuch.x": "'nosuch.x' is not available.",
        "t.echo": "hi",
        "t.retcode": "x",
    }
    assert got["retcode"] == {"t.ping": 0, "nosuch.x": 1, "t.echo": 0, "t.retcode": 5}
    assert got["success"] == {"t.ping": True, "nosuch.x": False, "t.echo": True, "t.retcode": False}
    assert "out" not in got


def test_several_functions_in_order() -> None:
    got = run(["t.ping", "t.ping"], [[], [1]], ordered=True)
    assert got["return"][0] is True
    assert got["retcode"] == [0, 1]
    assert got["success"] == [True, False]


def test_a_missing_group_of_arguments_is_empty() -> None:
    """Real Salt sends no return at all."""
    assert run(["t.ping", "t.ping"], [[]])["return"] == {"t.ping": True}


def test_only_the_direct_executor_is_there() -> None:
    assert run("t.ping", module_executors=["direct_call"])["return"] is True
    assert run("t.ping", module_executors="sudo")["return"] == (
        "ERROR: 'sudo' executor is not available"
    )


def test_fields_of_a_job_that_was_cut_short() -> None:
    job = {"fun": "t.ping", "arg": [1], "jid": JID}
    assert build_failure_fields(TakenJob.of(job), "gone", 254) == {
        "fun": "t.ping",
        "fun_args": [1],
        "jid": JID,
        "out": "nested",
        "return": "gone",
        "retcode": 254,
        "success": False,
    }
    several = build_failure_fields(
        TakenJob.of({"fun": ["a.b", "c.d"], "arg": [[], []], "jid": JID}), "gone", 254
    )
    assert several["retcode"] == {"a.b": 254, "c.d": 254}


def test_what_cannot_travel() -> None:
    deep: Any = []
    for _ in range(200):
        deep = [deep]
    with pytest.raises(FunctionError, match="deeper"):
        as_plain(deep)
    assert as_plain({(1, 2): datetime(2024, 1, 2)}) == {"(1, 2)": "2024-01-02 00:00:00"}  # noqa: DTZ001 - naive on purpose
    assert as_plain(bytearray(b"x")) == b"x"
