"""Encrypted values of pillar, with a real gpg and a key made for the test."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from saltlite.config.load import load_minion
from saltlite.context import MinionContext
from saltlite.host import Host
from saltlite.loader.registry import Registry
from saltlite.pillar.context import compile_masterless

pytestmark = pytest.mark.skipif(shutil.which("gpg") is None, reason="there is no gpg")
NOT_VALID = "'yaml' is not a valid decryption renderer. Valid choices are: gpg"


def gpg(home: Path, *args: str, text: str = "") -> str:
    command = ["gpg", "--homedir", str(home), "--batch", "--no-tty", *args]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    # the path of the agent's socket has to be a short one
    home = tmp_path_factory.mktemp("gpg")
    home.chmod(0o700)
    gpg(home, "--passphrase", "", "--quick-gen-key", "t@x", "default", "default", "never")
    yield home
    subprocess.run(["gpgconf", "--homedir", str(home), "--kill", "all"], check=False)


@pytest.fixture(scope="module")
def secret(keys: Path) -> str:
    return gpg(keys, "--trust-model", "always", "-ea", "-r", "t@x", text="topsecret").strip()


def compiled(tmp_path: Path, keys: Path, data: Any, override: Any = None, **options: Any) -> Any:
    settings = {
        "id": "web1",
        "file_client": "local",
        "root_dir": str(tmp_path),
        "pillar_roots": {"base": [str(tmp_path)]},
        "gpg_keydir": str(keys),
        **options,
    }
    (tmp_path / "minion").write_text(yaml.safe_dump(settings))
    (tmp_path / "top.sls").write_text("base: {'*': [data]}")
    (tmp_path / "data.sls").write_text("#!yaml\n" + yaml.safe_dump(data))
    ctx = MinionContext(config=load_minion(tmp_path), host=Host(), grains={}, pillar={})
    ctx.functions = Registry(ctx)
    return compile_masterless(ctx, override=override or {})


def test_values_maps_and_lists_are_decrypted_and_the_rest_is_left(
    tmp_path: Path, keys: Path, secret: str
) -> None:
    data = {"a": {"b": secret, "l": [1, secret]}, "m": {"x": f"pre {secret} post"}, "not": secret}
    pillar = compiled(
        tmp_path, keys, data, decrypt_pillar=["a:b", {"a:l": "gpg"}, "m", "nothing:here"]
    )
    assert pillar == {
        "a": {"b": "topsecret", "l": [1, "topsecret"]},
        "m": {"x": "pre topsecret post"},
        "not": secret,
    }


def test_what_is_not_allowed_is_an_error_and_the_rest_goes_on(
    tmp_path: Path, keys: Path, secret: str
) -> None:
    pillar = compiled(tmp_path, keys, {"a": secret, "p": 5}, decrypt_pillar=[{"p": "yaml"}, "a"])
    assert pillar == {
        "a": "topsecret",
        "p": 5,
        "_errors": [f"Failed to decrypt pillar key 'p': {NOT_VALID}"],
    }


def test_a_renderer_that_is_not_there(tmp_path: Path, keys: Path) -> None:
    pillar = compiled(
        tmp_path, keys, {"p": 5}, decrypt_pillar=[{"p": "no"}], decrypt_pillar_renderers=["no"]
    )
    assert pillar["_errors"] == [
        "Failed to decrypt pillar key 'p': Decryption renderer 'no' is not available"
    ]


def test_other_delimiters_and_overrides(tmp_path: Path, keys: Path, secret: str) -> None:
    pillar = compiled(
        tmp_path,
        keys,
        {"a": {"b": "x"}},
        override={"a": {"c": secret}},
        decrypt_pillar=["a/c"],
        decrypt_pillar_delimiter="/",
    )
    assert pillar == {"a": {"b": "x", "c": "topsecret"}}


def test_no_secret_in_a_log(
    tmp_path: Path, keys: Path, secret: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(1)
    pillar = compiled(tmp_path, keys, {"a": secret, "b": "{{"}, decrypt_pillar=["a", {"b": "x"}])
    assert pillar["a"] == "topsecret"
    assert "topsecret" not in caplog.text
