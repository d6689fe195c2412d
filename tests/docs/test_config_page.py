"""docs/config.md is what the declared options say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from saltlite.config import master, minion
from saltlite.config.schema import option_name, options

ROOT = Path(__file__).parents[2]


def generated() -> str:
    command = [sys.executable, str(ROOT / "scripts/gen_config_docs"), "--print"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_the_page_is_up_to_date():
    page = (ROOT / "docs/config.md").read_text(encoding="utf-8")
    assert page == generated(), "run scripts/gen_config_docs"


def test_every_option_is_on_it():
    page = (ROOT / "docs/config.md").read_text(encoding="utf-8")
    for module in (master, minion):
        for section in module.SECTIONS.values():
            for field in options(section):
                assert f"| `{option_name(field)}` |" in page
