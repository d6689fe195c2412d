"""Digests, signatures and base64."""

from __future__ import annotations

import base64
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from saltlite.core import digest as digests
from saltlite.core.factories import name_function
from saltlite.disk import put_file
from saltlite.errors import FunctionError

_KNOWN = ("md5", "sha256", "sha512")


def digest(instr: object, checksum: str = "md5") -> str:
    """The digest of a text: md5, sha256 or sha512.

    CLI Example:

        salt '*' hashutil.digest 'get salted'
    """
    if checksum not in _KNOWN:
        raise FunctionError(f"Hash func '{checksum}' is not supported.")
    return digests.digest(instr, checksum)


def digest_file(infile: str, checksum: str = "md5") -> str:
    """The digest of a file.

    CLI Example:

        salt '*' hashutil.digest_file /path/to/file
    """
    return digest(_read_content(infile), checksum)


def _read_content(path: str) -> bytes:
    if not os.path.isfile(path):
        raise FunctionError(f"File path '{path}' not found.")
    with open(path, "rb") as file:
        return file.read()


def _make_digest(checksum: str, title: str) -> Callable[[object], str]:
    """Make the function of one kind of digest."""

    def digest_text(instr: object) -> str:
        return digests.digest(instr, checksum)

    text = f"""The {title} digest of a text.

    CLI Example:

        salt '*' hashutil.{checksum}_digest 'get salted'
    """
    return name_function(digest_text, f"{checksum}_digest", text)


md5_digest = _make_digest("md5", "MD5")
sha256_digest = _make_digest("sha256", "SHA-256")
sha512_digest = _make_digest("sha512", "SHA-512")


def base64_b64encode(instr: object) -> str:
    """Base64 on one line.

    CLI Example:

        salt '*' hashutil.base64_b64encode 'get salted'
    """
    return digests.base64_encode(instr)


def base64_b64decode(instr: object) -> Any:
    """What base64 stands for.

    CLI Example:

        salt '*' hashutil.base64_b64decode 'Z2V0IHNhbHRlZA=='
    """
    return digests.base64_decode(instr)


def base64_encodestring(instr: object) -> str:
    """Base64 in lines of 76 characters.

    CLI Example:

        salt '*' hashutil.base64_encodestring 'get salted'
    """
    return base64.encodebytes(digests.as_bytes(instr)).decode()


def base64_decodestring(instr: object) -> Any:
    """What base64 in lines stands for.

    CLI Example:

        salt '*' hashutil.base64_decodestring 'Z2V0IHNhbHRlZA=='
    """
    return digests.base64_decode(instr)


def base64_encodefile(fname: str) -> str:
    """A file's content as base64 in lines.

    CLI Example:

        salt '*' hashutil.base64_encodefile /path/to/binary_file
    """
    return base64.encodebytes(_read_content(fname)).decode()


def base64_decodefile(instr: object, outfile: str) -> bool:
    """Write what base64 stands for to a file.

    CLI Example:

        salt '*' hashutil.base64_decodefile instr='Z2V0IHNhbHRlZAo=' outfile='/path/to/binary_file'
    """
    data = base64.b64decode(digests.as_bytes(instr))
    put_file(Path(outfile), data, mode=_choose_mode(outfile))
    return True


def _choose_mode(path: str) -> int:
    """The mode of a file that is there; a new one only its owner can change."""
    try:
        return os.stat(path).st_mode & 0o7777
    except OSError:
        return 0o644


def hmac_signature(string: object, shared_secret: object, challenge_hmac: object) -> bool:
    """Whether a challenge is the base64 of the HMAC-SHA256 of a text.

    CLI Example:

        salt '*' hashutil.hmac_signature 'get salted' 'shared secret' 'eBWf9bstXg+NiP5AOwppB5HM='
    """
    return digests.hmac_matches(string, shared_secret, challenge_hmac)


def hmac_compute(string: object, shared_secret: object) -> str:
    """The HMAC-SHA256 of a text.

    CLI Example:

        salt '*' hashutil.hmac_compute 'get salted' 'shared secret'
    """
    return digests.hmac_compute(string, shared_secret)


def github_signature(string: object, shared_secret: object, challenge_hmac: str) -> bool:
    """Whether a challenge is GitHub's signature of a text.

    CLI Example:

        salt '*' hashutil.github_signature '{"ref": "x"}' 'shared secret' 'sha1=bc6550fc290acf5b42'
    """
    return digests.github_matches(string, shared_secret, challenge_hmac)
