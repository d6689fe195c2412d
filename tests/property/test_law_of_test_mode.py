"""The law of test mode: a test run changes nothing, tells what comes, and then it is so.

Every state function is declared with drawn arguments on machines that earlier declarations made,
in namespaces of their own: tests/support/law.py, its declarations in tests/support/declarations.py.
``SALTLITE_LAW_ROUNDS`` makes a longer run, ``SALTLITE_LAW_SEED`` begins with another seed. One
sequence that is told as broken is replayed by its seed.
"""

from __future__ import annotations

import ast
import inspect
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from declarations import EXEMPT, FORMS, Form
from distributions import DISTRIBUTIONS
from isolated import need_packet_filter, unshare
from law import context, held
from programs import need
from small_machine import SmallMachine

import saltlite.states
from saltlite.loader.catalogue import STATES as STATE_MODULES
from saltlite.loader.states import functions as functions_of_state
from saltlite.providers import pkg, service

pytestmark = pytest.mark.timeout(300)  # both halves in namespaces, on a machine with other work

STATES = Path(str(saltlite.states.__file__)).parent
ROUNDS = int(os.environ.get("SALTLITE_LAW_ROUNDS", "1"))
SEED = int(os.environ.get("SALTLITE_LAW_SEED", "0"))
HALVES = (
    ("file", "machine", "alias", "debconf", "environ", "grains", "host", "ini", "timezone"),
    ("accounts", "actions", "apache", "blockdev", "firewalld", "gem", "git", "iptables", "kmod",
     "locale", "lvm", "mount", "network", "npm", "pip", "pkgrepo", "schedule", "selinux",
     "supervisord", "sysctl", "virtualenv", "x509"),
)  # fmt: skip

DRAWN: dict[tuple[str, str], Form] = {
    **{(form.world, name): form for name, form in FORMS.items()},
    **{
        (world, name): form
        for world, each in DISTRIBUTIONS.items()
        for name, form in each.forms.items()
    },
}
"""The declarations of each world."""

NEEDS = {"git": lambda: need("git"), "iptables": need_packet_filter}
"""The worlds that are about programs of this machine, and what skips where they are missing; other
ones are about files, or have fakes."""

PACKAGES, SERVICES = ("pkg", "pkgrepo"), ("service",)


def functions() -> Iterator[tuple[str, inspect.Signature]]:
    for module in STATE_MODULES:
        for name, function in functions_of_state(module).items():
            yield f"{module}.{name}", inspect.signature(function)


def is_exempt(name: str) -> bool:
    return name in EXEMPT or name.partition(".")[0] in EXEMPT


def test_every_state_function_is_declared_or_has_a_reason() -> None:
    names = {name for name, _ in functions()}
    declared = {name for _, name in DRAWN}
    assert sorted(name for name in names if name not in declared and not is_exempt(name)) == []
    assert sorted(name for name in declared if name not in names or is_exempt(name)) == []
    modules = {name.partition(".")[0] for name in names}
    assert sorted(set(EXEMPT) - names - modules) == []


@pytest.mark.parametrize(("world", "name"), sorted(DRAWN))
def test_what_is_drawn_are_arguments(world: str, name: str) -> None:
    form = DRAWN[world, name]
    taken = dict(functions())[name].parameters
    open_ended = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in taken.values())
    given = {**form.always, **form.may}
    assert open_ended or set(given) <= set(taken)
    needed = {
        each.name
        for each in taken.values()
        if each.default is each.empty and each.kind is each.POSITIONAL_OR_KEYWORD
    }
    assert needed - {"ctx"} <= set(form.always)


@pytest.mark.parametrize("kind", [pkg, service])
def test_every_provider_has_a_world(kind: Any) -> None:
    """``machine`` has apt and systemd."""
    name = kind.__name__.rpartition(".")[2]
    there = {each for world in DISTRIBUTIONS.values() for each in world.providers}
    files = {f"{name}/{file}" for file in kind.PROVIDERS.values()}
    assert files <= there | {"pkg/apt", "service/systemd"}


@pytest.mark.parametrize("world", sorted(DISTRIBUTIONS))
def test_a_distribution_has_its_providers_and_declares_all_of_them(world: str) -> None:
    """A state function of packages or services is drawn there, or known to be refused."""
    there = DISTRIBUTIONS[world]
    ctx = context(SmallMachine(there.programs, there.release), there.grains)
    for name in there.providers:
        kind, _, file = name.partition("/")
        found = {"pkg": pkg, "service": service}[kind].provider(ctx)
        assert type(found).__module__ == f"saltlite.providers.{kind}.{file}"
        modules = PACKAGES if kind == "pkg" else SERVICES
        wanted = {
            each
            for each, _ in functions()
            if each.partition(".")[0] in modules and each != "pkg.mod_aggregate"
        }
        assert sorted(wanted - set(there.forms) - {fun for fun, _ in there.lacks}) == []


def test_every_world_is_in_one_half() -> None:
    assert sorted({form.world for form in FORMS.values()}) == sorted(sum(HALVES, ()))


def is_there(world: str) -> bool:
    """Whether this machine has the programs of a world."""
    try:
        NEEDS.get(world, lambda: None)()
    except pytest.skip.Exception:
        return False
    return True


@pytest.mark.parametrize("world", sorted(NEEDS))
def test_no_world_is_left_out(world: str) -> None:
    NEEDS[world]()


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    def run(half: tuple[str, ...], place: Path) -> list[Any]:
        return held(SEED, ROUNDS, [*filter(is_there, half)], place / "namespace")

    unshare()  # skips where there are no namespaces
    halves = ((*HALVES[0], *DISTRIBUTIONS), HALVES[1])
    places = [tmp_path_factory.mktemp("law") for _ in halves]  # not safe in threads
    with ThreadPoolExecutor(len(halves)) as pool:
        return [line for half in pool.map(run, halves, places) for line in half]


def test_the_law_holds(lines: list[Any]) -> None:
    broken = [line for line in lines if "broken" in line]
    assert not broken, "\n\n".join(map(story, broken))


def story(violation: dict[str, Any]) -> str:
    """A sequence that breaks the law, to be read and replayed."""
    world, seed = violation["seed"].split()
    steps = [f"    {fun}: {given}" for fun, given in violation["steps"]]
    said = [f"  {line}" for line in violation["broken"]]
    replay = f"SALTLITE_LAW_SEED={seed} SALTLITE_LAW_ROUNDS=1"
    return "\n".join([f"world {world}, seed {seed} ({replay})", *steps, *said])


def test_every_function_was_declared(lines: list[Any]) -> None:
    drawn = {(line["world"], line["fun"]): line["drawn"] for line in lines if "fun" in line}
    assert set(drawn) == {(world, fun) for world, fun in DRAWN if is_there(world)}
    assert all(count >= ROUNDS for count in drawn.values())


def test_machines_did_change(lines: list[Any]) -> None:
    """Declarations that never have anything to do would hold any law."""
    counts = [line for line in lines if "fun" in line]
    assert 4 * sum(line["moved"] for line in counts) > sum(line["drawn"] for line in counts)


def test_no_state_asks_whether_it_is_a_test() -> None:
    """Test mode is derived: ``realise`` alone knows of it."""
    told = [
        f"{path.relative_to(STATES)}:{node.lineno}"
        for path in sorted(STATES.rglob("*.py"))
        if not _hands_on(path)
        for node in _looked_at(ast.parse(path.read_text()))
        if _asks(node)
    ]
    assert told == []


def _hands_on(path: Path) -> bool:
    """Orchestration: ``test`` is an argument of Salt's, for the states of other machines."""
    return path.relative_to(STATES).parts[0] in ("salt.py", "_salt")


def _looked_at(tree: ast.AST) -> Iterator[ast.AST]:
    """All but what ``realise`` is given: who has it realise something else says how."""
    given = {
        each.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        if node.func.id == "realise"
        for each in node.keywords
    }
    return (node for node in ast.walk(tree) if node not in given)


def _asks(node: ast.AST) -> bool:
    """A look at options (``opts["test"]``, ``opts.get("test")``), or at a name or attribute."""
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Constant) and node.slice.value == "test"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        first = node.args[0] if node.args else None
        is_look = node.func.attr in ("get", "pop", "setdefault")
        return is_look and isinstance(first, ast.Constant) and first.value == "test"
    if isinstance(node, ast.Attribute):
        return node.attr in ("test", "test_mode", "dry_run")
    return isinstance(node, ast.Name) and node.id == "test"
