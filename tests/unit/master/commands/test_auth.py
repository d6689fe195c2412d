"""Sign-ins while nothing can be decided. Whole sign-ins are in tests/integration and attack."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from worker import worker_world

from saltlite.channel.handshake import MinionHandshake
from saltlite.crypto.keys import PrivateKey
from saltlite.errors import KeyPending, KeyRejected, SaltliteError, ServerAway, StoreError


@pytest.mark.parametrize(
    "error, told", [(ServerAway("away"), KeyPending), (StoreError("full"), KeyRejected)]
)
def test_a_new_minion_waits_while_the_cluster_decides_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: StoreError, told: type[SaltliteError]
) -> None:
    """Salt's own minion ends when it is refused; one that waits asks again."""
    key = PrivateKey.generate(2048)

    def fail(_minion_id: str) -> Any:
        raise error

    with worker_world(tmp_path, key, "auto_accept: True\n") as world:
        monkeypatch.setattr(world.ctx.keys, "hold", fail)
        shake = MinionHandshake(key, "web1")
        with pytest.raises(told):
            shake.accept(world.dispatcher.answer(shake.request()))
        monkeypatch.undo()
        assert world.minion("web1", key)
