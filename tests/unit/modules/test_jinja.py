"""``jinja``: what recorded commands do not show.

Their answers are compared with real Salt's in tests/cases/data/differential/render.yaml.
"""

from __future__ import annotations

import pytest

from saltlite.errors import RenderError, UsageError


def test_maps_of_formulas(call, tree):
    assert call("jinja.load_map", "f/map.jinja", "m") == {"p": 80}
    assert call("jinja.import_yaml", "f/defaults.yaml") == {"port": 80}
    assert call("jinja.import_json", "f/x.json") == {"a": 1}
    assert call("defaults.get", "f:port") == 80
    with pytest.raises(RenderError):
        call("jinja.import_yaml", "f/nosuch.yaml")


def test_a_path_is_no_template(call, tree):
    with pytest.raises(RenderError):
        call("jinja.import_yaml", 'f/x" as y %}{{ salt["test.ping"]() }}{% set z = "')


@pytest.mark.parametrize("name", ["m %}{{ 1 }}", "m as x", "", "m.n"])
def test_a_name_is_no_template(name, call, tree):
    with pytest.raises(UsageError, match="not the name of a variable"):
        call("jinja.load_map", "f/map.jinja", name)
