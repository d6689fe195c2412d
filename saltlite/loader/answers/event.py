"""``salt.utils.event``: fire events on the minion's or the master's bus."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from saltlite.loader.dunders import CURRENT

TAGEND = "\n\n"
TAGPARTER = "/"
SALT = "salt"


def tagify(suffix: Any = "", prefix: str = "", base: str = SALT) -> str:
    """The tag of an event: its parts with ``/`` between them."""
    parts = [base, *str(prefix).split(TAGPARTER)]
    parts += suffix if isinstance(suffix, (list, tuple)) else [suffix]
    return TAGPARTER.join(str(part) for part in parts if part not in ("", None))


class SaltEvent:
    """The bus of the minion or master that runs the file. Events can be fired, not heard."""

    def __init__(self, node: str = "minion", sock_dir: Any = None, opts: Any = None,
                 *args: Any, **kwargs: Any) -> None:  # fmt: skip
        self.node = node
        self.opts = opts

    def __enter__(self) -> SaltEvent:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.destroy()

    def fire_event(self, data: Any, tag: str, timeout: float = 1000) -> bool:
        """Fire an event; ``False`` without a bus."""
        around = CURRENT.get(None)
        events = getattr(around.ctx, "events", None) if around is not None else None
        if events is None:
            return False
        events.fire(tag, dict(data))
        return True

    def fire_master(self, data: Any, tag: str, timeout: float = 1000) -> bool:
        """Fire an event on the master's bus, from a minion."""
        around = CURRENT.get(None)
        if around is None or "event.fire_master" not in around.salt:
            return False
        return bool(around.salt["event.fire_master"](data, tag))

    def destroy(self) -> None:
        """Nothing is held."""


MinionEvent = MasterEvent = LocalClientEvent = NamespacedEvent = SaltEvent


def get_event(node: str, sock_dir: Any = None, opts: Any = None, **kwargs: Any) -> SaltEvent:
    """The bus."""
    return SaltEvent(node, sock_dir, opts)


def get_master_event(opts: Any = None, sock_dir: Any = None, **kwargs: Any) -> SaltEvent:
    """The master's bus."""
    return SaltEvent("master", sock_dir, opts)
