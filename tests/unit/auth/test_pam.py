"""External authentication by PAM, with accounts in a namespace."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from isolated import unshare
from programs import need

ACCOUNTS = """
set -e
groupadd saltgrp
for one in saltdev grpuser lockedu expired; do useradd -M $one; done
usermod -aG saltgrp grpuser
printf 'saltdev:sesame\\ngrpuser:sesame2\\nlockedu:sesame3\\nexpired:sesame4\\n' | chpasswd
usermod -L -e 1 lockedu
usermod -e 1 expired
exec "$@"
"""
ASK = """
import json, sys
from saltlite.auth import pam
from saltlite.providers.login import AuthContext
ctx = AuthContext({})
logins = [("saltdev", "sesame"), ("saltdev", "no"), ("saltdev", ""), ("grpuser", "sesame2"),
          ("lockedu", "sesame3"), ("expired", "sesame4"), ("nobodyhere", "x"), ("root", "")]
found = {"auth": [pam.auth(ctx, *one) for one in logins],
         "groups": [pam.groups(ctx, one) for one in ("grpuser", "nobodyhere")],
         "valid": [pam.is_valid(ctx, one)
                   for one in ("saltdev", "lockedu", "expired", "nobodyhere")]}
print(json.dumps(found))
"""


def test_pam(tmp_path: Path) -> None:
    """Accounts of a copy of /etc; locked and expired ones are not let in (CVE-2022-22967)."""
    need("useradd", "chpasswd", "usermod", "groupadd")
    if not Path("/etc/pam.d/login").exists():
        pytest.skip("there is no service login of PAM")
    from isolated import SETUP

    tmp_path.chmod(0o755)
    argv = [*unshare(), "sh", "-c", SETUP, "sh", str(tmp_path), "/nonexistent"]
    done = subprocess.run(
        [*argv, "sh", "-c", ACCOUNTS, "sh", sys.executable, "-c", ASK],
        capture_output=True, text=True, env={**os.environ, "LC_ALL": "C.UTF-8"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["auth"] == [True, False, False, True, False, False, False, False]
    assert found["groups"] == [["grpuser", "saltgrp"], []]
    assert found["valid"] == [True, False, False, False]
