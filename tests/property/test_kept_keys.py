"""What a worker keeps of keys and sessions never shows: it sees what one that just began sees."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from saltlite import disk
from saltlite.crypto.cipher import new_key_string
from saltlite.crypto.keys import PrivateKey
from saltlite.master.keystore import AcceptedKey, KeyState, KeyStore
from saltlite.master.sessions import SessionCipher, Sessions

PEMS = [PrivateKey.generate(2048).public.pem for _ in range(2)]
TEXTS = [*PEMS, PEMS[0] + "\n", "no key", ""]
LIFETIME_S = 3600.0

CHANGES = st.one_of(
    st.tuples(st.just("write"), st.sampled_from(KeyState), st.sampled_from(TEXTS)),
    st.tuples(st.just("in place"), st.sampled_from(KeyState), st.sampled_from(TEXTS)),
    st.tuples(st.just("put"), st.sampled_from(KeyState), st.sampled_from(PEMS)),
    st.tuples(st.just("move"), st.sampled_from(KeyState), st.sampled_from(KeyState)),
    st.tuples(st.just("delete"), st.sampled_from(KeyState), st.none()),
    st.tuples(st.just("session"), st.sampled_from(["make", "write", "age", "delete"]), st.none()),
)


class Place:
    """Key files and a session of one minion, and those who change them behind a worker's back."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.keys = self.new_keys()
        self.keys.prepare()
        self.sessions = self.new_sessions()
        self._last = 0

    def new_keys(self) -> KeyStore:
        return KeyStore(self.root / "pki")

    def new_sessions(self) -> Sessions:
        return Sessions(self.root / "sessions", lifetime_s=LIFETIME_S)

    def change(self, what: str, one: object, other: object) -> None:
        if what == "session":
            self._change_session(str(one))
            return
        assert isinstance(one, KeyState)
        path = self.keys.path("web1", one)
        if what == "write":
            disk.write_file(path, str(other).encode(), flush=False)
        elif what == "in place":
            path.write_text(str(other))
            self._pass_time(path)
        elif what == "put":
            self.new_keys().put("web1", one, str(other))
        elif what == "move" and path.exists():
            assert isinstance(other, KeyState)
            os.rename(path, self.keys.path("web1", other))
        elif what == "delete":
            self.new_keys().delete("web1", one)

    def _change_session(self, how: str) -> None:
        path = self.root / "sessions" / "web1"
        if how == "make":
            self.new_sessions().get_or_make("web1")
        elif how == "delete":
            self.new_sessions().delete("web1")
        elif path.exists() and how == "write":
            disk.write_file(path, new_key_string().encode(), flush=False)
        elif path.exists():
            os.utime(path, (1, 1))

    def _pass_time(self, path: Path) -> None:
        """The clock of file times has gone on since the last writing in place."""
        self._last = max(self._last, path.stat().st_mtime_ns) + 1_000_000
        os.utime(path, ns=(self._last, self._last))


def key_of(find: Callable[..., SessionCipher | None], **bounds: AcceptedKey | None) -> str | None:
    session = find("web1", **bounds)
    return None if session is None else session.key


@given(st.lists(CHANGES, max_size=12), st.data())
@settings(max_examples=150, deadline=None)
def test_whatever_others_change_is_seen_by_the_next_look(
    changes: list[tuple[str, object, object]], data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as name:
        place = Place(Path(name))
        for change in changes:
            place.change(*change)
            if data.draw(st.booleans(), label="this worker lets in"):
                made = place.sessions.get_or_make("web1")
                assert key_of(place.new_sessions().get) == made.key
            fresh, kept = place.new_keys(), place.keys
            assert kept.look_up("web1") == fresh.look_up("web1")
            accepted, anew = kept.load_accepted("web1"), fresh.load_accepted("web1")
            assert (accepted and (accepted.pem, accepted.key.pem, accepted.stamp)) == (
                anew and (anew.pem, anew.key.pem, anew.stamp)
            )
            assert key_of(place.sessions.get) == key_of(place.new_sessions().get)
            assert key_of(place.sessions.get, accepted=anew) == key_of(
                place.new_sessions().get, accepted=anew
            )
