"""Grains of memory from recorded text; the values are those of Salt 3006.30."""

from __future__ import annotations

from saltlite.grains import memory


def test_memory():
    text = "MemTotal:       24684096 kB\nMemFree: 1 kB\nSwapTotal:  99999 kB\nBad: x\n"
    assert memory.parse_meminfo(text) == {"mem_total": 24105, "swap_total": 97}
    assert memory.parse_meminfo("") == {"mem_total": 0, "swap_total": 0}
