"""What proves to a worker that a login was checked."""

from __future__ import annotations

from typing import Any

import pytest

from saltlite.master.loginproof import LoginProof, open_proof, seal_proof

PROOF = LoginProof("anna", "pam", ["ops"], [{"@runner": ["x"]}], until=100.0)


def test_a_proof_is_believed_in_time() -> None:
    sealed = seal_proof(b"secret", PROOF)
    assert open_proof(b"secret", sealed, 100.0) == PROOF
    assert open_proof(b"secret", sealed, 100.1) is None
    assert open_proof(b"another", sealed, 50.0) is None
    for number in range(0, len(sealed), 7):
        letter = "A" if sealed[number] != "A" else "B"
        assert open_proof(b"secret", sealed[:number] + letter + sealed[number + 1 :], 50.0) is None


@pytest.mark.parametrize("text", [None, "", ".", "a.b", 5, ["x"], {"a": 1}, "ä.ö", "\udcff.\udcff"])
def test_what_is_no_proof(text: Any) -> None:
    assert open_proof(b"secret", text, 0.0) is None
