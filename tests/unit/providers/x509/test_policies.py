"""Certificates that another minion signs: policies, what may be asked for, and what comes back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cryptography import x509

from saltlite.config.minion import MinionConfig
from saltlite.context import MinionContext
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Verdict, realise
from saltlite.host import Host
from saltlite.loader.registry import Registry
from saltlite.loader.states import resolve
from saltlite.modules import x509 as x509_functions


def make(pillar: dict[str, Any]) -> MinionContext:
    ctx = MinionContext(config=MinionConfig(), host=Host(), grains={}, pillar=pillar)
    ctx.functions = Registry(ctx)
    return ctx


class Pair:
    """A minion that asks and one that signs; ``publish.publish`` goes from one to the other."""

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **policy: Any) -> None:
        self.directory, self.requester = tmp_path, "web1"
        self.asked: list[Any] = []
        own = make({})
        self.key = own.functions.call("x509.create_private_key", algo="ec")
        self.certificate = own.functions.call(
            "x509.create_certificate",
            signing_private_key=self.key,
            CN="ca",
            basicConstraints="critical, CA:true",
            days_valid=300,
        )
        (tmp_path / "ca.crt").write_text(self.certificate)
        known = {
            "minions": "web*",
            "signing_private_key": self.key,
            "signing_cert": str(tmp_path / "ca.crt"),
            "days_valid": 100,
            "O": "policy",
            **policy,
        }
        self.authority = make({"x509_signing_policies": {"www": known}})
        self.minion = make({})
        monkeypatch.setattr(self.minion.functions, "call", self._call)
        self._real_call = Registry.call

    def _call(self, fun: str, *args: Any, **kwargs: Any) -> Any:
        if fun != "publish.publish":
            return self._real_call(self.minion.functions, fun, *args, **kwargs)
        server, function = args
        assert (server, function) == ("ca1", "x509.sign_remote_certificate")
        self.asked.append(kwargs["arg"])
        return {"ca1": self.sign(*kwargs["arg"])}

    def sign(self, policy: Any, asked: Any, only_policy: bool = False) -> Any:
        given = {"__pub_id": self.requester} if self.requester else {}
        call = self.authority.functions.call
        return call("x509.sign_remote_certificate", policy, asked, only_policy, **given)

    def apply(self, *, test: bool = False, **given: Any) -> Verdict:
        (self.directory / "k").write_text(MY_KEY)
        declared = {
            "name": f"{self.directory}/c",
            "ca_server": "ca1",
            "signing_policy": "www",
            "private_key": f"{self.directory}/k",
            "CN": "www",
            **given,
        }
        found = resolve("x509.certificate_managed", self.minion).call(**declared)
        verdict = realise(found, self.minion, test=test)
        assert isinstance(verdict, Verdict)
        return verdict

    def made(self) -> x509.Certificate:
        return x509.load_pem_x509_certificate((self.directory / "c").read_bytes())


MY_KEY = str(make({}).functions.call("x509.create_private_key", algo="ec"))


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pair:
    return Pair(tmp_path, monkeypatch)


def test_another_minion_signs_as_its_policy_lays_down(pair: Pair) -> None:
    foretold = pair.apply(test=True, O="mine", days_valid=5)
    assert (foretold.result, foretold.changes) == (None, {"created": f"{pair.directory}/c"})
    assert not (pair.directory / "c").exists()
    assert pair.apply(O="mine", days_valid=5).result is True
    made = pair.made()
    assert made.subject.rfc4514_string() == "CN=www,O=policy"
    assert made.issuer.rfc4514_string() == "CN=ca"
    assert (made.not_valid_after_utc - made.not_valid_before_utc).days == 100
    assert pair.apply(O="mine", days_valid=5).changes == {}
    assert pair.apply(CN="other").changes == {"subject_name": "CN=other,O=policy"}


def test_no_private_key_travels(pair: Pair) -> None:
    pair.apply(encoding="pkcs12", pkcs12_passphrase="hunter2")
    assert "PRIVATE" not in str(pair.asked)
    assert "hunter2" not in str(pair.asked)
    policy = pair.sign("www", {}, True)
    assert policy["errors"] == []
    assert "PRIVATE" not in str(policy)
    assert "minions" not in policy["data"]
    assert policy["data"]["signing_cert"] == pair.certificate


@pytest.mark.parametrize(("requester", "may"), [("web7", True), ("db1", False), (None, False)])
def test_a_policy_says_for_whom(pair: Pair, requester: str | None, may: bool) -> None:
    pair.requester = requester
    answer = pair.sign("www", {"CN": "x", "public_key": public_key()})
    assert bool(answer["data"]) is may
    assert bool(answer["errors"]) is not may
    assert bool(pair.sign("www", {}, True)["data"]) is may


def public_key() -> str:
    return str(make({}).functions.call("x509.get_public_key", MY_KEY))


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"basicConstraints": "CA:true"}, "basicConstraints of an authority has to be in"),
        ({"keyUsage": "keyCertSign"}, "keyUsage of an authority has to be in the signing policy"),
        ({"X509v3 Basic Constraints": "CA:true"}, "basicConstraints of an authority has to be in"),
        ({"public_key": "/etc/hostname"}, "public_key has to be PEM or DER"),
        ({"csr": "/etc/hostname"}, "csr has to be PEM or DER"),
        ({"public_key": "-----BEGIN" + "x" * 70_000}, "public_key is longer than 65536 bytes"),
        ({str(number): 1 for number in range(100)}, "the request is no map of arguments"),
        ("x", "the request is no map of arguments"),
    ],
)
def test_what_is_refused(pair: Pair, asked: Any, said: str) -> None:
    whole = {"CN": "x", "public_key": public_key(), **asked} if isinstance(asked, dict) else asked
    answer = pair.sign("www", whole)
    assert answer["data"] is None
    assert answer["errors"][0].startswith(said)


def test_what_is_asked_for_writes_no_file_there(pair: Pair) -> None:
    place = pair.directory / "there"
    place.mkdir()
    asked = {"CN": "x", "public_key": public_key(), "copypath": str(place), "path": str(place)}
    assert pair.sign("www", asked)["data"]
    assert list(place.iterdir()) == []


def test_a_policy_keeps_copies_at_the_authority(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "issued"
    place.mkdir()
    pair = Pair(tmp_path, monkeypatch, copypath=str(place), prepend_cn=True)
    assert pair.sign("www", {"CN": "x", "public_key": public_key()})["data"]
    (copy,) = place.iterdir()
    assert copy.name.startswith("x-")


def test_a_policy_may_let_authorities_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = Pair(tmp_path, monkeypatch, basicConstraints="critical, CA:true, pathlen:0")
    assert pair.apply(basicConstraints="CA:false").result is True
    found = pair.made().extensions.get_extension_for_class(x509.BasicConstraints).value
    assert (found.ca, found.path_length) == (True, 0)


def test_a_certificate_of_another_key_is_not_taken(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = pair.sign
    other = make({}).functions.call("x509.create_private_key", algo="ec")
    swapped = str(make({}).functions.call("x509.get_public_key", other))

    def sign(policy: Any, asked: Any, only_policy: bool = False) -> Any:
        return real(policy, {**asked, "public_key": swapped}, only_policy)

    monkeypatch.setattr(pair, "sign", sign)
    refused = pair.apply()
    assert (refused.result, refused.comment) == (False, "ca_server has certified another key")
    assert not (pair.directory / "c").exists()


def test_a_minion_that_does_not_answer(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair.minion.functions, "call", lambda *a, **k: {})
    with pytest.raises(FunctionError, match="ca_server did not respond"):
        x509_functions.get_signing_policy(pair.minion, "www", ca_server="ca1")


# --- no more than the policy allows ----------------------------------------------------------


def made_by(pair: Pair, **asked: Any) -> x509.Certificate:
    answer = pair.sign("www", {"CN": "x", "public_key": public_key(), **asked})
    assert answer["errors"] == []
    return x509.load_pem_x509_certificate(answer["data"].encode())


@pytest.mark.parametrize("name", ["days_valid", "not_after"])
def test_an_end_that_is_asked_for_is_not_behind_that_of_the_policy(pair: Pair, name: str) -> None:
    made = made_by(pair, **{name: 9999 if name == "days_valid" else "2099-01-01 00:00:00"})
    assert (made.not_valid_after_utc - made.not_valid_before_utc).days == 100


def test_an_end_that_is_asked_for_is_the_same_for_who_asks(pair: Pair) -> None:
    assert pair.apply(not_after="2099-01-01 00:00:00").result is True
    assert pair.apply(not_after="2099-01-01 00:00:00").changes == {}


def request_with(**extensions: Any) -> str:
    given = {"private_key": MY_KEY, "CN": "x", **extensions}
    return str(make({}).functions.call("x509.create_csr", **given))


@pytest.mark.parametrize("road", ["argument", "request"])
@pytest.mark.parametrize(
    ("name", "value"), [("subjectAltName", "DNS:bank.example"), ("extendedKeyUsage", "serverAuth")]
)
def test_a_policy_without_an_extension_forbids_it_on_every_road(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, road: str, name: str, value: str
) -> None:
    pair = Pair(tmp_path, monkeypatch, **{name: None})
    asked = {name: value} if road == "argument" else {"csr": request_with(**{name: value})}
    found = [one.value for one in made_by(pair, **asked).extensions]
    assert not any(isinstance(one, x509.SubjectAlternativeName) for one in found)
    assert not any(isinstance(one, x509.ExtendedKeyUsage) for one in found)


@pytest.mark.parametrize("road", ["argument", "request"])
def test_who_answers_for_an_authority_is_the_policys_to_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, road: str
) -> None:
    """A certificate for OCSP says of every other one whether it is revoked."""
    wanted = {"extendedKeyUsage": "serverAuth, OCSPSigning"}
    asked = wanted if road == "argument" else {"csr": request_with(**wanted)}
    whole = {"CN": "x", "public_key": public_key(), **asked}
    refused = Pair(tmp_path, monkeypatch).sign("www", whole)
    assert refused["data"] is None
    assert refused["errors"][0].startswith("extendedKeyUsage of an authority has to be in")
    assert Pair(tmp_path, monkeypatch, **wanted).sign("www", whole)["data"]


def test_a_number_is_the_authoritys_to_say(pair: Pair) -> None:
    """Two certificates of one number cannot be told apart when one is revoked."""
    number = made_by(pair).serial_number
    again = pair.sign("www", {"CN": "y", "public_key": public_key(), "serial_number": number})
    assert again["data"] is None
    assert again["errors"] == ["serial_number has to be in the signing policy"]


@pytest.mark.parametrize(("requester", "may"), [("web7", True), ("db1", True), ("w", False)])
def test_a_policy_lists_for_whom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, requester: str, may: bool
) -> None:
    """A list is no text: as a glob ``['web*', 'db1']`` would stand for each of its letters."""
    pair = Pair(tmp_path, monkeypatch, minions=["web*", "db1"])
    pair.requester = requester
    assert bool(pair.sign("www", {"CN": "x", "public_key": public_key()})["data"]) is may


def test_keys_and_passphrases_of_a_policy_are_not_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = {"private_key": MY_KEY, "private_key_passphrase": "p1", "pkcs12_passphrase": "p2"}
    pair = Pair(tmp_path, monkeypatch, **own)
    assert own.keys().isdisjoint(pair.sign("www", {}, True)["data"])
