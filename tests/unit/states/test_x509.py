"""Keys and certificates as files: results, changes and comments as recorded of Salt 3006.30.

Recorded with its feature ``x509_v2``; keys are drawn, so texts cannot be compared, only what they
say.
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from repository import DATA, read_yaml

from saltlite.config.minion import MinionConfig, PathOptions
from saltlite.context import MinionContext
from saltlite.errors import SaltliteError
from saltlite.highstate.resource import Verdict, realise
from saltlite.host import Host
from saltlite.loader.registry import Registry
from saltlite.loader.states import resolve

STATES = DATA / "states"
CASES = STATES / "x509.yaml"
ARGUMENTS = json.loads((STATES / "x509_arguments.json").read_text())
SERIAL = re.compile(r"(?:[0-9A-F]{2}:){15,}[0-9A-F]{2}")
SECRET = "hunter2"

Apply = Callable[..., Verdict]


@pytest.fixture
def ctx(tmp_path: Path) -> MinionContext:
    config = MinionConfig(
        paths=PathOptions(cachedir=str(tmp_path / "cache")),
        extra={"x509_signing_policies": ARGUMENTS["policies"]},
    )
    ctx = MinionContext(config=config, host=Host(), grains={}, pillar={})
    ctx.functions = Registry(ctx)
    return ctx


@pytest.fixture
def apply(ctx: MinionContext, tmp_path: Path) -> Apply:
    """Apply a state of x509; ``@`` in arguments is a directory of this test."""
    (tmp_path / "d").mkdir()

    def run(function: str, *, test: bool = False, **given: Any) -> Verdict:
        args = placed(given, f"{tmp_path}/d")
        try:
            declared = resolve(f"x509.{function}", ctx).call(**args)
            found = realise(declared, ctx, test=test)
        except SaltliteError as error:
            return Verdict(result=False, comment=str(error))
        assert isinstance(found, Verdict)
        return found

    return run


def placed(value: Any, directory: str) -> Any:
    if isinstance(value, dict):
        return {key: placed(each, directory) for key, each in value.items()}
    if isinstance(value, list):
        return [placed(each, directory) for each in value]
    return value.replace("@", directory) if isinstance(value, str) else value


def stories() -> Iterator[Any]:
    for story in read_yaml(CASES):
        yield pytest.param(story["steps"], id=story["about"].replace(" ", "-"))


@pytest.mark.parametrize("steps", list(stories()))
def test_as_real_salt(apply: Apply, tmp_path: Path, steps: list[dict[str, Any]]) -> None:
    for step in steps:
        if "write" in step:
            (tmp_path / "d" / step["write"]).write_text("junk\n")
            continue
        wanted = {**step["gives"], **step.get("ours", {})}
        changes = placed(wanted["changes"], f"{tmp_path}/d")
        test = step.get("test", False)
        before = listing(tmp_path)
        found = apply(step["fun"], test=test, **step["args"])
        assert (found.result, found.comment) == (wanted["result"], wanted["comment"]), step
        assert found.changes == changes, step
        if test or wanted["result"] is False or not changes:
            assert listing(tmp_path) == before


@pytest.mark.parametrize("about", list(ARGUMENTS["stories"]))
def test_each_argument_as_in_real_salt(apply: Apply, tmp_path: Path, about: str) -> None:
    """Results and changes alone; comments of refusals are our own."""
    for step in ARGUMENTS["stories"][about]:
        if "write" in step:
            (tmp_path / "d" / step["write"]).write_text("junk\n")
            continue
        before = listing(tmp_path)
        found = apply(step["fun"], test=step.get("test", False), **step["args"])
        wanted = {**step["gives"], **step.get("ours", {})}
        changes = json.dumps(found.changes).replace(f"{tmp_path}/d", "@")
        told = (found.result, json.loads(SERIAL.sub("SERIAL", changes)))
        assert told == (wanted["result"], wanted["changes"]), step
        if step.get("test") or wanted["result"] is False or not wanted["changes"]:
            assert listing(tmp_path) == before


def listing(tmp_path: Path) -> dict[str, tuple[int, bytes]]:
    files = (each for each in (tmp_path / "d").rglob("*") if each.is_file())
    return {str(each): (each.stat().st_mode, each.read_bytes()) for each in files}


def certificate(tmp_path: Path, name: str = "c") -> x509.Certificate:
    return x509.load_pem_x509_certificate((tmp_path / "d" / name).read_bytes())


def self_signed(apply: Apply, **given: Any) -> Verdict:
    apply("private_key_managed", name="@/k", algo="ec")
    return apply("certificate_managed", name="@/c", signing_private_key="@/k", CN="x", **given)


def test_nobody_else_can_read_a_key_at_any_moment(
    apply: Apply, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes: set[int] = set()
    rename = os.rename

    def seen(old: Any, new: Any) -> None:
        modes.add(os.stat(old).st_mode & 0o077)
        rename(old, new)

    monkeypatch.setattr(os, "rename", seen)
    monkeypatch.setattr(os, "replace", seen)
    apply("private_key_managed", name="@/k", algo="ec")
    apply("private_key_managed", name="@/k", algo="ec", new=True, backup=True)
    assert modes == {0}
    assert (tmp_path / "d/k").stat().st_mode & 0o777 == 0o400


def test_neither_a_key_nor_its_passphrase_is_told(
    apply: Apply, ctx: MinionContext, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    told = [
        apply("private_key_managed", name="@/k", algo="ec", passphrase=passphrase)
        for passphrase in (SECRET, None, "other")
    ]
    key = (tmp_path / "d/k").read_text()
    told.append(apply("private_key_managed", name="@/k", algo="rsa", passphrase=SECRET))
    told.append(apply("certificate_managed", name="@/c", signing_private_key=key, CN="x"))
    declared = resolve("x509.private_key_managed", ctx).call(name="/k", passphrase=SECRET)
    said = f"{told} {declared!r} {caplog.text}"
    assert SECRET not in said
    assert "PRIVATE KEY" not in said
    assert key.splitlines()[1] not in said


def test_owner_and_mode_are_put_right_without_another_key(apply: Apply, tmp_path: Path) -> None:
    apply("private_key_managed", name="@/k", algo="ec")
    key = (tmp_path / "d/k").read_bytes()
    done = apply("private_key_managed", name="@/k", algo="ec", mode="0440")
    assert (done.result, done.changes) == (True, {"mode": "0440"})
    assert (tmp_path / "d/k").read_bytes() == key
    assert apply("private_key_managed", name="@/k", algo="ec", mode="0440").changes == {}


def test_a_directory_is_made_only_if_that_is_declared(apply: Apply, tmp_path: Path) -> None:
    assert apply("private_key_managed", name="@/n/k", algo="ec").result is False
    declared = {"name": "@/n/k", "algo": "ec", "makedirs": True}
    # The directory's mode follows from the file's, and 0400 would shut out all but root.
    assert apply("private_key_managed", **declared, mode="0600").result is True
    assert (tmp_path / "d/n/k").exists()


def test_a_key_is_kept_in_the_backups(apply: Apply, ctx: MinionContext, tmp_path: Path) -> None:
    apply("private_key_managed", name="@/k", algo="ec")
    key = (tmp_path / "d/k").read_bytes()
    apply("private_key_managed", name="@/k", algo="ed25519", backup=True)
    kept = [each for each in (tmp_path / "cache").rglob("*") if each.is_file()]
    assert [each.read_bytes() for each in kept] == [key]
    assert kept[0].stat().st_mode & 0o077 == 0


def test_a_certificate_is_renewed_in_time(apply: Apply, tmp_path: Path) -> None:
    assert self_signed(apply, days_valid=10, days_remaining=5).result is True
    first = certificate(tmp_path)
    assert self_signed(apply, days_valid=10, days_remaining=9).changes == {}
    renewed = self_signed(apply, days_valid=20, days_remaining=11)
    assert renewed.changes == {"expiration": True}
    second = certificate(tmp_path)
    assert second.not_valid_after_utc - first.not_valid_after_utc >= timedelta(days=10)
    assert second.public_key() == first.public_key()


def test_times_and_numbers_that_are_given(apply: Apply, tmp_path: Path) -> None:
    times = {"not_before": "2026-01-01 00:00:00", "not_after": "2040-01-01 00:00:00"}
    assert self_signed(apply, serial_number="01:0A", **times).result is True
    found = certificate(tmp_path)
    assert found.serial_number == 266
    assert found.not_valid_after_utc == datetime(2040, 1, 1, tzinfo=timezone.utc)
    assert self_signed(apply, serial_number=266, **times).changes == {}
    later = {**times, "not_after": "2041-01-01 00:00:00"}
    assert self_signed(apply, serial_number=266, **later).changes == {"expiration": True}


def test_copies_are_named_after_their_numbers(apply: Apply, tmp_path: Path) -> None:
    self_signed(apply, copypath="@", prepend_cn=True)
    copy = f"x-{certificate(tmp_path).serial_number:x}.crt"
    assert (tmp_path / "d" / copy).read_bytes() == (tmp_path / "d/c").read_bytes()


def test_a_test_run_needs_no_key_that_is_not_there_yet(apply: Apply) -> None:
    given = {"name": "@/c", "signing_private_key": "@/none", "CN": "x"}
    foretold = apply("certificate_managed", test=True, **given)
    assert foretold.result is None
    assert apply("certificate_managed", **given).result is False


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"ca_server": "ca"}, "signing_policy must be specified to request a remote certificate"),
        ({"encoding": "pkcs8"}, "Invalid value 'pkcs8' for encoding. Valid: der, pem, pkcs12, "),
        ({"digest": "md5"}, "digest is md5; allowed are sha224, sha256, sha384, sha512"),
        ({"keyUsage": "bogus"}, "Invalid keyUsage: bogus. Valid: digitalSignature, "),
        ({"serial_number": "x"}, "serial_number is x; a number, or 01:AB"),
        ({"not_after": "soon"}, "soon is no time; one is 2030-12-31 23:59:59"),
        ({"days_remaining": 400}, "days_remaining is 400; it has to be less than days_valid"),
        ({"subject": "nonsense"}, "Invalid subject: "),
    ],
)
def test_mistakes_are_told_in_one_line(apply: Apply, given: dict[str, Any], said: str) -> None:
    refused = self_signed(apply, **given)
    assert refused.result is False
    assert refused.comment.startswith(said)
    assert "\n" not in refused.comment


def test_an_entry_of_a_pem_is_a_file(apply: Apply, tmp_path: Path) -> None:
    self_signed(apply)
    foretold = apply("pem_managed", test=True, name="@/p", text="@/c")
    done = apply("pem_managed", name="@/p", text="@/c")
    assert (foretold.result, done.result) == (None, True)
    assert (tmp_path / "d/p").read_bytes() == (tmp_path / "d/c").read_bytes()
    assert apply("pem_managed", name="@/p", text="@/c").changes == {}
    apply("pem_managed", name="@/q", text="@/k")
    assert (tmp_path / "d/q").stat().st_mode & 0o777 == 0o600
    assert "PRIVATE" not in str(apply("pem_managed", name="@/q", text="@/c"))
    assert apply("pem_managed", name="@/p", text="x").result is False
