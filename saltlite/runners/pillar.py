"""``pillar.*``: what pillar a minion would get."""

from __future__ import annotations

from typing import Any, NoReturn

from saltlite.errors import FunctionError

NOT_YET = "pillar files are not compiled by this version of saltlite; every pillar is empty"


def show_pillar(minion: str = "*", **kwargs: Any) -> NoReturn:
    """Refuse: pillar files are not compiled yet.

    CLI Example:

        salt-run pillar.show_pillar web1
    """
    del minion, kwargs
    raise FunctionError(NOT_YET)


def show_top(minion: str | None = None, saltenv: str = "base") -> NoReturn:
    """Refuse: pillar files are not compiled yet.

    CLI Example:

        salt-run pillar.show_top
    """
    del minion, saltenv
    raise FunctionError(NOT_YET)
