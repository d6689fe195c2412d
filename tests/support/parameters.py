"""Which parameters of public functions nobody reads: a walk over the syntax trees of the package.

A parameter is read if its function looks at it: compares it, formats it, calls a method of it. What
is only handed on to another function of the package is read if that one reads it; as a field of an
object, if anything that knows the class looks at the field; among other keywords, if the key is
looked up. What cannot be followed counts as read, so all that is found here is a finding.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

PACKAGE = "saltlite"
CONVERSIONS = {"str", "int", "bool", "list", "tuple", "dict", "float", "set"}
LOOKS = {"get", "pop", "setdefault"}
REFLECTION = {"asdict", "fields", "vars", "astuple"}
LOOK_UPS = {"getattr", "write_fields"}
"""Look at fields whose names are texts somewhere in the module."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class Module:
    """One file: what its names stand for."""

    name: str
    tree: ast.Module
    is_package: bool
    names: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Name → ``("module", m)``, or ``("member", m, name)`` of what is defined in ``m``."""
    parents: dict[ast.AST, ast.AST] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for node in ast.walk(self.tree):
            for child in ast.iter_child_nodes(node):
                self.parents[child] = node
            if isinstance(node, ast.ImportFrom):
                self._note(node)
            elif isinstance(node, ast.Import):
                for each in node.names:
                    if each.asname or "." not in each.name:
                        self.names[each.asname or each.name] = ("module", each.name)
        for node in self.tree.body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                self.names[node.name] = ("member", self.name, node.name)

    def _note(self, node: ast.ImportFrom) -> None:
        for each in node.names:
            self.names[each.asname or each.name] = ("from", node.module or "", each.name)

    @cached_property
    def texts(self) -> frozenset[str]:
        return frozenset(
            node.value
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        )

    @cached_property
    def reflections(self) -> tuple[ast.Call, ...]:
        """Calls that look at the fields of a value."""
        return tuple(
            node
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in REFLECTION | LOOK_UPS
            and node.args
        )

    @property
    def attributes(self) -> Set[str]:
        return self.attribute_nodes.keys()

    @cached_property
    def attribute_nodes(self) -> Mapping[str, list[ast.Attribute]]:
        found: dict[str, list[ast.Attribute]] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                found.setdefault(node.attr, []).append(node)
        return found

    @cached_property
    def reflects(self) -> bool:
        return _reflects(self.tree)

    @cached_property
    def imported(self) -> frozenset[str]:
        return frozenset(
            f"{found[1]}.{found[2]}" if found[0] == "from" else found[1]
            for found in self.names.values()
        ) | {found[1] for found in self.names.values()}


@dataclass(frozen=True)
class Definition:
    """A function, or a class with what makes its objects."""

    module: str
    name: str
    node: Any = field(compare=False, hash=False)
    owner: str = ""
    """The class of a method."""
    family: Definition | None = None
    """The class of the options that the function takes as one value (``core/arguments.py``)."""
    options: tuple[str, ...] = ()
    """Those of its fields that callers give."""

    @property
    def is_class(self) -> bool:
        return isinstance(self.node, ast.ClassDef)


class Program:
    """All files of the package, and who reads what."""

    def __init__(self, root: Path) -> None:
        self.modules: dict[str, Module] = {}
        for path in sorted((root / PACKAGE).rglob("*.py")):
            parts = path.relative_to(root).with_suffix("").parts
            name = ".".join(parts).removesuffix(".__init__")
            tree = ast.parse(path.read_text())
            self.modules[name] = Module(name, tree, path.name == "__init__.py")
        self._answers: dict[tuple[Any, ...], bool] = {}

    # -- what names stand for

    def member(self, module: str, name: str) -> Definition | Module | None:
        """What ``module.name`` is, wherever it was defined."""
        for _ in range(5):
            if f"{module}.{name}" in self.modules:
                return self.modules[f"{module}.{name}"]
            if module not in self.modules:
                return None
            found = self.modules[module].names.get(name)
            if found is None:
                return None
            if found[0] == "member":
                node = next(
                    (n for n in self.modules[module].tree.body if getattr(n, "name", "") == name),
                    None,
                )
                return Definition(module, name, node) if node is not None else None
            if found[0] == "module":
                return self.modules.get(found[1])
            module, name = found[1], found[2]
        return None

    def callee(self, module: Module, node: ast.expr) -> Definition | None:
        """The function or class that an expression names, if it is one of the package."""
        if isinstance(node, ast.Name):
            found = self.member(module.name, node.id)
            return found if isinstance(found, Definition) else None
        if not isinstance(node, ast.Attribute):
            return None
        holder = self._holder(module, node.value)
        if isinstance(holder, Module):
            found = self.member(holder.name, node.attr)
            return found if isinstance(found, Definition) else None
        if isinstance(holder, Definition) and holder.is_class:
            return self.method(holder, node.attr)
        return None

    def _holder(self, module: Module, node: ast.expr) -> Definition | Module | None:
        if isinstance(node, ast.Name):
            found = module.names.get(node.id)
            if found is not None and found[0] == "module":
                return self.modules.get(found[1])
            return self.member(module.name, node.id)
        if isinstance(node, ast.Attribute):
            above = self._holder(module, node.value)
            return self.member(above.name, node.attr) if isinstance(above, Module) else None
        return None

    def method(self, owner: Definition, name: str) -> Definition | None:
        for each in self.lineage(owner):
            for node in each.node.body:
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == name:
                    return Definition(each.module, name, node, each.name)
        return None

    def lineage(self, owner: Definition) -> Iterator[Definition]:
        yield owner
        for base in owner.node.bases:
            base = base.value if isinstance(base, ast.Subscript) else base
            found = self.callee(self.modules[owner.module], base)
            if found is not None and found.is_class:
                yield from self.lineage(found)

    def fields(self, owner: Definition) -> list[str]:
        """The fields of a dataclass, those of its bases first."""
        lineage = reversed(list(self.lineage(owner)))
        return list(dict.fromkeys(name for each in lineage for name in _annotations(each.node)))

    # -- who reads what

    def reads(self, function: Definition, parameter: str) -> bool:
        """Whether a function looks at its parameter, or hands it to something that does."""
        return self._once(("parameter", function, parameter), self._reads, function, parameter)

    def reads_option(self, function: Definition, name: str) -> bool:
        """Whether anything looks at a field of the options that a function takes.

        A value of a family is called ``options``, or is a parameter of the family's type.
        """
        return self._once(("option", function.family, name), self._reads_option, function, name)

    def _reads_option(self, function: Definition, name: str) -> bool:
        assert function.family is not None
        lineage = list(self.lineage(function.family))
        homes = {each.module for each in lineage}
        for module in self.modules.values():
            if module.name not in homes and not homes & module.imported:
                continue
            for node in module.attribute_nodes.get(name, ()):
                inside = self._enclosing(module, node, node.value, lineage)
                if inside is not None and self._use_reads(module, inside, node):
                    return True
            for call in module.reflections:
                if self._enclosing(module, call, call.args[0], lineage) is None:
                    continue
                if call.func.id not in LOOK_UPS or name in module.texts:  # type: ignore[attr-defined]
                    return True
        return False

    def _enclosing(
        self, module: Module, node: ast.AST, value: ast.AST, lineage: list[Definition]
    ) -> Definition | None:
        """The function around a node, if what is looked at there is a value of the family."""
        classes = {each.name for each in lineage}
        held = value.id if isinstance(value, ast.Name) else ""
        around: Any = node
        while not isinstance(around, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Module)):
            around = module.parents[around]
        if isinstance(around, ast.Module):
            return None
        above = module.parents[around]
        owner = above.name if isinstance(above, ast.ClassDef) else ""
        arguments = around.args
        typed = {
            each.arg
            for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
            if each.annotation is not None and ast.unparse(each.annotation) in classes
        }
        if held == "options" or held in typed or (held == "self" and owner in classes):
            return Definition(module.name, around.name, around, owner)
        return None

    def _once(self, key: tuple[Any, ...], ask: Any, *arguments: Any) -> bool:
        if key not in self._answers:
            self._answers[key] = False  # a circle of functions that hand it on reads nothing
            self._answers[key] = ask(*arguments)
        return self._answers[key]

    def _reads(self, function: Definition, parameter: str) -> bool:
        module = self.modules[function.module]
        arguments = function.node.args
        if arguments.kwarg is not None and arguments.kwarg.arg == parameter:
            return True
        for use in _uses(function.node, parameter):
            if self._use_reads(module, function, use):
                return True
        return any(
            self._map_reads(module, function, call, parameter) for call in _locals_of(function.node)
        )

    def _use_reads(self, module: Module, function: Definition, use: ast.AST) -> bool:
        parent = module.parents[use]
        if _converts(parent, use):
            return self._use_reads(module, function, parent)
        if isinstance(parent, (ast.Assign, ast.AnnAssign)) and parent.value is use:
            return self._assigned(module, function, parent)
        if isinstance(parent, ast.keyword):
            call = module.parents[parent]
            return not isinstance(call, ast.Call) or self._handed(module, call, use, parent.arg)
        if isinstance(parent, ast.Call) and use in parent.args:
            return self._handed(module, parent, use, None)
        return True

    def _assigned(self, module: Module, function: Definition, node: Any) -> bool:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            if isinstance(target, ast.Attribute) and _is_self(target.value) and function.owner:
                owner = self.member(function.module, function.owner)
                return self._field_read(owner, target.attr)  # type: ignore[arg-type]
        return True

    def _handed(self, module: Module, call: ast.Call, use: ast.AST, key: str | None) -> bool:
        target, given = call.func, list(call.args)
        if isinstance(target, ast.Name) and target.id == "partial" and given:
            target = given.pop(0)
            if use is target:
                return True
        if any(isinstance(each, ast.Starred) for each in given):
            return True
        callee = self.callee(module, target)
        if callee is None:
            return True
        place = given.index(use) if key is None and use in given else None
        if callee.is_class:
            return self._given_to_class(callee, place, key)
        return self._given(callee, place, key, bound=bool(callee.owner))

    def _given_to_class(self, owner: Definition, place: int | None, key: str | None) -> bool:
        maker = self.method(owner, "__init__")
        if maker is not None:
            return self._given(maker, place, key, bound=True)
        names = self.fields(owner)
        if place is not None:
            key = names[place] if place < len(names) else None
        if key is None or key not in names:
            return True
        return self._field_read(owner, key)

    def _given(self, callee: Definition, place: int | None, key: str | None, bound: bool) -> bool:
        arguments = callee.node.args
        named = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
        if bound and not _is_static(callee.node):
            named = named[1:]
        if place is not None:
            return place >= len(named) or self.reads(callee, named[place])
        if key is None:
            return True
        if key in named or key in [each.arg for each in arguments.kwonlyargs]:
            return self.reads(callee, key)
        if arguments.kwarg is None:
            return True
        return self.reads_key(callee, arguments.kwarg.arg, key)

    def _field_read(self, owner: Definition, name: str) -> bool:
        return self._once(("field", owner, name), self._field_is_read, owner, name)

    def _field_is_read(self, owner: Definition, name: str) -> bool:
        for each in self.modules.values():
            knows = each.name == owner.module or any(
                found == owner.module or found.startswith(f"{owner.module}.")
                for found in each.imported
            )
            if not knows:
                continue
            if name in each.attributes or each.reflects:
                return True
        return False

    # -- keys of maps

    def reads_key(self, function: Definition, parameter: str, key: str) -> bool:
        """Whether a function looks up a key in the map that it gets as one of its parameters."""
        asked = ("key", function, parameter, key)
        return self._once(asked, self._reads_key, function, parameter, key)

    def _reads_key(self, function: Definition, parameter: str, key: str) -> bool:
        module = self.modules[function.module]
        return any(
            self._map_reads(module, function, use, key) for use in _uses(function.node, parameter)
        )

    def _map_reads(self, module: Module, function: Definition, use: ast.AST, key: str) -> bool:
        """Whether what is done with a map looks at its key."""
        parent = module.parents[use]
        if isinstance(parent, ast.Attribute):
            return self._looked_up(module, parent, key)
        if isinstance(parent, ast.Subscript) and parent.value is use:
            return _means(parent.slice, key, module)
        if isinstance(parent, ast.Compare):
            return _means(parent.left, key, module)
        if isinstance(parent, ast.Dict) or _copies(parent, use):
            return self._map_reads(module, function, parent, key)
        if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Name):
            name = parent.targets[0].id
            return any(
                self._map_reads(module, function, each, key) for each in _uses(function.node, name)
            )
        if isinstance(parent, ast.keyword):
            return self._map_handed(module, parent, key)
        if isinstance(parent, ast.Call) and use in parent.args:
            return self._map_given(module, parent, parent.args.index(use), key)
        if isinstance(parent, (ast.BoolOp, ast.IfExp)):
            return self._map_reads(module, function, parent, key)
        return True

    def _looked_up(self, module: Module, node: ast.Attribute, key: str) -> bool:
        call = module.parents[node]
        if node.attr in LOOKS and isinstance(call, ast.Call) and call.args:
            return _means(call.args[0], key, module)
        return True

    def _map_handed(self, module: Module, word: ast.keyword, key: str) -> bool:
        call = module.parents[word]
        if not isinstance(call, ast.Call):
            return True
        callee = self.callee(module, call.func)
        if callee is None:
            return True
        if word.arg is None and callee.is_class:
            return self._given_to_class(callee, None, key)
        if word.arg is None:
            return self._given(callee, None, key, bound=bool(callee.owner))
        return callee.is_class or self.reads_key(callee, word.arg, key)

    def _map_given(self, module: Module, call: ast.Call, place: int, key: str) -> bool:
        if isinstance(call.func, ast.Name) and call.func.id == "set":
            return False
        callee = self.callee(module, call.func)
        if callee is None or callee.is_class:
            return True
        if callee.name == "read_fields":  # makes a value of arguments
            made = self.callee(module, call.args[0])
            return made is None or (key in self.fields(made) and self._field_read(made, key))
        arguments = callee.node.args
        named = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
        if callee.owner and not _is_static(callee.node):
            named = named[1:]
        if place >= len(named):
            return True
        return self.reads_key(callee, named[place], key)


def _annotations(node: ast.ClassDef) -> list[str]:
    """What the body of a class annotates: its fields."""
    return [
        each.target.id
        for each in node.body
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
    ]


def _uses(function: Function, name: str) -> list[ast.Name]:
    return [
        node
        for part in function.body
        for node in ast.walk(part)
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
    ]


def _locals_of(function: Function) -> list[ast.Call]:
    return [
        node
        for node in ast.walk(function)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "locals"
    ]


def _converts(parent: ast.AST, use: ast.AST) -> bool:
    if isinstance(parent, ast.BoolOp):
        return True
    if isinstance(parent, ast.IfExp):
        return True
    return (
        isinstance(parent, ast.Call)
        and isinstance(parent.func, ast.Name)
        and parent.func.id in CONVERSIONS
        and use in parent.args
    )


def _copies(parent: ast.AST, use: ast.AST) -> bool:
    return (
        isinstance(parent, ast.Call)
        and isinstance(parent.func, ast.Name)
        and parent.func.id == "dict"
        and use in parent.args
    )


def _means(node: ast.AST, key: str, module: Module) -> bool:
    """Whether an expression is, or may be, a key."""
    if isinstance(node, ast.Constant):
        return bool(node.value == key)
    return key in module.texts or key in _field_names(module)


def _field_names(module: Module) -> set[str]:
    return {
        node.target.id
        for node in ast.walk(module.tree)
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }


def _reflects(tree: ast.AST) -> bool:
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in REFLECTION
        for node in ast.walk(tree)
    )


def _is_self(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def _is_static(node: Function) -> bool:
    return any(
        isinstance(each, ast.Name) and each.id == "staticmethod" for each in node.decorator_list
    )


def parameters(function: Definition) -> list[str]:
    """The parameters that a caller can name, but for options that are fields."""
    arguments = function.node.args
    names = [each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    names = names[1:] if names[:1] == ["ctx"] else names
    return names[1:] if function.family else names


def unread(program: Program, functions: Mapping[str, Definition]) -> dict[str, list[str]]:
    """The parameters that nobody reads, by the names of their functions."""
    found = {
        name: [
            *[each for each in parameters(function) if not program.reads(function, each)],
            *[each for each in function.options if not program.reads_option(function, each)],
        ]
        for name, function in functions.items()
    }
    return {name: names for name, names in sorted(found.items()) if names}
