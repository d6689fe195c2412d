"""Every form of a reaction: the calls that real Salt's reactor makes of it, and ours."""

import json
from unittest.mock import MagicMock

import pytest
from repository import DATA

from saltlite.client.runner import RUNNER, WHEEL
from saltlite.config.master import MasterConfig
from saltlite.config.minion import FileOptions, MinionConfig, PathOptions
from saltlite.context import MinionContext
from saltlite.errors import FunctionUnavailable
from saltlite.host import Host
from saltlite.reactor.arguments import lay_out
from saltlite.reactor.reactions import compile_reactions
from saltlite.reactor.render import ReactionRenderer

CASES = json.loads((DATA / "reactor/forms.json").read_text())

LETTERS = "a text is a list of its letters, and a number an error"
NULLS = "plain values are names of arguments without a value"
BOTH = "a function with `**kwargs` gets `arg` or `kwarg` as an argument too, another fails"

DIFFERENT = {
    "local, tgt is a list without its type": "a list is matched as a glob",
    "local, tgt is a number": "a number is published as one",
    "local, arg is a text": LETTERS,
    "local, arg is a number": LETTERS,
    "local, kwarg is a list of maps": "it is dropped",
    "local, args are plain values": NULLS,
    "local, args are mixed": NULLS,
    "runner, args are plain values": NULLS,
    "wheel, args are plain values": NULLS,
    "local, a map of two keys in args": "it is an error",
    "runner, arg alone": BOTH,
    "runner, arg alone, by the signature": BOTH,
    "runner, kwarg alone, by the signature": BOTH,
    "runner, old form with one that is missing": "no run tells of it",
    "wheel, old form, the wrong name": "no run tells of it",
    "runner, old form, a parameter called name": "`fun` is the runner itself",
    "runner, old form, a parameter called name that is not given": "`fun` is the runner itself",
    "runner, old form, a key fun": "`fun` is the runner itself",
    "runner, old form, keys that the reactor has itself": "the key `state` ends the reactor",
    "runner, old form with defaults": "a default that ours has and theirs has not",
    "runner, old form with a key too many": "a default that ours has and theirs has not",
    "a kind that is none": "it ends the reactor",
}
"""What real Salt does with forms of which we make another call. See docs/differences.md."""

OURS = json.loads((DATA / "reactor/forms_here.json").read_text())


def calls_of(case, folder):
    files = FileOptions(file_client="local", file_roots={"base": [str(folder / "srv")]})
    config = MinionConfig(files=files, paths=PathOptions(cachedir=str(folder / "cache")))
    ctx = MinionContext(config=config, host=Host(), grains={"id": "m"}, pillar={})
    renderer = ReactionRenderer(ctx)
    rendered = []
    for number, text in enumerate(case["files"], 1):
        file = folder / f"{number}.sls"
        file.write_text(text)
        found = renderer.render(str(file), "a/tag", {"id": "m1", "data": {"n": 1}})
        rendered.append((file.name, found))
    made = compile_reactions(rendered, masterless=case.get("masterless", False))
    return [call_of(one) for one in made.reactions], made.errors


def call_of(reaction):
    """A reaction as what is recorded of real Salt's."""
    call = {"id": reaction.id, "kind": reaction.kind, "fun": reaction.fun}
    arg, kwarg = list(reaction.arg), dict(reaction.kwarg)
    if reaction.kind == "local":
        published = [*arg, *([{"__kwarg__": True, **kwarg}] if kwarg else [])]
        where = {"tgt": reaction.tgt, "tgt_type": reaction.tgt_type, "ret": reaction.ret}
        options = {key: value for key, value in reaction.options.items() if key == "metadata"}
        return {**call, **where, "arg": published, **options}
    if reaction.by_signature:
        kind = WHEEL if reaction.kind == "wheel" else RUNNER
        try:
            arg, kwarg = lay_out(kind.resolve(reaction.fun, master()).call, kwarg)
        except FunctionUnavailable:
            return {"id": reaction.id, "not_made": True}
    user = {} if reaction.kind == "caller" else {"user": "Reactor"}
    return {**call, **user, "fun_args": [*arg, *([kwarg] if kwarg else [])]}


def master():
    ctx = MagicMock()
    ctx.config = MasterConfig()
    return ctx


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_calls_are_those_of_real_salt(case, tmp_path):
    found, errors = calls_of(case, tmp_path)
    made = [one for one in found if "not_made" not in one]
    recorded = [one for one in case["salt"] if "not_made" not in one]
    if case["name"] in DIFFERENT:
        assert made != recorded, "it is as in real Salt now"
        recorded = OURS[case["name"]]["calls"]
    assert made == recorded
    if not made and case["files"][0]:
        assert errors or found, "nothing says why"


def test_every_departure_has_its_call_and_its_case():
    assert set(OURS) == set(DIFFERENT) <= {case["name"] for case in CASES}
