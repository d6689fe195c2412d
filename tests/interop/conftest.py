"""Interop tests run only where real Salt is installed (``scripts/interop-setup``)."""

from __future__ import annotations

import pytest

from cluster import INTEROP_HOME, SALT_3006, SALT_3007, SALT_3008, is_installed

REASON = f"real Salt is not in {INTEROP_HOME}: run scripts/interop-setup"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = __file__.rpartition("/")[0]
    missing = not (is_installed(SALT_3006) and is_installed(SALT_3008))
    without_3007 = pytest.mark.skip(
        reason=f"Salt {SALT_3007} is not installed: run scripts/interop-setup {SALT_3007}"
    )
    for item in items:
        if str(item.path).startswith(here):
            if not is_installed(SALT_3007) and _runs_3007(item):
                item.add_marker(without_3007)
            item.add_marker(pytest.mark.interop)
            if missing:
                item.add_marker(pytest.mark.skip(reason=REASON))


def _runs_3007(item: pytest.Item) -> bool:
    """Whether one of its parameters is this release, by itself or in a pair."""
    parameters = getattr(item, "callspec", None)
    values = parameters.params.values() if parameters else ()
    return any(one == SALT_3007 or (type(one) is tuple and SALT_3007 in one) for one in values)
