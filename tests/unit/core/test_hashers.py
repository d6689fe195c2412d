"""A hash is the same whoever takes it, and OpenSSL is loaded for none that is small."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from types import SimpleNamespace

import pytest

from saltlite.core import hashers

LOADED = """
import sys
from saltlite.core.hashers import make_hasher
for size in {sizes}:
    print(make_hasher({form!r}, size).hexdigest(), "_hashlib" in sys.modules)
"""


@pytest.mark.parametrize(
    ("form", "sizes", "loaded"),
    [
        ("sha256", [0, 0], [False, False]),
        ("sha256", [hashers.OWN_BYTES, 0, 1, 0], [False, False, True, True]),
        ("sha256", [hashers.OWN_BYTES + 1], [True]),
        ("sha256", [hashers.OWN_BYTES // 100] * 101, [False] * 100 + [True]),
        ("md5", [0], [True]),
        ("sha512", [0], [True]),
    ],
)
def test_who_takes_a_hash(form: str, sizes: list[int], loaded: list[bool]) -> None:
    said = subprocess.run(
        [sys.executable, "-c", LOADED.format(form=form, sizes=sizes)],
        capture_output=True, text=True, check=True, timeout=60,
    ).stdout  # fmt: skip
    empty = hashlib.new(form).hexdigest()
    assert said.splitlines() == [f"{empty} {is_there}" for is_there in loaded]


@pytest.mark.parametrize("data", [b"", b"a", bytes(range(256)) * 300])
def test_both_take_the_same(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = hashlib.sha256(data)
    monkeypatch.setattr(hashers, "_taken", [0])
    for modules in ({"_hashlib": hashlib}, {}):
        monkeypatch.setattr(hashers, "sys", SimpleNamespace(modules=modules))
        found = hashers.make_hasher("sha256", 0)
        found.update(data[:1])
        found.update(data[1:])
        assert (found.digest(), found.hexdigest()) == (wanted.digest(), wanted.hexdigest())
        assert hashers.hash_small(data).hexdigest() == wanted.hexdigest()


def test_a_build_without_an_own_one_takes_hashlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hashers, "_OWN_MODULES", ("no_such_module",))
    monkeypatch.delitem(sys.modules, "_hashlib", raising=False)
    hashers._find_own.cache_clear()
    assert hashers.hash_small(b"a").hexdigest() == hashlib.sha256(b"a").hexdigest()
    hashers._find_own.cache_clear()


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="sha257"):
        hashers.make_hasher("sha257", 1)
