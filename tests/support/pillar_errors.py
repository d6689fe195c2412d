"""Errors of a pillar as Salt tells them: without the file and line that ours have behind."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any


def without_places(pillar: Mapping[str, Any]) -> dict[str, Any]:
    """The same pillar, its errors without ``(roles/web.sls:3)`` at the end."""
    if "_errors" not in pillar:
        return dict(pillar)
    told = [re.sub(r" \([^ ()]+\.sls(:\d+)?\)$", "", error) for error in pillar["_errors"]]
    return {**pillar, "_errors": list(dict.fromkeys(told))}
