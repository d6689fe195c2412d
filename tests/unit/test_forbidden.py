"""What must not be in the code, found by reading its syntax tree.

Source: docs/security.md#rules; docs/architecture.md#layers. Each list of exceptions says why each
is one.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Container, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "saltlite"

BROAD_HANDLERS = {
    "states/module.py": "a job runner of its own: a function's exception is a state's result",
    "highstate/call.py": "the engine of states: a state's fault is its result",
    "highstate/parallel.py": "a forked child must never return into its parent's code",
    "loader/matchers.py": "a callback of users: one target of a top file must not cost all others",
    "pillar/external.py": "a callback of users: one source of pillar must not cost all others",
    "highstate/master_tops.py": "custom tops may raise anything; one must not cost the others",
    "cli/config_child.py": "a child must never return into its parent's code",
    "api/app.py": "the outermost handler of a request: everybody is answered",
    "master/dispatch.py": "the worker loop: a handler's fault is an answer, not the worker's end",
    "master/mworker.py": "the worker loop: every request is answered",
    "minion/master_function.py": "a callback of users: what it raises is a line about the option",
    "minion/job.py": "the job runner: a function's exception becomes its return",
    "minion/beacon_process.py": "plug-ins' callbacks: one beacon must not cost the others",
    "minion/spawner.py": "the job runner, for jobs in threads",
    "minion/daemon.py": "a forked child must never return into its parent's code",
    "master/supervisor.py": "a forked child must never return into its parent's code",
    "python/client.py": "a thread: what happens in it is raised where it is waited for",
    "doctor/run.py": "a forked child must never return; a check that fails is a finding",
    "modules/mine.py": "a job runner of its own: one mine function must not lose the others",
    "modules/saltcheck.py": "a job runner of its own: one test must not lose the others",
    "master/job_mirror.py": "a plug-in's callback: a returner must not keep a job from its minions",
    "master/eventreturn.py": "a plug-in's callback: a returner must not end the process",
    "master/returnwriter.py": "a thread that ends would leave a process that does nothing",
    "master/logincheck.py": "a plug-in's callback: whatever it raises, the login has failed",
    "master/loginserver.py": "a forked child must never return into its parent's code",
    "master/runs.py": "a forked child must never return into its parent's code",
    "engines/reactor.py": "a plug-in's callback: a function must not end the reactor",
    "master/reactor.py": "a template calls anything: none may end the reactor",
    "master/renderprocess.py": "a forked child must never return into its parent's code",
    "loader/engines.py": "a callback of a plug-in: its process says how it ended",
    "jobs/deliver.py": "a plug-in's callback: one returner must not keep the next from it",
    "modules/test.py": "test.try is a function that does nothing else",
    "cli/salt_call.py": "the job runner of salt-call",
    "client/runner.py": "the job runner of runners",
    "templates/jinja.py": "a template calls anything: its fault has a file and a line",
    "templates/mako.py": "a template runs any code: its fault has a file",
    "renderers/pyobjects.py": "a file of states runs any code: its fault has a file and a line",
    "templates/python.py": "a template runs any code: its fault has a file and a line",
    "minion/master_link.py": "the minion's loop: one publication must not end it",
    "minion/minion.py": "the minion's loop: its parent starts it again, the log says why",
    "grains/custom.py": "a user's grains function that fails costs its own grains",
    "loader/custom_outputters.py": "a user's outputter that fails: ours shows the value",
    "loader/user.py": "a user's file that does not load costs itself, not the rest",
}
DYNAMIC_ATTRIBUTES = {
    "__init__.py": "names of a fixed table, imported when they are asked for",
    "compat/salt/client.py": "stands in for our LocalClient: what is asked of it, of that",
    "cli/deferred_imports.py": "stands in for a module of Python's: what is asked of it, of that",
    "core/dataclasses.py": "walks the fields that a class of ours declares",
    "core/fields.py": "walks the fields of a dataclass of ours",
    "core/lazyregex.py": "stands in for a compiled pattern: what is asked of it, of that",
    "cli/config_child.py": "walks the fields of the configuration's own dataclasses",
    "cli/options.py": "options that were declared in the same file",
    "cli/salt.py": "three options, named in the line above",
    "cli/show.py": "walks the fields of an options dataclass",
    "config/opts.py": "walks the fields of the configuration's own dataclasses",
    "config/yaml.py": "a constructor of the YAML library, from a fixed list",
    "core/messages.py": "walks the fields of the message's own dataclass",
    "loader/catalogue.py": "options of directories, from a fixed table",
}
WALL_CLOCK = {
    "cluster/administration.py": "what two clocks differ by",
    "cluster/key_ring.py": "serials are times of PostgreSQL's clock, which a node alone goes by",
    "doctor/machine.py": "ages of files, and what clocks differ by",
    "databases/spool.py": "when records that were dropped were told of, and a file put aside",
    "cli/salt.py": "moment of a return, for jobs.trace",
    "client/jobs.py": "moment of a question, for jobs.trace",
    "master/publisher.py": "moment of a publication, for jobs.trace",
    "cli/login.py": "age of a file, by its mtime",
    "highstate/control.py": "age of what was said to a run, by its mtime",
    "grains/cached.py": "age of a file, by its mtime",
    "providers/file/find.py": "ages of files, by their mtime",
    "providers/file/paths.py": "times of files, for touch",
    "modules/file/moving.py": "ages of directories, by their mtime",
    "modules/shadow.py": "the day a password was changed, kept on disk",
    "modules/test.py": "Salt's test.* functions report it",
    "modules/saltutil/upkeep.py": "age of files, by their mtime",
    "providers/pkg/apt.py": "age of apt's lists, by their mtime",
    "master/sessions.py": "age of a file, by its mtime",
    "master/keystore.py": "age of a directory, by its mtime",
    "master/jobcache.py": "part of a file name",
    "jobs/report_file.py": "part of a file name",
    "highstate/exporting.py": "age of what was sent, kept across restarts",
    "providers/file/bucket.py": "ages of what is kept, across restarts",
    "jobs/own_reports.py": "age of reports, kept across restarts",
    "cluster/bridge.py": "when a run of states was, whose jid is no time",
    "channel/minion.py": "the wire's ts",
    "minion/executor.py": "moment of a return, kept across restarts",
    "minion/process.py": "moment of a return, kept across restarts",
    "minion/minion.py": "moment of a return, kept across restarts",
    "databases/returner.py": "ages of rows, by the time they were written",
    "master/maintenance.py": "ages of files; sees steps of the clock",
    "master/reactor.py": "age of a management event, fired by another process",
    "cli/reactions.py": "moment of a management event, for another process",
    "master/noncefile.py": "moment of saving, kept across restarts",
    "fileserver/roots.py": "ages of directories, by their mtime",
    "fileserver/gitrepo.py": "age of the last fetch, by the mtime of its record",
    "disk.py": "ages of files, by their mtime",
    "states/file/cleaning.py": "ages of files and directories, by their times",
}
WRITERS = {
    "disk.py": "the one place that writes files that matter",
    "minion/daemon.py": "the pid inside the lock file it holds",
    "host.py": "the one door to the machine, for functions",
}
MADE_CODE = {
    "core/dataclasses.py": "an __init__ of a class of ours, from the names of its fields",
}
STORED_CODE = {
    "templates/compiled.py": "templates that we compiled, where only we can write, as a .pyc file",
}
FORBIDDEN_IMPORTS = {"pickle", "cPickle", "_pickle", "dill", "marshal", "shelve", "imp"}
FORBIDDEN_CALLS = {
    "eval",
    "exec",
    "compile",
    "__import__",
    "globals",
    "os.system",
    "os.popen",
    "tempfile.mktemp",
    "subprocess.getoutput",
    "subprocess.getstatusoutput",
    "yaml.load",
    "yaml.load_all",
    "yaml.full_load",
    "yaml.unsafe_load",
    "operator.attrgetter",
    "operator.methodcaller",
}

SUBPROCESS = {"run", "Popen", "call", "check_call", "check_output"}

Finder = Callable[[ast.AST], bool]


KINDS = (ast.Call, ast.ClassDef, ast.ExceptHandler, ast.Import, ast.ImportFrom)
"""What is looked at."""


@functools.cache
def nodes() -> dict[str, list[ast.AST]]:
    """By the file's name in the package, what finders may pick."""
    return {
        str(path.relative_to(PACKAGE)): [
            node
            for node in ast.walk(ast.parse(path.read_text(), str(path)))
            if isinstance(node, KINDS)
        ]
        for path in sorted(PACKAGE.rglob("*.py"))
    }


@functools.cache
def places(finder: Finder) -> list[tuple[str, int]]:
    """File and line of every node that ``finder`` picks."""
    return [
        (name, getattr(node, "lineno", 0))
        for name, found in nodes().items()
        for node in found
        if finder(node)
    ]


def findings(finder: Finder, exceptions: Container[str] = ()) -> list[str]:
    """``file:line`` of every node that ``finder`` picks, except in the files named."""
    return [f"{name}:{line}" for name, line in places(finder) if name not in exceptions]


def dotted(node: ast.AST) -> str:
    """``os.system`` for the expression of that form, else what can be said of it."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return "?"


def called(node: ast.AST) -> str:
    return dotted(node.func) if isinstance(node, ast.Call) else ""


def imports(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield node.module or ""
        yield from (f"{node.module}.{alias.name}" for alias in node.names)


def keyword(node: ast.AST, name: str) -> ast.expr | None:
    if not isinstance(node, ast.Call):
        return None
    return next((one.value for one in node.keywords if one.arg == name), None)


def is_forbidden_call(node: ast.AST) -> bool:
    return called(node) in FORBIDDEN_CALLS or bool(FORBIDDEN_CALLS.intersection(imports(node)))


def is_forbidden_import(node: ast.AST) -> bool:
    return any(name.split(".")[0] in FORBIDDEN_IMPORTS for name in imports(node))


def is_shell(node: ast.AST) -> bool:
    """``shell=True`` anywhere; given to subprocess, anything but ``False``."""
    value = keyword(node, "shell")
    if isinstance(value, ast.Constant):
        return value.value is True
    name = called(node)
    return value is not None and (name.startswith("subprocess.") or name in SUBPROCESS)


def is_select(node: ast.AST) -> bool:
    return called(node) == "select.select"


def is_dynamic_attribute(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call) or called(node) not in ("getattr", "setattr", "hasattr"):
        return False
    return not (len(node.args) > 1 and isinstance(node.args[1], ast.Constant))


def is_broad_handler(node: ast.AST) -> bool:
    """One that catches everything and does not raise again at its end."""
    if not isinstance(node, ast.ExceptHandler):
        return False
    caught = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
    broad = any(one is None or dotted(one) in ("Exception", "BaseException") for one in caught)
    last = node.body[-1]
    return broad and not (isinstance(last, ast.Raise) and last.exc is None)


def is_wall_clock(node: ast.AST) -> bool:
    return called(node) in ("time.time", "time.time_ns")


def is_naive_time(node: ast.AST) -> bool:
    return called(node).endswith(("datetime.utcnow", "datetime.utcfromtimestamp"))


def writes_file(node: ast.AST) -> bool:
    name = called(node)
    if name.endswith((".write_text", ".write_bytes")):
        return True
    if not isinstance(node, ast.Call) or not (name == "open" or name.endswith("Path.open")):
        return False
    mode = keyword(node, "mode") or (node.args[1] if len(node.args) > 1 else None)
    return isinstance(mode, ast.Constant) and bool(set(str(mode.value)) & set("wax+"))


def test_no_code_is_made_from_data() -> None:
    assert findings(is_forbidden_call, MADE_CODE) == []
    assert findings(is_forbidden_import, STORED_CODE) == []


def test_no_shell_is_asked_to_parse_a_command() -> None:
    assert findings(is_shell) == []


def test_no_attribute_is_chosen_by_a_name_from_elsewhere() -> None:
    """The road to CVE-2020-11651 was ``getattr(self, load["cmd"])``."""
    found = findings(is_dynamic_attribute, DYNAMIC_ATTRIBUTES)
    assert found == []


def test_the_master_has_no_exception_to_that() -> None:
    assert [name for name in DYNAMIC_ATTRIBUTES if name.startswith("master/")] == []


def test_everything_is_caught_only_where_that_is_decided() -> None:
    assert findings(is_broad_handler, BROAD_HANDLERS) == []


def test_waits_do_not_depend_on_the_wall_clock() -> None:
    assert findings(is_wall_clock, WALL_CLOCK) == []
    assert findings(is_naive_time) == []


SELECTS = {
    "regex_child.py": "its standard input, the first descriptor there is",
    "minion/daemon.py": "a process that forks, and has three",
}


def test_waits_do_not_depend_on_how_many_descriptors_there_are() -> None:
    """``select`` raises beyond 1023: ``core.readable`` waits for any."""
    assert findings(is_select, SELECTS) == []


USERS_FILES = ("cli/", "modules/", "providers/file/")
"""Where files of the machine's users are written, not saltlite's own."""


def test_files_are_written_through_disk() -> None:
    found = findings(writes_file, WRITERS)
    assert [place for place in found if not place.startswith(USERS_FILES)] == []


def uses(table: dict[str, str], finder: Finder) -> set[str]:
    return {name for name, _line in places(finder)} & set(table)


@pytest.mark.parametrize(
    ("table", "finder"),
    [
        (BROAD_HANDLERS, is_broad_handler),
        (DYNAMIC_ATTRIBUTES, is_dynamic_attribute),
        (WALL_CLOCK, is_wall_clock),
        (WRITERS, writes_file),
        (SELECTS, is_select),
    ],
    ids=["broad handlers", "dynamic attributes", "wall clock", "writers", "selects"],
)
def test_no_exception_outlives_its_reason(table: dict[str, str], finder: Finder) -> None:
    there = {name for name in table if (PACKAGE / name).exists()}
    assert there - uses(table, finder) - {"disk.py"} == set()


@pytest.mark.parametrize(
    ("code", "finder"),
    [
        ("eval('1')", is_forbidden_call),
        ("from os import system", is_forbidden_call),
        ("import pickle", is_forbidden_import),
        ("from pickle import loads", is_forbidden_import),
        ("run('ls', shell=True)", is_shell),
        ("run('ls', shell=x)", is_shell),
        ("subprocess.Popen('ls', shell=x)", is_shell),
        ("anything('ls', shell=True)", is_shell),
        ("getattr(self, load['cmd'])", is_dynamic_attribute),
        ("try: pass\nexcept Exception: pass", is_broad_handler),
        ("try: pass\nexcept (OSError, BaseException): pass", is_broad_handler),
        ("try: pass\nexcept: pass", is_broad_handler),
        ("time.time()", is_wall_clock),
        ("open(p, 'w')", writes_file),
        ("p.write_text('')", writes_file),
    ],
)
def test_the_finders_find(code: str, finder: Finder) -> None:
    assert any(finder(node) for node in ast.walk(ast.parse(code)) if isinstance(node, KINDS))


@pytest.mark.parametrize(
    ("code", "finder"),
    [
        ("re.compile('x')", is_forbidden_call),
        ("run(['ls'], shell=False)", is_shell),
        ("host.run('ls', shell='/bin/sh')", is_shell),
        ("getattr(error, 'strerror', None)", is_dynamic_attribute),
        ("try: pass\nexcept BaseException:\n  f()\n  raise", is_broad_handler),
        ("time.monotonic()", is_wall_clock),
        ("open(p)", writes_file),
    ],
)
def test_the_finders_leave_the_rest(code: str, finder: Finder) -> None:
    assert not any(finder(node) for node in ast.walk(ast.parse(code)))


def test_every_dataclass_says_what_it_is() -> None:
    """Also the private ones: for one that does not, Python loads half a megabyte to say it."""
    silent = [
        f"{name}:{node.lineno} {node.name}"
        for name, found in nodes().items()
        for node in found
        if isinstance(node, ast.ClassDef)
        and any("dataclass" in ast.unparse(one) for one in node.decorator_list)
        and not ast.get_docstring(node)
    ]
    assert silent == []
