"""What is done once before the fork leaves the key as it is, and nothing to compile."""

from __future__ import annotations

from saltlite.core import dataclasses, lazyregex
from saltlite.core.lazyregex import regex
from saltlite.crypto.keys import PrivateKey
from saltlite.master.rehearsal import rehearse


def test_patterns_and_classes_are_compiled_and_the_key_is_as_before() -> None:
    @dataclasses.dataclass(frozen=True, slots=True)
    class Load:
        cmd: str
        arg: int = 0

    pattern = regex("b+")
    key = PrivateKey.generate(2048)
    pem = key.pem
    rehearse(key)
    assert key.pem == pem
    assert vars(pattern)["_compiled"] is not None
    assert Load.__init__.__code__.co_varnames == ("_self", "cmd", "arg")
    assert (Load("ping"), Load("ping", 1).arg) == (Load(cmd="ping", arg=0), 1)
    assert lazyregex._ALL
