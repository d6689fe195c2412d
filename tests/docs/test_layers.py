"""Imports go downwards only. The table of layers in docs/architecture.md is the law read here."""

from __future__ import annotations

import ast
import functools
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "saltlite"
ROW = re.compile(r"^\| (\d) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)


@dataclass(frozen=True)
class Layer:
    """One row of the table."""

    number: int
    packages: frozenset[str]
    law: str

    def may_import(self, importer: str, imported: str, layers: dict[int, Layer]) -> bool:
        if importer == imported:
            return True
        if self._exception(importer, imported):
            return True
        if imported in self.packages:
            return "one another" not in self.law
        law = re.sub(r"\(.*?\)", "", self.law)
        if "anything below" in law:
            return any(imported in layers[below].packages for below in range(self.number))
        numbers = [int(digit) for digit in re.findall(r"\d", law)]
        if numbers:
            return any(imported in layers[number].packages for number in numbers)
        return imported in names(law)

    def _exception(self, importer: str, imported: str) -> bool:
        found = re.search(r"\((.+) may use (.+)\)", self.law)
        return bool(found and importer in names(found[1]) and imported in names(found[2]))


def names(text: str) -> frozenset[str]:
    return frozenset(re.split(r",\s*|\s+and\s+", text.split(";")[0].strip()))


def read_layers() -> dict[int, Layer]:
    text = (ROOT / "docs" / "architecture.md").read_text()
    section = text.partition("## Layers")[2]
    rows = [
        Layer(int(number), names(who), law.strip()) for number, who, law in ROW.findall(section)
    ]
    return {row.number: row for row in rows}


LAYERS = read_layers()


def layer_of(package: str) -> Layer | None:
    return next((layer for layer in LAYERS.values() if package in layer.packages), None)


def package_of(path: Path) -> str:
    """``master`` for saltlite/master/x.py, ``disk`` for saltlite/disk.py."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def sources() -> Iterator[Path]:
    for path in sorted(PACKAGE.rglob("*.py")):
        if path != PACKAGE / "__init__.py":
            yield path


@functools.cache
def imported_modules(path: Path) -> list[tuple[int, str]]:
    """Line and dotted name of every import in a file, wherever it stands."""
    return list(_imported(path))


def _imported(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            module = node.module or ""
            if module == "saltlite":
                yield from ((node.lineno, f"saltlite.{alias.name}") for alias in node.names)
            else:
                yield node.lineno, module


def test_the_table_is_understood() -> None:
    assert sorted(LAYERS) == [0, 1, 2, 3, 4, 5]
    assert LAYERS[4].may_import("master", "channel", LAYERS)
    assert not LAYERS[4].may_import("master", "minion", LAYERS)
    assert not LAYERS[2].may_import("channel", "master", LAYERS)
    assert LAYERS[1].may_import("config", "disk", LAYERS)
    assert not LAYERS[1].may_import("crypto", "transport", LAYERS)
    assert not LAYERS[3].may_import("modules", "transport", LAYERS)
    assert LAYERS[3].may_import("modules", "context", LAYERS)


def test_every_package_has_a_layer() -> None:
    found = {package_of(path) for path in sources()}
    assert {package for package in found if layer_of(package) is None} == set()


@pytest.mark.parametrize("package", sorted({package_of(path) for path in sources()}))
def test_no_arrow_points_up(package: str) -> None:
    layer = layer_of(package)
    assert layer is not None
    wrong = []
    for path in sources():
        if package_of(path) != package:
            continue
        for line, module in imported_modules(path):
            if module.startswith("saltlite."):
                imported = module.split(".")[1]
                if not layer.may_import(package, imported, LAYERS):
                    wrong.append(f"{path.relative_to(ROOT)}:{line} imports {module}")
    assert wrong == []


# --- the order within layer 3 --------------------------------------------------------------------

CONTEXTS = frozenset({"context", "runner_context", "engine_context"})


def read_order() -> dict[str, int]:
    """The packages of layer 3, and the step on which each stands."""
    text = (ROOT / "docs/architecture.md").read_text()
    steps = text.partition("## Layers")[2].partition("```\n")[2].partition("```")[0].split("<")
    return {name: number for number, step in enumerate(steps) for name in names(step)}


ORDER = read_order()


def step_name(path: str) -> str:
    """The name in the order of a path below the package."""
    return path.split("/")[0].removesuffix(".py")


def points_up(importer: str, imported: str) -> bool:
    if importer == imported or {importer, imported} <= CONTEXTS or imported not in ORDER:
        return False
    return ORDER[imported] >= ORDER[importer]


def arrows() -> Iterator[tuple[str, str, str, str]]:
    """File, what it imports, and the two names in the order."""
    for path in sources():
        file = str(path.relative_to(PACKAGE))
        importer = step_name(file)
        for _line, module in imported_modules(path) if importer in ORDER else ():
            if module.startswith("saltlite."):
                yield file, module, importer, module.split(".")[1]


def imported_files(path: Path) -> Iterator[Path]:
    """The files of saltlite that a file imports, at its top, in functions or for annotations."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("saltlite"):
            for alias in node.names:
                # ``from package import name`` is the module of that name, if there is one
                below = file_of(f"{node.module}.{alias.name}")
                found = below or file_of(node.module)
                if found is not None:
                    yield found
        elif isinstance(node, ast.Import):
            names = (alias.name for alias in node.names if alias.name.startswith("saltlite."))
            yield from (found for found in map(file_of, names) if found is not None)


@functools.cache
def file_of(module: str) -> Path | None:
    place = ROOT.joinpath(*module.split("."))
    for path in (place.with_suffix(".py"), place / "__init__.py"):
        if path.is_file():
            return path
    return None


def find_cycles(graph: dict[Path, set[Path]]) -> list[list[str]]:
    """The files of each group that import one another, directly or by others (Tarjan)."""
    index: dict[Path, int] = {}
    low: dict[Path, int] = {}
    stack: list[Path] = []
    cycles = []

    def visit(path: Path) -> None:
        index[path] = low[path] = len(index)
        stack.append(path)
        for other in graph.get(path, ()):
            if other not in index:
                visit(other)
                low[path] = min(low[path], low[other])
            elif other in stack:
                low[path] = min(low[path], index[other])
        if low[path] == index[path]:
            group = stack[stack.index(path) :]
            del stack[stack.index(path) :]
            if len(group) > 1:
                cycles.append(sorted(str(one.relative_to(PACKAGE)) for one in group))

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(10_000)
    try:
        for path in graph:
            if path not in index:
                visit(path)
    finally:
        sys.setrecursionlimit(limit)
    return cycles


def test_a_cycle_is_found() -> None:
    one, two, three = (PACKAGE / name for name in ("a.py", "b.py", "c.py"))
    assert find_cycles({one: {two}, two: {three, one}, three: set()}) == [["a.py", "b.py"]]


def test_nothing_imports_itself_by_others() -> None:
    """Imports in functions and those for annotations count as any other."""
    graph = {path: set(imported_files(path)) - {path} for path in PACKAGE.rglob("*.py")}
    assert find_cycles(graph) == []


def test_the_order_names_all_of_layer_3() -> None:
    assert set(ORDER) == LAYERS[3].packages
    assert (points_up("loader", "modules"), points_up("modules", "loader")) == (True, False)
    assert (points_up("grains", "providers"), points_up("context", "runner_context")) == (
        True,
        False,
    )


def test_within_layer_3_imports_go_down_too() -> None:
    up = {
        (file, module)
        for file, module, importer, imported in arrows()
        if points_up(importer, imported)
    }
    assert up == set()


@pytest.mark.parametrize(
    "path",
    [path for path in sources() if package_of(path) in LAYERS[0].packages],
    ids=lambda path: str(path.relative_to(PACKAGE)),
)
def test_the_lowest_layer_needs_the_standard_library_only(path: Path) -> None:
    tops = {module.split(".")[0] for _, module in imported_modules(path)}
    assert tops - set(sys.stdlib_module_names) <= {"saltlite"}


USERS_IMPORTS = "saltlite/compat/salt/"
"""Users' files get libraries themselves under Salt's names: ``salt.utils.yaml.SafeDumper``."""


@pytest.mark.parametrize(
    ("library", "homes"),
    [
        ("yaml", ("saltlite/config/yaml.py", USERS_IMPORTS)),
        ("cryptography", ("saltlite/crypto/", "saltlite/providers/x509/")),
        # parsed texts are copied by it, and never leave the process
        # saltbus.py reads maps one after another from a stream that says nothing of their length
        # packed.py cuts a frame into pieces without building what is in it
        # serialized.py writes it as a format of file.serialize
        (
            "msgpack",
            (
                "saltlite/transport/codec.py",
                "saltlite/templates/parsed.py",
                "saltlite/api/saltbus.py",
                "saltlite/api/packed.py",
                "saltlite/states/file/serialized.py",
                USERS_IMPORTS,
            ),
        ),
        ("setproctitle", ("saltlite/process.py",)),
    ],
)
def test_a_library_has_one_home(library: str, homes: tuple[str, ...]) -> None:
    importers = {
        str(path.relative_to(ROOT))
        for path in sources()
        for _, module in imported_modules(path)
        if module.split(".")[0] == library
    }
    assert {importer for importer in importers if not importer.startswith(homes)} == set()
