"""What is done once before the fork leaves the key as it is, and nothing to compile."""

from __future__ import annotations

import subprocess
import sys
import tempfile

from saltlite.core import dataclasses, lazyregex
from saltlite.core.lazyregex import regex
from saltlite.crypto.keys import PrivateKey
from saltlite.master.rehearsal import rehearse


def test_patterns_and_classes_are_compiled_and_the_key_is_as_before() -> None:
    @dataclasses.dataclass(frozen=True, slots=True)
    class Load:
        cmd: str
        arg: int = 0

    pattern = regex("b+")
    key = PrivateKey.generate(2048)
    pem = key.pem
    rehearse(key)
    assert key.pem == pem
    assert vars(pattern)["_compiled"] is not None
    assert Load.__init__.__code__.co_varnames == ("_self", "cmd", "arg")
    assert (Load("ping"), Load("ping", 1).arg) == (Load(cmd="ping", arg=0), 1)
    assert lazyregex._ALL


AFTER_THE_FORK = """
import sys
from pathlib import Path
from saltlite.config.load import load_master
from saltlite.crypto.keys import PrivateKey
from saltlite.master import daemon
from saltlite.master.context import Shared
from saltlite.master.rehearsal import rehearse

root = Path(sys.argv[1])
(root / "master").write_text(f"root_dir: {root}\\n")
config, key = load_master(root), PrivateKey.generate(2048)
for name in (config.paths.pki_dir, config.paths.cachedir, config.paths.sock_dir):
    Path(name).mkdir(parents=True, exist_ok=True)
shared = Shared(config=config, key=key, sign_key=None, pub_sig=None, user="root")
rehearse(key)
before = set(sys.modules)
import zmq
context = zmq.Context()
answerer = daemon.answerer_maker(shared, 1)(type("Life", (), {"extend": print})(), context)
answerer.rest()
print(sorted(set(sys.modules) - before))
context.destroy(linger=0)
shared.close()
"""


def test_a_worker_imports_nothing_after_the_fork() -> None:
    """Each would have its own copy: a module of two hundred lines is a fifth of a megabyte."""
    # Names of sockets have to be short.
    with tempfile.TemporaryDirectory(dir="/tmp") as root:
        done = subprocess.run(
            [sys.executable, "-c", AFTER_THE_FORK, root],
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
    assert (done.stdout, done.returncode) == ("[]\n", 0), done.stderr
