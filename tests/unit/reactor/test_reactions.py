"""From what files say to calls."""

from __future__ import annotations

import json
from typing import Any

import pytest
from repository import DATA

from saltlite.config.yaml import load
from saltlite.reactor.arguments import lay_out
from saltlite.reactor.guard import PAUSE_S, RUNS_PER_S, LoopGuard
from saltlite.reactor.reactions import RIGHT_FORM, compile_reactions

VECTORS: dict[str, Any] = json.loads((DATA / "reactor" / "vectors.json").read_text())


def compiled(*texts: str, masterless: bool = False) -> Any:
    named = [(f"{number}.sls", load(text, "x")) for number, text in enumerate(texts, 1)]
    return compile_reactions(named, masterless=masterless)


def test_the_recorded_case() -> None:
    case = VECTORS["cases"][0]
    text = case["sls"].replace("{{ data['id'] }}", "m1").replace("{{ tag }}", "x/local")
    made = compiled(text)
    jobs = [one for one in made.reactions if one.kind == "local"]
    assert [
        {
            "id": one.id,
            "fun": one.fun,
            "arg": [*one.arg, *([{"__kwarg__": True, **one.kwarg}] if one.kwarg else [])],
            "tgt": one.tgt,
            "tgt_type": one.tgt_type,
            "user": "root",
        }
        for one in jobs
    ] == case["published_in_this_order"]
    assert made.errors == [f"1.sls: run_pos: {RIGHT_FORM}; found 'p1'"]
    assert made.reactions[: len(jobs)] == jobs  # cmd, local, runner, wheel


@pytest.mark.parametrize(
    "names",
    ["[{web: 5}]", "[{web: true}]", "[{web: 0}]", "[{}]", "[{web: xy}]", "[{web: [5]}]"],
)
def test_names_with_arguments_that_are_none_are_an_error(names: str) -> None:
    made = compiled(f"a: {{runner.test.arg: [{{names: {names}}}]}}")
    assert made.reactions == []
    (error,) = made.errors
    assert error.startswith("An entry of 'names' in state 'a' in SLS '1.sls' is not a name, or a")


@pytest.mark.parametrize("names", ["5", "abc", "{a: 1}"])
def test_names_beside_another_argument_are_a_list(names: str) -> None:
    made = compiled(f"a: {{runner.test.arg: [{{b: 1, names: {names}}}]}}")
    assert made.reactions == []
    assert made.errors == [
        "The 'names' argument in state 'a' in SLS '1.sls' needs to be formed as a list"
    ]


ORDERS = {
    "by id": ("b: {local.t.p: [{tgt: x}]}\na: {local.t.p: [{tgt: x}]}", ["a", "b"]),
    "by kind": (
        "a: {wheel.t.p: []}\nb: {runner.t.p: []}\nc: {local.t.p: [{tgt: x}]}\n"
        "d: {cmd.t.p: [{tgt: x}]}",
        ["d", "c", "b", "a"],
    ),
    "numbers": (
        "a: {local.t.p: [{tgt: x}, {order: last}]}\nb: {local.t.p: [{tgt: x}]}\n"
        "c: {local.t.p: [{tgt: x}, {order: 1}]}\nd: {local.t.p: [{tgt: x}, {order: first}]}\n"
        "e: {local.t.p: [{tgt: x}, {order: -2}]}",
        ["d", "c", "b", "e", "a"],
    ),
    "two kinds of one id": (
        "a: {runner.t.p: [], local.t.p: [{tgt: x}]}\n",
        ["a", "a"],
    ),
}


@pytest.mark.parametrize(("text", "ids"), ORDERS.values(), ids=ORDERS)
def test_order(text: str, ids: list[str]) -> None:
    made = compiled(text)
    assert made.errors == []
    assert [one.id for one in made.reactions] == ids


STRUCTURE = {
    "no function": "a: {local: [{tgt: x}]}",
    "two functions": "a: {local.t.p: [t.q, {tgt: x}]}",
    "nothing below": "a: {local.t.p: }",
    "a list": "a: [1]",
    "a number": "a: 1",
    "not a list": "a: {local.t.p: {tgt: x}}",
}


@pytest.mark.parametrize("text", STRUCTURE.values(), ids=STRUCTURE)
def test_one_mistake_in_the_structure_drops_the_set(text: str) -> None:
    made = compiled("good: {local.t.p: [{tgt: x}]}", text)
    assert made.reactions == []
    assert made.errors
    assert any("2.sls" in error for error in made.errors)


SINGLE = {
    "a kind that is none": ("{nosuch.t.p: []}", "no reaction of the kind 'nosuch'"),
    "caller on a master": ("{caller.t.p: []}", "of a minion without a master"),
    "no target": ("{local.t.p: []}", "a job needs tgt"),
    "an empty target": ("{local.t.p: [{tgt: ''}]}", "a job needs tgt"),
    "a map as target": ("{local.t.p: [{tgt: {a: 1}}]}", "a job needs tgt"),
    "values under args": ("{runner.t.p: [{args: [p1, p2]}]}", RIGHT_FORM),
    "no args": ("{runner.t.p: [{args: []}]}", "args is empty"),
    "text as args": ("{wheel.t.p: [{args: x}]}", RIGHT_FORM),
    "a number as kwarg": ("{runner.t.p: [{kwarg: 1}]}", "kwarg is a map"),
}


@pytest.mark.parametrize(("body", "words"), SINGLE.values(), ids=SINGLE)
def test_one_wrong_reaction_drops_itself(body: str, words: str) -> None:
    made = compiled(f"good: {{local.t.p: [{{tgt: x}}]}}\nbad: {body}")
    assert [one.id for one in made.reactions] == ["good"]
    (error,) = made.errors
    assert error.startswith("1.sls: bad: ")
    assert words in error


def test_of_two_functions_of_one_kind_the_first_counts() -> None:
    """Observed on Salt 3006.30, which says nothing."""
    made = compiled("a: {local.t.p: [{tgt: x}], local.t.q: [{tgt: x}], runner.t.r: []}")
    assert [one.fun for one in made.reactions] == ["t.p", "t.r"]
    assert made.errors == ["1.sls: a: local.t.q is a second local reaction of this id"]


def test_names_are_reactions_of_their_own() -> None:
    made = compiled("a: {runner.t.p: [{names: [x, y]}, {args: {n: 1}}]}")
    assert [one.kwarg for one in made.reactions] == [{"n": 1}, {"n": 1}]
    assert made.warnings == []


def test_a_file_without_a_map_drops_itself() -> None:
    made = compile_reactions([("1.sls", ["x"]), ("2.sls", None), ("3.sls", {}),
                              ("4.sls", {"a": {"local.t.p": [{"tgt": "x"}]}})])  # fmt: skip
    assert [one.id for one in made.reactions] == ["a"]
    assert made.errors == ["1.sls: does not render to a map of reactions"]


ARGUMENTS: dict[str, tuple[str, list[Any], dict[str, Any]]] = {
    "a scalar": ("{tgt: x}, {arg: uptime}", ["uptime"], {}),
    "a list": ("{tgt: x}, {arg: [1, two]}", [1, "two"], {}),
    "both": ("{tgt: x}, {arg: [1]}, {kwarg: {a: b}}", [1], {"a": "b"}),
    "new": ("{tgt: x}, {args: [{a: 1}, {b: 2}]}", [], {"a": 1, "b": 2}),
    "new, a map": ("{tgt: x}, {args: {a: 1}}", [], {"a": 1}),
    "new before old": ("{tgt: x}, {args: {a: 1}}, {arg: [9]}, {kwarg: {z: 1}}", [], {"a": 1}),
}


@pytest.mark.parametrize(("body", "arg", "kwarg"), ARGUMENTS.values(), ids=ARGUMENTS)
def test_arguments(body: str, arg: list[Any], kwarg: dict[str, Any]) -> None:
    (one,) = compiled(f"a: {{local.t.p: [{body}]}}").reactions
    assert (list(one.arg), one.kwarg) == (arg, kwarg)


def test_targets() -> None:
    text = "a: {local.t.p: [{tgt: [m1, 2]}]}\nb: {local.t.p: [{tgt: 7}, {tgt_type: pcre}]}"
    first, second = compiled(text).reactions
    assert (first.tgt, first.tgt_type) == (["m1", "2"], "list")
    assert (second.tgt, second.tgt_type) == ("7", "pcre")


def test_what_has_no_effect_is_said() -> None:
    made = compiled(
        "a: {local.t.p: [{tgt: x}, {args: {a: 1}}, {arg: [1]}, {expr_form: pcre}, {foo: 1}]}\n"
        "b: {runner.t.p: [{arg: [1]}, {foo: 1}]}"
    )
    assert made.errors == []
    assert made.warnings == [
        "1.sls: a: with args, arg are ignored",
        "1.sls: a: expr_form is no longer known; tgt_type takes its place",
        "1.sls: a: foo is ignored; arguments of the function are below args",
        "1.sls: b: foo is ignored; arguments of the function are below args",
    ]


def test_the_kinds_of_a_minion_without_a_master() -> None:
    made = compiled(
        "a: {caller.t.p: [{args: [1, 2]}]}\nb: {caller.t.p: [{args: {x: 1}}]}\n"
        "c: {caller.t.p: []}\nd: {local.t.p: [{tgt: x}]}",
        masterless=True,
    )
    assert [(list(one.arg), one.kwarg) for one in made.reactions] == [
        ([1, 2], {}),
        ([], {"x": 1}),
        ([], {}),
    ]
    assert made.errors == ["1.sls: d: local reactions are for the reactor of a master"]


def required(match: Any, hash_type: Any = None) -> None:
    """A function with a signature like that of key.finger."""


def anything(*args: Any, **kwargs: Any) -> None:
    """A function that takes whatever comes."""


def two(first: Any, second: Any, third: int = 3) -> None:
    """A function with two that it needs."""


@pytest.mark.parametrize(
    ("function", "given", "arg", "kwarg"),
    [
        (required, {"match": "m1"}, ["m1"], {"hash_type": None}),
        (required, {"match": "m1", "unknown": 1}, ["m1"], {"hash_type": None}),
        (required, {}, [], {"hash_type": None}),
        (anything, {"foo": "old"}, [], {"foo": "old"}),
        (two, {"second": 2, "first": 1}, [1, 2], {"third": 3}),
    ],
)
def test_the_old_form(function: Any, given: Any, arg: list[Any], kwarg: Any) -> None:
    assert lay_out(function, given) == (arg, kwarg)


def test_a_missing_argument_does_not_move_the_others() -> None:
    arg, kwarg = lay_out(two, {"second": 2})
    assert arg == []
    assert kwarg == {"second": 2, "third": 3}


def test_what_runs_too_often_is_paused() -> None:
    guard = LoopGuard()
    assert all(guard.allows("a", 1.0) for _ in range(RUNS_PER_S))
    assert not guard.allows("a", 1.5)
    assert guard.begins_pause("a")
    assert not guard.allows("a", 1.6)
    assert not guard.begins_pause("a")
    assert guard.allows("b", 1.6)
    assert not guard.allows("a", 1.5 + PAUSE_S - 0.1)
    assert guard.allows("a", 1.5 + PAUSE_S)
    assert all(guard.allows("c", 20.0 + number / 99) for number in range(1000))


def test_the_guard_does_not_grow() -> None:
    guard = LoopGuard()
    for number in range(50_000):
        assert guard.allows(number, number / 1000)
    assert len(guard._counts) < 12_000


def test_keys_of_the_reactor_go_to_parameters_of_their_name_alone() -> None:
    def named(name: str, key: str = "none", **others: int) -> None:
        """A runner with parameters of these names."""

    def takes_all(**others: int) -> None:
        """A runner that takes any keyword."""

    made = compiled("web1:\n  runner.a.b: [{key: k}, {foo: 1}]\n")
    (reaction,) = made.reactions
    assert lay_out(named, reaction.kwarg) == (["web1"], {"key": "k", "foo": 1})
    assert lay_out(takes_all, reaction.kwarg) == ([], {"foo": 1})
