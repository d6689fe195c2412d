"""Values that an argument cannot have end with one line, not with an exception of Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from saltlite.config.minion import MinionConfig
from saltlite.context import MinionContext
from saltlite.errors import SaltliteError
from saltlite.fileserver import sync
from saltlite.host import Host
from saltlite.loader.registry import Registry

KEY = "AAAAC3NzaC1lZDI1NTE5AAAAIBlx3kh1/T93qDsxcuvV94vTQTgz9NskTXW5Zb/zh8qX"


@pytest.fixture
def ctx() -> MinionContext:
    found = MinionContext(config=MinionConfig(), host=Host(), grains={"id": "x"}, pillar={})
    found.functions = Registry(found)
    return found


@pytest.mark.parametrize(
    ("name", "args", "kwargs", "said"),
    [
        ("cmd.run", ["true"], {"output_encoding": True}, "unknown encoding: True"),
        ("file.rmdir", ["@"], {"older_than": "x"}, "older_than: 'x' is no number of days"),
        ("pillar.filter_by", [{"a": {}}, "x"], {"merge": True}, "merge argument must be a dict"),
    ],
)
def test_one_line(
    ctx: MinionContext, tmp_path: Path, name: str, args: list[Any], kwargs: Any, said: str
) -> None:
    given = [each.replace("@", str(tmp_path)) if isinstance(each, str) else each for each in args]
    with pytest.raises(SaltliteError, match=said):
        ctx.functions.call(name, *given, **kwargs)
    assert tmp_path.is_dir()


@pytest.mark.parametrize("hash_type", ["x", True, "shake_128"])
def test_a_hash_of_fingerprints(ctx: MinionContext, tmp_path: Path, hash_type: Any) -> None:
    known = tmp_path / "kh"
    known.write_text(f"h.example ssh-ed25519 {KEY}\n")
    with pytest.raises(SaltliteError, match=r"fingerprint_hash_type: .* is no hash"):
        ctx.functions.call(
            "ssh.get_known_host_entries", "root", "h.example", str(known),
            fingerprint_hash_type=hash_type,
        )  # fmt: skip


@pytest.mark.parametrize("value", [True, 5])
def test_lists_of_custom_code(value: Any) -> None:
    with pytest.raises(SaltliteError, match="is no list, text or map"):
        sync.parse_names(value, "modules")
    with pytest.raises(SaltliteError, match="is no list, text or map"):
        sync.parse_names({"modules": value}, "modules")
