"""Files that users wrote for Salt: found, loaded, and given what Salt gives them.

One :class:`UserModules` knows the files of one kind (``modules``, ``grains``, ``runners`` …) for
one context. A file is read once, when a name that it may stand for is asked for; what it may stand
for is read from its text, so the others stay unread. A file that does not load costs one line in
the log and its own functions, nothing else.

Here alone code is made from files, and only from files that belong to root or to us, in directories
where nobody else may write. Source: docs/modules.md#what-a-file-finds,
docs/security.md#secrets-at-rest, observed on Salt 3006.30.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.machinery
import importlib.util
import logging
import os
import re
import sys
import threading
import traceback
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from types import FunctionType, ModuleType
from typing import Any, Final, NoReturn, Protocol

from saltlite.context import ModuleFunctions
from saltlite.core.dataclasses import dataclass, field
from saltlite.core.lazyregex import regex
from saltlite.disk import check_origin
from saltlite.errors import FunctionUnavailable
from saltlite.loader import shim
from saltlite.loader.catalogue import directories, sync_dir
from saltlite.loader.dunders import Loads
from saltlite.loader.function import Function

log = logging.getLogger(__name__)

PACKAGE: Final = "salt.loaded.ext"
TAGS: Final = {"modules": "module", "renderers": "render", "runners": "runner"}
"""What Salt calls a kind in the names of modules; others are called as their directories."""

_LOADING: Final = threading.RLock()
"""Held while a file is loaded: ``sys.path`` and ``sys.modules`` are everybody's."""

_STEM = regex(r"[A-Za-z][\w-]*")
_VIRTUAL = regex(r"^def __virtual__\b.*?(?=^\S(?<!\))|\Z)", re.MULTILINE | re.DOTALL)
_VIRTUAL_NAME = regex(r"^__virtualname__\s*=\s*[\"']([\w.-]+)[\"']", re.MULTILINE)
_RETURN = regex(r"\breturn\b[ (]*([^\n]*)")
_TEXT = regex(r"[\"']([\w.-]+)[\"']\)?\s*(?:#.*)?$")
_NO_NAME = regex(r"(True|False|None|not |bool\(|$|#)")


@dataclass(slots=True)
class _File:
    """One file and what became of it. ``claims`` is ``None`` if only loading it can tell."""

    stem: str
    path: str
    claims: frozenset[str] | None
    begun: bool = False
    loaded: bool = False
    names: tuple[str, ...] = ()
    reason: str | None = None
    doc: str | None = None
    functions: dict[str, Callable[..., Any]] = field(default_factory=dict)
    outputters: Mapping[str, str] = field(default_factory=dict)


class FileGlobals(Protocol):
    """What the files of a context find in their globals; see ``Surroundings``."""

    def enter(self) -> AbstractContextManager[None]:
        """While a file is loaded or runs."""

    def dunders(self, kind: str) -> dict[str, Any]:
        """``__salt__`` and its kin, for files of a kind."""

    def opts_for(self, own: Mapping[str, object]) -> dict[str, Any]:
        """The ``__opts__`` of one file, whose own entries are ``own``."""


class UserModules:
    """The custom code of one kind that one context can reach."""

    def __init__(self, ctx: Loads, kind: str, around: FileGlobals) -> None:
        self._ctx = ctx
        self.kind = kind
        self._around = around
        self._index: dict[str, _File] | None = None

    def names(self) -> list[str]:
        """Salt's names of all functions, ``module.function``, sorted. Loads every file."""
        sources = (self.source(module) for module in self.modules())
        return sorted(
            f"{source.name}.{function}"
            for source in sources
            if source is not None
            for function in source.functions
        )

    def modules(self) -> list[str]:
        """Salt's names of all modules, sorted. Loads every file."""
        files = [self._ensure_loaded(file) for file in self._index_files().values()]
        return sorted({name for file in files for name in file.names})

    def source(self, name: str) -> ModuleFunctions | None:
        """The module of that name, ``None`` if no file stands for it.

        Where several files stand for one name, all their functions are there, and those of the
        first file win.
        """
        found = [
            file for file in self._list_candidates(name) if name in self._ensure_loaded(file).names
        ]
        if not found:
            return None
        functions = {
            key: value for file in reversed(found) for key, value in file.functions.items()
        }
        outputters = {key: out for file in reversed(found) for key, out in file.outputters.items()}
        return ModuleFunctions(
            name=name,
            path=found[0].stem,
            doc=found[0].doc,
            functions=functions,
            outputters=outputters,
        )

    def resolve(self, name: str) -> Function:
        """The function ``module.function``.

        Raises:
            FunctionUnavailable: there is none; with the reason, if a file said one.
        """
        module, _, function = name.partition(".")
        source = self.source(module)
        call = source.functions.get(function) if source is not None else None
        if source is None or call is None:
            raise FunctionUnavailable(name, None if source else self.refusal(module))
        return Function(name, call, call.__doc__, source.outputters.get(function))

    def get(self, name: str) -> Callable[..., Any] | None:
        """The function ``module.function``, ``None`` if there is none."""
        try:
            return self.resolve(name).call
        except FunctionUnavailable:
            return None

    def refusal(self, name: str) -> str | None:
        """Why the file called ``name`` gives no module, in Salt's words; ``None`` if it does."""
        file = self._index_files().get(name)
        if file is None or self._ensure_loaded(file).names:
            return None
        reason = f": {file.reason}" if file.reason else ""
        return f"'{name}' __virtual__ returned False{reason}"

    def has_file(self, name: str) -> bool:
        """Whether there is a file of that name, whatever it stands for."""
        return name in self._index_files()

    def files(self) -> dict[str, str]:
        """Name of each file → its path."""
        return {file.stem: file.path for file in self._index_files().values()}

    def reload(self) -> None:
        """Forget all, so that files are looked for and read again."""
        self._index = None
        prefix = self._module_name("")
        roots = tuple(os.path.join(root, "") for root in directories(self._ctx.config, self.kind))
        for name, module in list(sys.modules.items()):
            path = getattr(module, "__file__", None) or ""
            if name.startswith(prefix) or path.startswith(roots):
                del sys.modules[name]

    def _list_candidates(self, name: str) -> list[_File]:
        """The files that may stand for ``name``: the one called so, then by name."""
        named = [f for f in self._index_files().values() if f.claims is None or name in f.claims]
        return sorted(named, key=lambda file: (file.stem != name, file.claims is None))

    def _index_files(self) -> dict[str, _File]:
        if self._index is None:
            found: dict[str, _File] = {}
            off = self._list_disabled()
            for directory in directories(self._ctx.config, self.kind):
                for stem, path in _python_files(directory):
                    if stem not in found and stem not in off:
                        found[stem] = _File(stem, path, _read_claims(stem, path))
            self._index = found
        return self._index

    def _list_disabled(self) -> Sequence[str]:
        """The files that a minion's ``disable_modules`` names."""
        options = getattr(self._ctx.config, "modules", None) if self.kind == "modules" else None
        return () if options is None else options.disable_modules

    def _ensure_loaded(self, file: _File) -> _File:
        if file.loaded:
            return file
        with _LOADING:
            if not file.loaded and not file.begun:
                file.begun = True  # a file that asks for itself meanwhile is not there yet
                self._load_file(file)
                file.loaded = True  # also if it failed: once is enough
        return file

    # --- loading one file ------------------------------------------------------------------------

    def _load_file(self, file: _File) -> None:
        shim.install()
        with (
            self._around.enter(),
            _make_importable(file.path, sync_dir(self._ctx.config, "utils")),
        ):
            try:
                module = self._execute_file(file)
                self._run_init(file, module)
            except (Exception, SystemExit) as error:  # noqa: BLE001 - a user's file
                file.reason = file.reason or str(error)
                log.error(
                    "%s: %s: not loaded", _locate_error(file.path, error), _describe_error(error)
                )
                return
            self._register_file(file, module)

    def _execute_file(self, file: _File) -> ModuleType:
        check_origin(file.path)
        name = self._module_name(file.stem)
        module = _module_of(name, file.path)
        own = vars(module).get("__opts__")
        vars(module).update(self._around.dunders(self.kind))
        vars(module)["__opts__"] = self._around.opts_for(own if isinstance(own, dict) else {})
        return module

    def _run_init(self, file: _File, module: ModuleType) -> None:
        begin = vars(module).get("__init__")
        if isinstance(begin, FunctionType):
            file.reason = "__init__ failed"
            begin(vars(module)["__opts__"])
            file.reason = None

    def _register_file(self, file: _File, module: ModuleType) -> None:
        """What the module stands for, and its functions."""
        file.names, file.reason = self._read_virtual(file, module)
        file.doc = module.__doc__
        file.outputters = _read_mapping(module, "__outputter__")
        file.functions = {
            name: self._bind_function(function, module)
            for name, function in _public_functions(module)
        }

    def _read_virtual(self, file: _File, module: ModuleType) -> tuple[tuple[str, ...], str | None]:
        """The names that the module stands for, or none and the reason."""
        aliases = tuple(vars(module).get("__virtual_aliases__", ()))
        ask = vars(module).get("__virtual__")
        if not isinstance(ask, FunctionType):
            return (file.stem, *aliases), None
        try:
            said = ask()
        except Exception as error:  # noqa: BLE001 - a user's file
            log.error(
                "%s: __virtual__: %s: not loaded",
                _locate_error(file.path, error),
                _describe_error(error),
            )
            return (), (
                f"Exception raised when processing __virtual__ function for {module.__name__}. "
                f"Module will not be loaded: {error}"
            )
        said, reason = said if isinstance(said, tuple) and len(said) == 2 else (said, None)
        if not said:
            return (), None if reason is None else str(reason)
        name = vars(module).get("__virtualname__", file.stem) if said is True else said
        return (str(name), *aliases), None

    def _bind_function(self, function: FunctionType, module: ModuleType) -> Callable[..., Any]:
        """The function, run in these surroundings whoever calls it."""
        around = self._around

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with around.enter():
                return function(*args, **kwargs)

        call.__module__ = module.__name__
        return call

    def _module_name(self, stem: str) -> str:
        return f"{PACKAGE}.{TAGS.get(self.kind, self.kind)}.{stem}"


# --- from names of files to modules --------------------------------------------------------------


def may_stand_for(config: object, kind: str, name: str) -> bool:
    """Whether a file of users may be the plug-in ``name``; none of them is loaded."""
    files = (file for place in directories(config, kind) for file in _python_files(place))
    claims = (_read_claims(stem, path) for stem, path in files)
    return any(names is None or name in names for names in claims)


def _python_files(directory: str) -> Iterator[tuple[str, str]]:
    """Stem and path of each Python file and each package in a directory, sorted."""
    try:
        names = sorted(os.listdir(directory))
    except OSError:
        return
    for name in names:
        stem, suffix = os.path.splitext(name)
        path = os.path.join(directory, name)
        if suffix == ".py" and _STEM.fullmatch(stem):
            yield stem, path
        elif not suffix and _STEM.fullmatch(name):
            inside = os.path.join(path, "__init__.py")
            if os.path.isfile(inside):
                yield name, inside


def _read_claims(stem: str, path: str) -> frozenset[str] | None:
    """The names that a file may stand for, as its text says; ``None`` if it does not say."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
    except OSError:
        return frozenset({stem})
    if "__virtual_aliases__" in text:
        return None
    if "__virtual__" not in text:
        return frozenset({stem})
    body = _VIRTUAL.search(text)
    if body is None:
        return None  # made in some other way
    names = set(_VIRTUAL_NAME.findall(text))
    for value in _RETURN.findall(body.group()):
        literal = _TEXT.match(value)
        if literal:
            names.add(literal.group(1))
        elif not (_NO_NAME.match(value) or (value.startswith("__virtualname__") and names)):
            return None
    return frozenset({stem, *names})


class _FreshLoader(importlib.machinery.SourceFileLoader):
    """Reads source and keeps no bytecode.

    A cached ``.pyc`` is told from a stale one by whole seconds, and a file that was synchronised
    twice within one would go on being the first.
    """

    def path_stats(self, path: object) -> NoReturn:
        """Without them no bytecode is looked for, and none is written."""
        raise OSError(f"no bytecode of {path}")


def _module_of(name: str, path: str) -> ModuleType:
    """The module in a file, executed."""
    _add_parents(name)
    package = os.path.basename(path) == "__init__.py"
    spec = importlib.util.spec_from_file_location(
        name,
        path,
        loader=_FreshLoader(name, path),
        submodule_search_locations=[os.path.dirname(path)] if package else None,
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be loaded", name=name, path=path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module


def _add_parents(name: str) -> None:
    """The packages above a module, for its relative imports."""
    parts = name.split(".")[:-1]
    for length in range(1, len(parts) + 1):
        parent = ".".join(parts[:length])
        if parent not in sys.modules:
            package = types.ModuleType(parent)
            package.__path__ = []
            sys.modules[parent] = package


@contextlib.contextmanager
def _make_importable(path: str, utils: str) -> Iterator[None]:
    """Let a file import those beside it while it is loaded, and custom ``_utils`` at any time."""
    if utils not in sys.path:
        sys.path.append(utils)
    beside = os.path.dirname(path)
    sys.path.append(beside)
    try:
        yield
    finally:
        with contextlib.suppress(ValueError):
            sys.path.remove(beside)


def _public_functions(module: ModuleType) -> Iterator[tuple[str, FunctionType]]:
    """The functions that a module has for others, by Salt's names.

    What it imported is not among them, nor are classes and other things that can be called.
    """
    listed = vars(module).get("__load__")
    aliases = _read_mapping(module, "__func_alias__")
    for name, value in vars(module).items():
        if name.startswith("_") or not isinstance(value, FunctionType):
            continue
        if not _is_own(value, module) or (listed is not None and name not in listed):
            continue
        there = _with_its_needs(value, module)
        if there is not None:
            yield aliases.get(name, name), there


def _is_own(function: FunctionType, module: ModuleType) -> bool:
    """Whether a function was made in this file or, for a package, in one below it."""
    return f"{function.__module__}.".startswith(f"{module.__name__}.")


def _with_its_needs(function: FunctionType, module: ModuleType) -> FunctionType | None:
    """The function; what stands in for it, or ``None``, if something that it needs is missing."""
    if not hasattr(function, "__salt_depends__"):
        return function
    need = shim.load("salt.utils.decorators").unmet(function, vars(module))
    if need is None:
        return function
    return need.fallback if isinstance(need.fallback, FunctionType) else None


def _read_mapping(module: ModuleType, name: str) -> Mapping[str, Any]:
    value = vars(module).get(name)
    return value if isinstance(value, Mapping) else {}


# --- what went wrong -----------------------------------------------------------------------------


def _locate_error(path: str, error: BaseException) -> str:
    """``file:line`` of an error, the last line of that file that was at work."""
    if isinstance(error, SyntaxError) and error.lineno:
        return f"{error.filename or path}:{error.lineno}"
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__)
             if frame.filename == path]  # fmt: skip
    return f"{path}:{lines[-1]}" if lines else path


def _describe_error(error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return f"SyntaxError: {error.msg}"
    return f"{type(error).__name__}: {error}"
