"""Interop tests run only where real Salt is installed (``scripts/interop-setup``)."""

from __future__ import annotations

import pytest

from cluster import INTEROP_HOME, SALT_3006, SALT_3008, is_installed

REASON = f"real Salt is not in {INTEROP_HOME}: run scripts/interop-setup"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = __file__.rpartition("/")[0]
    missing = not (is_installed(SALT_3006) and is_installed(SALT_3008))
    for item in items:
        if str(item.path).startswith(here):
            item.add_marker(pytest.mark.interop)
            if missing:
                item.add_marker(pytest.mark.skip(reason=REASON))
