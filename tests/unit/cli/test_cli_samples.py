"""The samples of docs/command-line.md against ``salt``, byte for byte
(tests/cases/data/cli_samples.yaml).
"""

from functools import partial

import pytest
import yaml
from repository import DATA
from standin import says

from saltlite.cli import salt

SAMPLES = yaml.safe_load((DATA / "cli_samples.yaml").read_text())
JID = "20260102030405000001"


def minion(value):
    """What a minion of the samples does."""
    if value is None:
        return None
    if isinstance(value, dict) and "return" in value:
        return says(value["return"], **{key: one for key, one in value.items() if key != "return"})
    return says(value)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample["about"])
def test_sample(sample, call_with_master, master):
    master.minions = {name: minion(value) for name, value in sample["minions"].items()}
    run = partial(call_with_master, salt.main)
    code, out, err = run(*sample["words"])
    assert out == sample["out"].replace("JID", JID)
    assert (code, err) == (sample.get("code", 0), sample.get("err", ""))
