from pathlib import Path

import pytest
from doctor_facts import FakeMachine, FakeView, minion_facts, show

from saltlite.channel.handshake import KEY_CHANGED
from saltlite.doctor.minion import key
from saltlite.errors import (
    CryptoError,
    KeyPending,
    KeyRejected,
    MasterFull,
    MasterUntrusted,
    RequestTimeout,
)


def looked(tmp_path, answer=None, *, has_key=True, refusing=None, **options):
    facts = minion_facts(
        tmp_path, FakeMachine(refusing=refusing), view=FakeView(answer=answer), **options
    )
    pki_dir = Path(facts.config.paths.pki_dir)
    pki_dir.mkdir(parents=True, exist_ok=True)
    if has_key:
        (pki_dir / "minion.pem").touch()
    return show(key.look(facts))


def test_a_key_that_is_accepted(tmp_path):
    assert looked(tmp_path) == []


@pytest.mark.parametrize(
    ("answer", "what", "mend"),
    [
        (KeyPending("x"), "the key waits to be accepted", "salt-key -a m1"),
        (
            KeyRejected("x"),
            "the key was rejected, or another machine has this id",
            "salt-key -d m1",
        ),
        (MasterFull("x"), "the master serves as many minions as it may", "max_minions"),
        (MasterUntrusted("x"), "the master's key is not the one that this minion knows", "rm /"),
        (
            RequestTimeout("x", 8.0),
            "the master is there, but did not answer within 8 s",
            "salt-run doctor only=workers",
        ),
    ],
)
def test_answers_of_a_master(tmp_path, answer, what, mend):
    ((severity, said, _where, how),) = looked(tmp_path, answer)
    assert (severity, said) == ("error", what)
    assert mend in how


def test_a_changed_key_as_a_refusal_shows_it(tmp_path):
    pinned = tmp_path / "etc/salt/pki/minion/minion_master.pub"
    ((_severity, what, where, mend),) = looked(
        tmp_path, CryptoError(KEY_CHANGED.format(path=pinned))
    )
    assert what == "the master's key is not the one that this minion knows"
    assert where == str(pinned)
    assert f"rm {pinned}" in mend


def test_another_fault(tmp_path):
    ((severity, what, _where, _mend),) = looked(tmp_path, CryptoError("bad padding"))
    assert (severity, what) == ("warning", "signing in failed: bad padding")


def test_no_key_yet(tmp_path):
    ((severity, what, _where, mend),) = looked(tmp_path, KeyPending("x"), has_key=False)
    assert (severity, mend) == ("note", "systemctl start salt-minion")
    assert what == "this minion has no key yet: it makes one at its first start"


def test_who_is_not_asked(tmp_path):
    assert looked(tmp_path, KeyPending("x"), refusing={4506: "Connection refused"}) == []
    found = looked(tmp_path, KeyPending("x"), file_client="local")
    assert found == [("unseen", "there is no master to be reached", "", "")]
