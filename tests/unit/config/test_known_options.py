"""Options of Salt that saltlite knows of without obeying them."""

from __future__ import annotations

from pathlib import Path

from saltlite.cli import salt_minion
from saltlite.config.known import OTHER_OPTIONS, WITHOUT_EFFECT, nearest, without_effect


def test_what_is_set_without_effect_is_named_once() -> None:
    assert without_effect(["retry_dns", "id", "source_address"]) == (
        "Set, but without effect yet: retry_dns, source_address"
    )
    assert without_effect(["id", "no_such_option"]) == ""


def test_the_minion_hands_the_warning_to_its_log(tmp_path: Path) -> None:
    (tmp_path / "minion").write_text(f"id: m1\nroot_dir: {tmp_path}\nretry_dns: 5\n")
    _config, values = salt_minion._read(["-c", str(tmp_path)])
    assert values == {"daemon": False, "unread": "Set, but without effect yet: retry_dns"}


def test_no_option_is_in_both_lists() -> None:
    assert frozenset() == OTHER_OPTIONS & WITHOUT_EFFECT


def test_a_misspelt_option_is_recognised() -> None:
    assert nearest("auto_acept", ["auto_accept"]) == "auto_accept"
    assert nearest("my_own_thing", ["auto_accept"]) is None
