"""Grains of the kernel from recorded text; the values are those of Salt 3006.30."""

from __future__ import annotations

from saltlite.grains import kernel


def test_kernel_parameters():
    assert kernel.parse_cmdline('a=b quiet "c d=e f" x="q r" a=b=c --\n') == [
        ["a", "b"], ["quiet", None], ["c d", "e f"], ["x", "q r"], ["a", "b=c"], ["--", None],
    ]  # fmt: skip
    assert kernel.parse_cmdline("it's=1") == [["it's", "1"]]


def test_secure_boot():
    assert kernel.is_secure(b"\x06\x00\x00\x00\x01")
    assert not kernel.is_secure(b"\x06\x00\x00\x00\x00")
    assert not kernel.is_secure(None)
