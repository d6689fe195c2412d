"""What templates may change without anybody else hearing of it: ``pillar``, ``grains``, ``opts``.

In Salt the templates of one run share copies of the three. What one of them changes, those after
it see, but ``salt['pillar.get']`` and its kin, targets and states do not. Source: observed on Salt
3006.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.data import copy_data
from saltlite.templates.names import keep, opts_of

_KEPT = "saltlite.templates.copies"


class OwnCopy(MutableMapping[str, Any]):
    """A copy of a mapping; each entry is copied when somebody looks at it first."""

    def __init__(self, origin: Mapping[str, object], **entries: Any) -> None:
        self._origin: Mapping[str, Any] = origin
        self._own: dict[str, Any] = entries
        self._gone: set[str] = set()

    def __getitem__(self, key: str) -> Any:
        if key in self._own:
            return self._own[key]
        if key in self._gone:
            raise KeyError(key)
        value = self._own[key] = copy_data(self._origin[key])
        return value

    def __setitem__(self, key: str, value: object) -> None:
        self._own[key] = value
        self._gone.discard(key)

    def __delitem__(self, key: str) -> None:
        self[key]
        del self._own[key]
        self._gone.add(key)

    def __iter__(self) -> Iterator[str]:
        return iter(self._all_entries())

    def __len__(self) -> int:
        return len(self._all_entries())

    def __bool__(self) -> bool:
        return bool(self._all_entries()) if self._gone else bool(self._own or self._origin)

    def __repr__(self) -> str:
        return repr(self._all_entries())

    def copy(self) -> dict[str, Any]:
        """All entries, in a map of their own."""
        return dict(self._all_entries())

    def _all_entries(self) -> dict[str, Any]:
        """Every entry, in the order of the origin."""
        left = {key: self[key] for key in self._origin if key not in self._gone}
        self._own = {**left, **self._own}
        self._origin = {}
        return self._own


def own_data(ctx: MinionContext) -> dict[str, OwnCopy]:
    """``grains``, ``opts`` and ``pillar`` for the templates of one run."""
    return keep(ctx, _KEPT, _make_copies)


def _make_copies(ctx: MinionContext) -> dict[str, OwnCopy]:
    grains, pillar = OwnCopy(ctx.grains), OwnCopy(ctx.pillar)
    if isinstance(ctx.pillar, dict):  # it is all there: copied before a function can change it
        pillar.copy()
    opts = OwnCopy(opts_of(ctx), grains=grains, pillar=pillar)
    return {"grains": grains, "opts": opts, "pillar": pillar}


def forget_changes(ctx: MinionContext) -> None:
    """A new run begins: its templates get new copies."""
    ctx.state.pop(_KEPT, None)
