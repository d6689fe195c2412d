"""``defaults``: what recorded commands do not show.

Their answers are compared with real Salt's in tests/cases/data/differential/render.yaml.
"""

from __future__ import annotations


def test_maps_are_changed_in_place_where_salt_does(call):
    dest = {"a": {"x": 1}}
    assert call("defaults.merge", dest, {"a": {"y": 2}}) is dest
    assert dest == {"a": {"x": 1, "y": 2}}
    assert call("defaults.merge", dest, {"b": 1}, in_place=False) is not dest
