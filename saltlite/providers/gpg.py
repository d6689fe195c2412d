"""Keys and messages of GnuPG, through the program ``gpg``. Source: its doc/DETAILS.

Passphrases, texts and what is decrypted go through pipes, never into arguments.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence

from saltlite.core.dataclasses import dataclass
from saltlite.core.numbers import is_digits
from saltlite.errors import FunctionError, ProgramMissing, UsageError
from saltlite.host import Host

TRUST = {
    "e": "Expired",
    "q": "Unknown",
    "n": "Not Trusted",
    "m": "Marginally Trusted",
    "f": "Fully Trusted",
    "u": "Ultimately Trusted",
    "r": "Revoked",
}
UNKNOWN = "Unknown"

OWNER_TRUST = {
    "expired": 1,
    "unknown": 2,
    "not_trusted": 3,
    "marginally": 4,
    "fully": 5,
    "ultimately": 6,
}
"""Salt's words for how far an owner is trusted to check others, and gpg's numbers."""

_STATUS = "[GNUPG:] "
_TIMEOUT_S = 300.0


@dataclass(frozen=True, slots=True)
class Key:
    """A key as ``--with-colons`` tells it."""

    keyid: str
    fingerprint: str
    uids: tuple[str, ...]
    created: str
    expires: str
    length: str
    trust: str
    owner_trust: str

    def is_meant(self, wanted: str) -> bool:
        """Whether an id or fingerprint, also a short one, is that of the key."""
        word = wanted.upper().removeprefix("0X").replace(" ", "")
        return len(word) >= 8 and (self.fingerprint or self.keyid).endswith(word)

    def as_map(self) -> dict[str, object]:
        """As ``gpg.list_keys`` shows it."""
        shown: dict[str, object] = {
            "keyid": self.keyid,
            "fingerprint": self.fingerprint,
            "uids": list(self.uids),
            "created": _format_day(self.created),
            "keyLength": self.length,
            "ownerTrust": TRUST.get(self.owner_trust, UNKNOWN),
            "trust": TRUST.get(self.trust, UNKNOWN),
        }
        return {**shown, "expires": _format_day(self.expires)} if self.expires else shown


@dataclass(frozen=True, slots=True)
class GpgOutput:
    """What gpg came to: its output, its complaints, and its status lines as words."""

    succeeded: bool
    data: bytes
    complaints: str
    status: tuple[tuple[str, ...], ...]

    @property
    def output(self) -> str:
        """The output as text."""
        return self.data.decode("utf-8", "replace")

    def has(self, *names: str) -> bool:
        """Whether there is a status line of one of these names."""
        return any(line[0] in names for line in self.status)

    def words(self, name: str) -> tuple[str, ...]:
        """The words of the first status line of a name, without it."""
        return next((line[1:] for line in self.status if line[0] == name), ())


@dataclass(frozen=True, slots=True)
class Keyring:
    """The keys in a directory, and as whom they are used."""

    host: Host
    home: str
    user: str | None = None

    def run(
        self, *words: str, stdin: str = "", passphrase: str | None = None, complain: bool = False
    ) -> GpgOutput:
        """Run gpg to its end.

        Raises:
            ProgramMissing: there is none.
            FunctionError: the directory is not there; or gpg failed, with ``complain``.
        """
        if not os.path.isdir(self.home):
            raise FunctionError(f"gnupghome should be a directory (it isn't): {self.home}")
        done = self.host.run(
            [*self._gpg_command(), *_secret_words(passphrase), *words],
            stdin=_build_input(stdin, passphrase),
            encoding="latin-1",  # a byte for a letter: what is decrypted need not be text
            runas=self.user,
            env={"LC_ALL": "C.UTF-8"},
            timeout_s=_TIMEOUT_S,
        )
        lines = done.stderr.encode("latin-1").decode("utf-8", "replace").splitlines()
        told = [line.removeprefix(_STATUS).split(" ") for line in lines if line.startswith(_STATUS)]
        complaints = "\n".join(line for line in lines if not line.startswith(_STATUS))
        if done.exit_code != 0 and complain:
            raise FunctionError(f"gpg failed: {complaints}")
        data = done.stdout.encode("latin-1")
        return GpgOutput(done.exit_code == 0, data, complaints, tuple(map(tuple, told)))

    def _gpg_command(self) -> list[str]:
        program = self.host.which("gpg")
        if program is None:
            raise ProgramMissing("gpg")
        return [program, "--homedir", self.home, "--batch", "--no-tty", "--status-fd", "2"]

    def list_keys(self, *, secret: bool = False) -> list[Key]:
        """All keys, or those of which the secret part is here."""
        what = "--list-secret-keys" if secret else "--list-keys"
        words = ("--with-colons", "--fixed-list-mode", "--fingerprint", what)
        return list(parse_keys(self.run(*words, complain=True).output))

    def find(self, wanted: str, *, secret: bool = False) -> Key | None:
        """The key with this id or fingerprint."""
        return next((key for key in self.list_keys(secret=secret) if key.is_meant(wanted)), None)


def parse_keys(text: str) -> Iterator[Key]:
    """The keys in what ``--with-colons`` prints. Subkeys are parts of theirs."""
    records: list[list[str]] = []
    for line in text.splitlines():
        record = line.split(":")
        if record[0] in ("pub", "sec") and records:
            yield _parse_key(records)
            records = []
        if records or record[0] in ("pub", "sec"):
            records.append(record)
    if records:
        yield _parse_key(records)


def _parse_key(records: Sequence[Sequence[str]]) -> Key:
    head = [*records[0], *[""] * 12]
    prints = (record[9] for record in records if record[0] == "fpr")
    return Key(
        keyid=head[4],
        fingerprint=next(prints, ""),
        uids=tuple(_unescape_text(record[9]) for record in records if record[0] == "uid"),
        created=head[5],
        expires=head[6],
        length=head[2],
        trust=head[1],
        owner_trust=head[8],
    )


def parse_found(text: str) -> Iterator[dict[str, object]]:
    """The keys that a key server found, as ``--search-keys`` prints them."""
    found: dict[str, object] = {}
    for line in text.splitlines():
        record = [*line.split(":"), *[""] * 6]
        if record[0] == "pub":
            if found:
                yield found
            found = {"keyid": record[1], "uids": [], "keyLength": record[3]}
            found["created"] = _format_day(record[4])
            if record[5]:
                found["expires"] = _format_day(record[5])
        elif record[0] == "uid" and found:
            uids = found["uids"]
            if isinstance(uids, list):
                uids.append(_unescape_text(record[1], "%"))
    if found:
        yield found


def _unescape_text(text: str, mark: str = "\\x") -> str:
    import re

    data = re.sub(
        re.escape(mark).encode() + rb"([0-9a-fA-F]{2})",
        lambda found: bytes([int(found[1], 16)]),
        text.encode(),
    )
    return data.decode("utf-8", "replace")


def _format_day(seconds: str) -> str:
    if not is_digits(seconds):
        return seconds
    return time.strftime("%Y-%m-%d", time.localtime(int(seconds)))


def _secret_words(passphrase: str | None) -> list[str]:
    if passphrase is None:
        return []
    return ["--pinentry-mode", "loopback", "--passphrase-fd", "0"]


def _build_input(text: str, passphrase: str | None) -> bytes:
    if passphrase is None:
        return text.encode()
    if "\n" in passphrase:
        raise UsageError("a passphrase has no line feeds")
    return f"{passphrase}\n{text}".encode()


def parameters(given: Sequence[tuple[str, object]], *, protected: bool) -> str:
    """The input of ``--generate-key``.

    Raises:
        UsageError: a value has more than one line, and would say something else.
    """
    wrong = next((name for name, value in given if value and "\n" in str(value)), None)
    if wrong:
        raise UsageError(f"{wrong} has a line feed in it")
    lines = [f"{name}: {value}" for name, value in given if value]
    return "\n".join([*lines, *([] if protected else ["%no-protection"]), "%commit", ""])
