"""Decrypt what is encrypted with GPG, by the real ``gpg`` and the keys in ``gpg_keydir``."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from saltlite.core.lazyregex import regex
from saltlite.core.plain import PlainMap
from saltlite.errors import CommandError, RenderError

if TYPE_CHECKING:
    from saltlite.context import MinionContext
    from saltlite.templates.pipe import TemplateSource

log = logging.getLogger(__name__)

_BLOCK = regex(r"-----BEGIN PGP MESSAGE-----.*?-----END PGP MESSAGE-----", re.DOTALL)
_HEADER = "-----BEGIN PGP MESSAGE-----"


def render(data: object, source: TemplateSource, ctx: MinionContext, argument: str) -> Any:
    """The same data with every GPG message in it decrypted.

    What cannot be decrypted stays as it is, with a line in the log, unless the option
    ``gpg_decrypt_must_succeed`` is set.

    Raises:
        RenderError: there is a message and no ``gpg``; or one must be decrypted and cannot.
    """
    return Decrypter(ctx, source.path).value(data)


class Decrypter:
    """Walks through data; starts ``gpg`` only for a message."""

    def __init__(self, ctx: MinionContext, path: str) -> None:
        self._ctx = ctx
        self._path = path

    def value(self, data: object) -> Any:
        """Lists and maps are walked through, texts decrypted, all else stays."""
        if isinstance(data, str):
            return self._decrypt_text(data)
        if isinstance(data, Mapping):
            return {key: self.value(item) for key, item in data.items()}
        if isinstance(data, list):
            return [self.value(item) for item in data]
        return data

    def _decrypt_text(self, text: str) -> str:
        if _HEADER not in text:
            return text
        return _BLOCK.sub(lambda found: self._decrypt_message(found.group()), text).strip("\n")

    def _decrypt_message(self, message: str) -> str:
        options = self._gpg_options()
        program = self._ctx.host.which("gpg")
        if program is None:
            raise RenderError("GPG unavailable", path=self._path)
        home = str(options.get("gpg_keydir") or self._gpg_home())
        command = [program, "--homedir", home, "--status-fd", "2", "--no-tty", "--batch", "-d"]
        try:
            done = self._ctx.host.run(command, stdin=message)
        except CommandError as error:
            raise RenderError(f"gpg cannot be started: {error}", path=self._path) from error
        if done.exit_code == 0:
            return done.stdout
        log.warning("Could not decrypt cipher of %s: gpg ends with %d", self._path, done.exit_code)
        if options.get("gpg_decrypt_must_succeed"):
            raise RenderError("Could not decrypt cipher", path=self._path)
        return message

    def _gpg_options(self) -> PlainMap:
        return dict(self._ctx.config.extra)

    def _gpg_home(self) -> str:
        return os.path.join(os.path.dirname(self._ctx.config.paths.conf_file), "gpgkeys")
