"""``environ``: what recorded commands do not show.

Their answers are compared with real Salt's in tests/cases/data/differential/render.yaml.
"""

from __future__ import annotations

import os


def test_clear_all_empties_the_others(call, monkeypatch):
    monkeypatch.setattr(os, "environ", {"KEEP": "1", "GONE": "2"})
    done = call("environ.setenv", {"KEEP": "3"}, clear_all=True, false_unsets=True)
    assert done == {"GONE": None, "KEEP": "3"}
    assert os.environ == {"KEEP": "3"}
