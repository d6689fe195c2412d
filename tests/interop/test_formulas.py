"""Low data of public formulas, ours and real Salt's, with several pillars each.

The formulas are directories ``NAME-formula`` in ``SALTLITE_FORMULAS``, else in the interop
directory (``scripts/interop-setup`` fetches them if it can); they are not part of this repository.
Both Salts render them in an overlay of the root, without a master. What a formula's name means is
compared, and with ``SALTLITE_FORMULAS_ALL`` each of its SLS files, which takes an hour.
Where both find an error, it has to be in the same SLS; the sentences are each Salt's own.
"""

from __future__ import annotations

import json
import os
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from isolated import unshare
from overlay import run_in_overlay
from repository import SUPPORT

from cluster import INTEROP_HOME, SALT_3006, bin_dir

FORMULAS = Path(os.environ.get("SALTLITE_FORMULAS", INTEROP_HOME / "formulas"))
NAMES = Path(__file__).with_name("formulas.txt").read_text().split()
EVERY_SLS = bool(os.environ.get("SALTLITE_FORMULAS_ALL"))
NO_STATES = {"bin", "dev", "docs", "metadata", "scripts", "test"}

TIME = re.compile(r"\d\d-\d\d-\d\d_\d\d:\d\d:\d\d")
RANDOM = re.compile(r'("(?:alt)?priority": |update-alternatives --install (?:\S+ ){3})\d+')
BLAMED = re.compile(r"SLS '?([\w.:-]+)'?")

Answers: TypeAlias = dict[str, dict[str, Any]]
"""Pillar → SLS → low data, or the errors."""


def names_of(formula: Path) -> list[str]:
    """The names of all SLS files of a formula."""
    found = []
    for path in formula.rglob("*.sls"):
        parts = path.relative_to(formula).with_suffix("").parts
        if len(parts) > 1 and parts[0] not in NO_STATES and not parts[0].startswith(("_", ".")):
            found.append(".".join(parts[:-1] if parts[-1] == "init" else parts))
    return sorted(one for one in found if EVERY_SLS or "." not in one)


def pillars_of(formula: Path) -> dict[str, str]:
    """None, the example, and those of the formula's own tests."""
    files = [formula / "pillar.example", *sorted(formula.glob("test/salt/pillar/*.sls"))]
    found = {one.stem: one.read_text() for one in files if one.exists() and one.stem != "top"}
    return {"none": "{}\n", **found}


def low_data(python: str, side: str, name: str, work: Path) -> Answers:
    """What one Salt makes of a formula."""
    formula = FORMULAS / f"{name}-formula"
    work.mkdir()
    pillars = pillars_of(formula)
    for pillar, text in pillars.items():
        path = work / "pillars" / formula.name / pillar
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    wanted = work / "pillars" / "wanted.json"
    wanted.write_text(json.dumps([[formula.name, one, names_of(formula)] for one in pillars]))
    script = SUPPORT / "formulas.py"
    argv = [python, str(script), side, str(FORMULAS), str(wanted.parent), str(wanted)]
    seen = (FORMULAS, wanted.parent)
    done = run_in_overlay(argv, python, work / "overlay", *seen, timeout_s=3600)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return {pillar: found for _formula, pillar, found in lines}


def without_words(answer: Any) -> Any:
    """Low data without the time of day and what is random; of errors which SLS they are in."""
    text = json.dumps(answer)
    if isinstance(answer, list) and all(isinstance(one, dict) for one in answer):
        return json.loads(RANDOM.sub(r"\g<1>0", TIME.sub("{time}", text)))
    return "error", sorted(set(BLAMED.findall(text)))


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", NAMES)
def test_low_data_is_that_of_salt(name: str, tmp_path: Path) -> None:
    if not (FORMULAS / f"{name}-formula").is_dir():
        pytest.skip(f"{name}-formula is not in {FORMULAS}: run scripts/interop-setup")
    unshare()  # skips where there are no namespaces
    sides = {"ours": sys.executable, "salt": str(bin_dir(SALT_3006) / "python")}
    with ThreadPoolExecutor(2) as pool:
        made = {
            side: pool.submit(low_data, python, side, name, tmp_path / side)
            for side, python in sides.items()
        }
    ours, salts = made["ours"].result(), made["salt"].result()
    differing = {
        f"{pillar}: {sls}": (ours[pillar][sls], expected)
        for pillar, of_sls in salts.items()
        for sls, expected in of_sls.items()
        if without_words(ours[pillar][sls]) != without_words(expected)
    }
    assert differing == {}
