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


# Files that are found and rendered.


def test_where_files_are(call, tree):
    assert call("slsutil.file_exists", "f/map.jinja") is True
    assert call("slsutil.dir_exists", "f") is True
    assert call("slsutil.path_exists", "nosuch") is False
    assert call("slsutil.findup", "f", ["nosuch", "x.json"]) == "f/x.json"
    assert call("slsutil.renderer", "salt://f/defaults.yaml") == {"port": 80}


def test_variables_of_the_command_line_are_not_all_template_variables(call):
    text = "{{ x }} {{ __pub_jid is defined }}"
    assert (
        call("slsutil.renderer", string=text, default_renderer="jinja", x=5, __pub_jid="1")
        == "5 False"
    )
