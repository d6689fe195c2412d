"""``slsutil.banner``. Recorded of Salt 3006.30."""

from __future__ import annotations

from saltlite.modules.slsutil import banner


def test_a_long_title_has_several_lines():
    text = banner(width=20, blockstart="/*", text="x y")
    assert text.splitlines() == [
        "/*",
        "####################",
        "#                  #",
        "#   THIS FILE IS   #",
        "# MANAGED BY SALT  #",
        "#  - DO NOT EDIT   #",
        "#                  #",
        "# x y              #",
        "####################",
    ]


def test_without_a_title_two_lines_stay_empty():
    assert banner(width=10, title="", text="x").splitlines() == [
        "##########",
        "#        #",
        "#        #",
        "# x      #",
        "##########",
    ]
