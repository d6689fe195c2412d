"""The keys of a master as somebody sees them who logs in: through its wheel functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from saltlite.errors import FunctionError
from saltlite.keyring import ACCEPTED, DENIED, REJECTED, Keys

if TYPE_CHECKING:
    from saltlite.client.jobs import JobClient


class RemoteKeys:
    """What :mod:`saltlite.keyring` needs of a key directory, asked of the running master."""

    def __init__(self, client: JobClient) -> None:
        self._client = client
        self._listed: Mapping[str, Any] | None = None

    def list(self, state: str) -> list[str]:
        """The ids in a state, sorted."""
        if self._listed is None:
            self._listed = self._call_wheel("key.list_all")
        return sorted(self._listed.get(state, ()))

    def key(self, minion_id: str, state: str) -> str | None:
        """The key's PEM text."""
        found = self._call_wheel("key.key_str", match=minion_id).get(state, {}).get(minion_id)
        return found if isinstance(found, str) else None

    def accept(self, minion_id: str, state: str) -> bool:
        """Accept a key that is in ``state``."""
        included = {"include_rejected": state == REJECTED, "include_denied": state == DENIED}
        return minion_id in self._change_key("key.accept", minion_id, included).get(ACCEPTED, ())

    def reject(self, minion_id: str, state: str) -> bool:
        """Reject a key that is in ``state``."""
        included = {"include_accepted": state == ACCEPTED, "include_denied": state == DENIED}
        return minion_id in self._change_key("key.reject", minion_id, included).get(REJECTED, ())

    def delete(self, minion_id: str, state: str) -> bool:
        """Forget a key, whatever its state."""
        return not any(
            minion_id in names for names in self._change_key("key.delete", minion_id, {}).values()
        )

    def finger(self, match: str) -> dict[str, Any]:
        """The fingerprints of the ids that fit, by state."""
        return dict(self._call_wheel("key.finger", match=match))

    def _change_key(self, fun: str, minion_id: str, included: Mapping[str, bool]) -> Keys:
        self._listed = None
        wanted = {name: True for name, value in included.items() if value}
        return dict(self._call_wheel(fun, match=minion_id, **wanted))

    def _call_wheel(self, fun: str, **kwargs: Any) -> Mapping[str, Any]:
        answer = self._client.call_master({"cmd": "wheel", "fun": fun, "kwarg": kwargs})
        value = answer["data"]["return"]
        if not answer["data"]["success"] or not isinstance(value, Mapping):
            raise FunctionError(str(value))
        return value
