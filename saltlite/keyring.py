"""What can be done with minion keys, in Salt's words and shapes; for ``salt-key`` and ``wheel``.

The key directory belongs to the master's package; whoever calls hands in what fulfils
:class:`KeyFiles`. Source: docs/cli.md#salt-key, docs/wire.md#clear-commands,
docs/architecture.md#who-owns-which-file-on-disk.
"""

from __future__ import annotations

import fnmatch
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Protocol

from saltlite.errors import CryptoError

log = logging.getLogger(__name__)

ACCEPTED: Final = "minions"
UNACCEPTED: Final = "minions_pre"
REJECTED: Final = "minions_rejected"
DENIED: Final = "minions_denied"
STATES: Final = (ACCEPTED, UNACCEPTED, REJECTED, DENIED)
"""Salt's names of the states, which are also those of their folders."""

Keys = dict[str, list[str]]


class KeyFiles(Protocol):
    """The key directory. States are named as in :data:`STATES`."""

    def list(self, state: str) -> list[str]:
        """The ids in a state, sorted."""

    def key(self, minion_id: str, state: str) -> str | None:
        """The key's PEM text."""

    def accept(self, minion_id: str, state: str) -> bool:
        """Accept a key that is in ``state``; ``False`` if it is gone, CryptoError if it is none."""

    def reject(self, minion_id: str, state: str) -> bool:
        """Reject a key that is in ``state``; ``False`` if it is gone."""

    def delete(self, minion_id: str, state: str) -> bool:
        """Forget a key that is in ``state``; ``False`` if it is gone."""


def states_of(word: str) -> tuple[str, ...]:
    """The states that a word of ``--list`` means; none for a word it does not know."""
    beginnings = {
        "acc": (ACCEPTED,),
        "pre": (UNACCEPTED,),
        "un": (UNACCEPTED,),
        "rej": (REJECTED,),
        "den": (DENIED,),
        "all": STATES,
    }
    for beginning, states in beginnings.items():
        if word.startswith(beginning):
            return states
    return ()


class KeyClient:
    """Lists keys, shows them, and changes their states."""

    def __init__(
        self, files: KeyFiles, *, refuse: Callable[[str], object] = lambda _minion_id: None
    ) -> None:
        """``refuse`` is called with each id whose key is not accepted because it is none."""
        self._files = files
        self._refuse = refuse

    def list_all(self, states: Iterable[str] = STATES) -> Keys:
        """Ids by state."""
        return {state: self._files.list(state) for state in states}

    def name_match(self, match: str | Sequence[str], states: Iterable[str] = STATES) -> Keys:
        """The ids that fit a glob, several globs with commas between, or a list.

        States without any are left out.
        """
        patterns = match.split(",") if isinstance(match, str) else list(match)
        found = {
            state: [name for name in names if any(_matches_pattern(name, one) for one in patterns)]
            for state, names in self.list_all(states).items()
        }
        return {state: names for state, names in found.items() if names}

    def to_accept(
        self,
        match: str | Sequence[str],
        *,
        include_rejected: bool = False,
        include_denied: bool = False,
    ) -> Keys:
        """What :meth:`accept` would accept."""
        states = [
            UNACCEPTED,
            *_state_if(include_rejected, REJECTED),
            *_state_if(include_denied, DENIED),
        ]
        return self.name_match(match, states)

    def to_reject(
        self,
        match: str | Sequence[str],
        *,
        include_accepted: bool = False,
        include_denied: bool = False,
    ) -> Keys:
        """What :meth:`reject` would reject."""
        states = [
            UNACCEPTED,
            *_state_if(include_accepted, ACCEPTED),
            *_state_if(include_denied, DENIED),
        ]
        return self.name_match(match, states)

    def accept(self, keys: Mapping[str, Iterable[str]]) -> list[str]:
        """Accept keys, given by state; those that were accepted, in order.

        What is no key is logged, and stays where it is.
        """
        return _change_each(keys, self._accept_key)

    def reject(self, keys: Mapping[str, Iterable[str]]) -> list[str]:
        """Reject keys, given by state; those that were rejected, in order."""
        return _change_each(keys, self._files.reject)

    def delete(self, keys: Mapping[str, Iterable[str]]) -> list[str]:
        """Forget keys, given by state; those that are gone, in order."""
        return _change_each(keys, self._files.delete)

    def _accept_key(self, minion_id: str, state: str) -> bool:
        try:
            return self._files.accept(minion_id, state)
        except CryptoError as error:
            log.error("Invalid RSA public key: %s (%s)", minion_id, error)
            self._refuse(minion_id)
            return False

    def key_str(self, match: str | Sequence[str]) -> dict[str, dict[str, str]]:
        """The public keys of the ids that fit, by state."""
        return {
            state: {name: self._files.key(name, state) or "" for name in names}
            for state, names in self.name_match(match).items()
        }

    def finger(
        self, match: str | Sequence[str], fingerprint: Callable[[str], str]
    ) -> dict[str, dict[str, str]]:
        """The fingerprints of the ids that fit, by state."""
        return {
            state: {name: fingerprint(text) for name, text in keys.items()}
            for state, keys in self.key_str(match).items()
        }


def _matches_pattern(name: str, pattern: str) -> bool:
    return name == pattern or fnmatch.fnmatchcase(name, pattern)


def _state_if(wanted: bool, state: str) -> list[str]:
    return [state] if wanted else []


def _change_each(
    keys: Mapping[str, Iterable[str]], change: Callable[[str, str], bool]
) -> list[str]:
    ordered = [(state, name) for state in STATES for name in keys.get(state, ())]
    return [name for state, name in ordered if change(name, state)]
