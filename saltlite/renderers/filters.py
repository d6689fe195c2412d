"""The filters and tests that Salt adds to Jinja."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

FILTERS: Mapping[str, Callable[..., Any]] = {}
TESTS: Mapping[str, Callable[..., Any]] = {}
