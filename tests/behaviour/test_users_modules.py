"""A user's execution module takes the place of ours in the states, as in Salt."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from saltlite import states
from saltlite.config.load import load_minion
from saltlite.context import MinionContext
from saltlite.highstate.chunk import Chunk
from saltlite.highstate.run import run_chunk
from saltlite.host import Host
from saltlite.loader import shim
from saltlite.loader.builtin import functions_of
from saltlite.loader.registry import Registry
from saltlite.modules import user

STATES = Path(states.__file__).parent
MODULES = "saltlite.modules"

Apply = Callable[..., tuple[dict[str, Any], list[str]]]

NOTES = """
import os

LOG = {log!r}


def note(*words):
    with open(LOG, "a") as log:
        log.write(" ".join(map(str, words)) + chr(10))


def noted(word):
    return os.path.exists(LOG) and word in open(LOG).read().split()
"""

USER = """
def info(name):
    if not noted("useradd"):
        return {}
    known = {"name": name, "uid": 4711, "gid": 4711, "groups": [], "home": "/", "passwd": "x"}
    gecos = "fullname", "roomnumber", "workphone", "homephone", "other"
    return {**known, **dict.fromkeys(gecos, ""), "shell": "/bin/true"}


def add(name, **kwargs):
    note("useradd", name, kwargs["shell"])
    return True
"""

SHADOW = """
def info(name):
    ages = ("min", "max", "inact", "warn", "expire", "lstchg")
    return {"name": name, "passwd": "!", **dict.fromkeys(ages, -1)}
"""

CRON = """
def raw_cron(user):
    lines = "# Lines below here are managed by Salt, do not edit", "# SALT_CRON_IDENTIFIER:true"
    return chr(10).join([*lines, "1 2 3 4 5 true"]) if noted("set_job") else ""


def set_job(user, minute, hour, daymonth, month, dayweek, cmd, *more):
    note("set_job", user, minute, hour, daymonth, month, dayweek, cmd)
    return "new"
"""

MOUNT = """
def active(extended=False):
    return {}


def read_mount_cache(name):
    return {}


def write_mount_cache(real_name, device, mkmnt, fstype, mount_opts):
    return True


def mount(name, device=False, mkmnt=False, fstype="", opts="defaults", user=None, util="mount"):
    note("mount", device, name, fstype)
    return True


def set_fstab(name, device, fstype, opts, dump, pass_num, config, **kwargs):
    note("set_fstab", name, device, fstype, opts, dump, pass_num, config)
    return "new"
"""

FILE = """
def replace(path, pattern, repl, **kwargs):
    note("replace", *sorted(kwargs), kwargs["dry_run"])
    return "-" + pattern + "+" + repl


def line(path, content, match, mode, location, before, after, show_changes, backup, quiet, indent):
    note("line", content, mode, location, indent)
    return "+" + content


def blockreplace(
    path, marker_start, marker_end, content, append_if_not_found, prepend_if_not_found, backup,
    dry_run, show_changes, append_newline, insert_before_match, insert_after_match,
):
    note("blockreplace", marker_start, marker_end, content, dry_run, append_newline)
    return "+" + content


def mknod(name, ntype, major, minor, user, group, mode):
    note("mknod", ntype, major, minor, user, group, mode)
    open(name, "w").close()
"""

SERVICE = """
def available(name):
    return True


def status(name, sig=None):
    return noted("start")


def start(name):
    note("start", name)
    return True
"""


@pytest.fixture
def apply(tmp_path: Path) -> Iterator[Apply]:
    """Run one state beside user modules; its return, and what the modules noted."""
    paths, log = list(sys.path), tmp_path / "log"
    folder = tmp_path / "var/cache/salt/minion/extmods/modules"
    folder.mkdir(parents=True)

    def run(fun: str, modules: dict[str, str], **given: Any) -> tuple[dict[str, Any], list[str]]:
        for name, text in modules.items():
            (folder / f"{name}.py").write_text(NOTES.format(log=str(log)) + text)
        (tmp_path / "minion").write_text(f"id: m1\nroot_dir: {tmp_path}\n")
        ctx = MinionContext(config=load_minion(tmp_path), host=Host(), grains={}, pillar={})
        ctx.functions = Registry(ctx)
        state, _, name = fun.partition(".")
        chunk = {"state": state, "fun": name, "__id__": "x", "__sls__": "s", "__env__": "base"}
        answer = run_chunk(ctx, Chunk.from_low({**chunk, **given})).to_return()
        return answer, log.read_text().splitlines() if log.exists() else []

    yield run
    shim.uninstall()
    sys.path[:] = paths


def test_user(apply: Apply) -> None:
    answer, noted = apply(
        "user.present", {"user": USER, "shadow": SHADOW}, name="nosuch-one", shell="/bin/true"
    )
    assert noted == ["useradd nosuch-one /bin/true"]
    assert "nosuch-one" in answer["comment"]


def test_cron(apply: Apply) -> None:
    answer, noted = apply(
        "cron.present", {"cron": CRON}, name="true", user="root",
        minute=1, hour=2, daymonth=3, month=4, dayweek=5,
    )  # fmt: skip
    assert noted == ["set_job root 1 2 3 4 5 true"]
    assert (answer["result"], answer["changes"]) == (True, {"root": "true"}), answer


def test_mount(apply: Apply, tmp_path: Path) -> None:
    place, table = tmp_path / "mnt", tmp_path / "fstab"
    place.mkdir()
    _, noted = apply(
        "mount.mounted", {"mount": MOUNT}, name=str(place), device="/dev/nosuch", fstype="ext4",
        config=str(table),
    )  # fmt: skip
    assert noted == [
        f"mount /dev/nosuch {place} ext4",
        f"set_fstab {place} /dev/nosuch ext4 defaults 0 0 {table}",
    ]
    assert not table.exists()


REPLACED = (
    "append_if_not_found backslash_literal backup bufsize count dry_run encoding flags"
    " ignore_if_missing not_found_content prepend_if_not_found show_changes"
)


@pytest.mark.parametrize(
    ("function", "given", "notes", "diff"),
    [
        (
            "replace", {"pattern": "a", "repl": "b"},
            [f"replace {REPLACED} True", f"replace {REPLACED} False"], "-a+b",
        ),
        (
            "line", {"content": "b", "mode": "insert", "location": "end"},
            ["line b insert end True"], "+b",
        ),
        (
            "blockreplace", {"marker_start": "<", "marker_end": ">", "content": "b"},
            ["blockreplace < > b True None", "blockreplace < > b False None"], "+b",
        ),
    ],
)  # fmt: skip
def test_file(
    apply: Apply, tmp_path: Path, function: str, given: Any, notes: list[str], diff: str
) -> None:
    path = tmp_path / "edited"
    path.write_text("a\n")
    answer, noted = apply(f"file.{function}", {"file": FILE}, name=str(path), **given)
    assert noted == notes
    assert (answer["result"], answer["changes"]) == (True, {"diff": diff}), answer
    assert path.read_text() == "a\n"


def test_file_nodes(apply: Apply, tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    _, noted = apply("file.mknod", {"file": FILE}, name=str(path), ntype="p", mode="0600")
    assert noted == ["mknod p 0 0 None None 0600"]
    assert path.is_file()


def test_service(apply: Apply) -> None:
    answer, noted = apply("service.running", {"service": SERVICE}, name="nosuch")
    assert noted == ["start nosuch"]
    assert answer["result"] is True


def test_a_file_with_the_name_of_salts_own_leaves_nothing_of_ours(apply: Apply) -> None:
    module = f"def __virtual__():\n    return 'user'\n{USER}"
    answer, noted = apply("user.absent", {"useradd": module}, name="root")
    assert answer["result"] is True, answer
    answer, noted = apply(
        "user.absent", {"useradd": module.replace("not noted", "noted")}, name="root"
    )
    assert (answer["result"], answer["comment"]) == (False, "'user.delete' is not available.")
    assert noted == []


def test_other_functions_are_ours(apply: Apply, tmp_path: Path) -> None:
    apply("test.nop", {"user": USER}, name="x")
    ctx = MinionContext(config=load_minion(tmp_path), host=Host(), grains={}, pillar={})
    ctx.functions = Registry(ctx)
    assert ctx.functions.find_replacement(user.info) is not None
    assert ctx.functions.find_replacement(user.list_groups) is None
    assert ctx.follow(user.list_groups, "root") == user.list_groups(ctx, "root")


def calls_past_users() -> Iterator[str]:
    """Calls of public functions of execution modules in the states, with the context first."""
    for path in sorted(STATES.rglob("*.py")):
        tree = ast.parse(path.read_text())
        modules = {
            each.asname or each.name: f"{node.module}.{each.name}"
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(MODULES)
            for each in node.names
        }
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            called, first = node.func, node.args[0]
            if not isinstance(called, ast.Attribute) or ast.unparse(first) != "ctx":
                continue
            module = modules.get(ast.unparse(called.value))
            if module is not None and is_public(module, called.attr):
                yield f"{path.relative_to(STATES)}:{node.lineno} {ast.unparse(called)}"


def is_public(module: str, function: str) -> bool:
    home = importlib.import_module(".".join(module.split(".")[:3]))
    found = functions_of(home).get(function.removesuffix("_"))
    return found is not None and found.__module__ == module


def test_no_state_calls_past_a_users_module() -> None:
    assert [*calls_past_users()] == []
