"""``resource.*``: what is refused, what is left out, and where its types are."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml
from local_minion import make

from saltlite.context import MinionContext
from saltlite.errors import FunctionError
from saltlite.modules import resource
from saltlite.modules._resource import kinds
from saltlite.modules._resource.listed import LeftOut, StateDeclaration

FOLDER = Path(kinds.__file__).parent


def test_each_file_has_the_types_that_are_listed_of_it() -> None:
    files = {path.stem for path in FOLDER.glob("*.py")} - {"__init__", "kinds", "listed"}
    there = {
        name: part
        for part in files
        for name in vars(import_module(f"saltlite.modules._resource.{part}"))["TYPES"]
    }
    assert there == dict(kinds.HOMES)


@pytest.fixture
def ctx(tmp_path: Path) -> MinionContext:
    return make(tmp_path)


@pytest.mark.parametrize(
    ("call", "args", "said"),
    [
        ("show", ("usr", "a"), "type: 'usr' is none; did you mean user\\? there are alias, "),
        ("list", ("qqq",), "type: 'qqq' is none; there are alias, "),
        ("show", ("user",), "name: say which user; resource.list user shows all"),
        ("show", ("file", "/no/such"), "file: not there: /no/such$"),
        ("show", ("grains", "oss"), "grains: not there: oss"),
        ("list", ("file", "etc"), "pattern: of file, say the directory to look in"),
        ("list", ("file",), "pattern: of file, say the directory to look in"),
        ("list", ("file", "/no/such*"), "file: there is none that fits '/no/such\\*'"),
        ("list", ("grains", "x*"), "grains: there is none that fits 'x\\*'"),
        ("list", ("user", "*", 1), "limit: \\d+ of user fit '\\*', 1 may; say a narrower"),
        ("list", ("user", "*", "many"), "limit: 'many' is no whole number from 1 to 100000"),
        ("list", ("user", "*", True), "limit: True is no whole number"),
        ("list", ("user", "*", 0), "limit: 0 is no whole number"),
    ],
)
def test_what_is_refused(ctx: MinionContext, call: str, args: Any, said: str) -> None:
    with pytest.raises(FunctionError, match=said) as caught:
        ctx.functions.call(f"resource.{call}", *args)
    assert len(str(caught.value).splitlines()) == 1


def test_what_a_state_would_change_is_left_out(ctx: MinionContext, tmp_path: Path) -> None:
    right = StateDeclaration(of="a", fun="file.exists", name=str(tmp_path))
    wrong = StateDeclaration(of="b", fun="file.absent", name=str(tmp_path))
    unknown = StateDeclaration(of="c", fun="file.nosuch", name="c")
    text = resource._write_sls(
        ctx, "a\ncommand", "file", [right, wrong, unknown, LeftOut("d", "be\x1bcause\nof it")]
    )
    assert text == (
        "#!yaml\n"
        "# a command on web1\n"
        f"# left out: file b: file.absent would find: Directory {tmp_path} is set for removal\n"
        "# left out: file c: file.nosuch 'file.nosuch' is not available.\n"
        "# left out: file d: be cause of it\n"
        f"file a:\n  file.exists:\n  - name: {tmp_path}"
    )


def test_what_a_terminal_must_not_be_sent_is_escaped(ctx: MinionContext, tmp_path: Path) -> None:
    path = tmp_path / "a\u202eb\x1b"
    path.mkdir()
    text = ctx.functions.call("resource.show", "file", str(path))
    assert "\\u202E" in text
    assert text.replace("\n", "").isprintable()


def test_states_of_users_are_not_tried(ctx: MinionContext, tmp_path: Path) -> None:
    folder = tmp_path / "states" / "_states"
    folder.mkdir(parents=True)
    (folder / "mine.py").write_text("def present(name):\n    open(name, 'w').close()\n")
    ctx.functions.call("saltutil.sync_states")
    made = tmp_path / "made"
    declared = StateDeclaration(of="a", fun="mine.present", name=str(made))
    assert "mine.present" in resource._write_sls(ctx, "x", "mine", [declared])
    assert not made.exists()


def test_contents_that_not_everybody_may_read(ctx: MinionContext, tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("word\n")
    show = ctx.functions.call
    for folder, mode, is_open in (
        (0o755, 0o644, True),
        (0o755, 0o640, False),
        (0o700, 0o644, False),
    ):
        tmp_path.chmod(folder)
        path.chmod(mode)
        text = show("resource.show", "file", str(path))
        # Above, the directories of the tests themselves may be closed to others.
        ways = all(each.stat().st_mode & 1 for each in path.parents)
        assert ("word" in text) is (is_open and ways)
        assert "word" in show("resource.show", "file", str(path), secrets=True)


def test_a_link_is_not_followed_to_what_it_hides(ctx: MinionContext, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("word")
    (tmp_path / "link").symlink_to("secret")
    text = ctx.functions.call("resource.show", "file", str(tmp_path / "link"), secrets=True)
    assert "word" not in text
    assert "target: secret" in text


def test_large_files_and_other_kinds(ctx: MinionContext, tmp_path: Path) -> None:
    for name, data in {"large": b"a" * 65537, "most": b"a" * 65536, "bin": b"\xff\0"}.items():
        (tmp_path / name).write_bytes(data)
    shown = ctx.functions.call("resource.list", "file", str(tmp_path), secrets=True)
    states = {
        name: {key for one in body["file.managed"] for key in one}
        for name, body in yaml.safe_load(shown).items()
    }
    assert {Path(name).name: "contents" in keys for name, keys in states.items()} == {
        "large": False,
        "most": True,
        "bin": False,
    }
