"""Broken configuration files: one line each, naming file, line and option.
docs/reliability.md#start-stop-configuration.
"""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path

import pytest
from repository import DATA

from saltlite.config.load import load_master
from saltlite.errors import ConfigError

ROWS = json.loads((DATA / "broken_config.json").read_text())


def refusal(config_dir: Path) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        load_master(config_dir, {"strict_config": True}, environ={})
    return caught.value


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
@pytest.mark.parametrize("where", ["main", "included"])
def test_broken_file(row, where, tmp_path):
    name = "master" if where == "main" else "master.d/x.conf"
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(bytes.fromhex(row["hex"]) if "hex" in row else row["text"].encode())
    if "size" in row:
        os.truncate(path, row["size"])
    if where == "included" and row["option"] == "include":
        pytest.skip("the include of the main file")
    started = time.process_time()
    error = refusal(tmp_path)
    assert time.process_time() - started < 2
    text = str(error)
    assert "\n" not in text
    assert row["says"] in text
    place = f"{path}:{row['line']}: " if row["line"] else f"{path}: "
    assert text.startswith(place)
    if row["option"]:
        assert text.startswith(f"{place}{row['option']}: ")
    assert row.get("silent", "\0") not in text
    assert sorted(p.name for p in tmp_path.iterdir()) == [name.split("/")[0]]


def test_empty_files_are_fine(tmp_path):
    for text in ("", "\n", "# nothing\n", "---\n", "~\n", "{}\n", "\ufeff", "   \n\n"):
        (tmp_path / "master").write_text(text, encoding="utf-8")
        assert load_master(tmp_path, environ={}).source == {}


def test_a_byte_order_mark_is_fine(tmp_path):
    (tmp_path / "master").write_bytes(b"\xef\xbb\xbfworker_threads: 7\r\nuser: x\r\n")
    config = load_master(tmp_path, environ={})
    assert (config.process.worker_threads, config.process.user) == (7, "x")


def test_include_loop(tmp_path):
    (tmp_path / "master").write_text("include: a.conf\n")
    (tmp_path / "a.conf").write_text("include: b.conf\n")
    (tmp_path / "b.conf").write_text("x: 1\ninclude: a.conf\n")
    text = str(refusal(tmp_path))
    assert re.match(rf"{re.escape(str(tmp_path))}/a.conf:1: include: include loop: ", text)
    (tmp_path / "master").write_text("include: master\n")
    assert "include loop" in str(refusal(tmp_path))


@pytest.mark.parametrize("kind", ["directory", "fifo", "socket"])
def test_what_is_not_a_file_is_not_waited_for(kind, tmp_path):
    path = tmp_path / "master"
    if kind == "directory":
        path.mkdir()
    else:
        os.mkfifo(path) if kind == "fifo" else os.mknod(path, 0o140600)
    assert str(refusal(tmp_path)).startswith(f"{path}: cannot be read: ")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_unreadable_file(tmp_path):
    path = tmp_path / "master"
    path.write_text("a: 1")
    path.chmod(0)
    assert str(refusal(tmp_path)) == f"{path}: cannot be read: Permission denied"
