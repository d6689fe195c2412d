"""What npm and gem print."""

from __future__ import annotations

from saltlite.providers import gem, npm


def test_what_gem_and_npm_print() -> None:
    listed = "\n*** LOCAL GEMS ***\n\na (2.0, 1.0)\nb (default: 3.0)\n"
    assert gem.parse_listed(listed) == {"a": ["2.0", "1.0"], "b": ["default: 3.0"]}
    assert gem.parse_outdated("a (1.0 < 2.0)\n") == {"a": "2.0"}
    assert npm.package("@s/c@1.0.0") == ("@s/c", "1.0.0")
    assert npm.package("@s/c") == ("@s/c", None)
    assert npm.parse_done('a remark\n{"added": 1}') == {"added": 1}
    assert npm.parse_done("plain") == "plain"
