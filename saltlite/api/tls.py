"""Certificates: read at the start, and again when their files change or SIGHUP comes.

Source: docs/api.md, "TLS".
"""

from __future__ import annotations

import logging
import os
import ssl

from saltlite.api.options import ServerOptions
from saltlite.errors import ConfigError

log = logging.getLogger(__name__)


class Certificates:
    """The server's TLS context; connections that come after a change have the new certificate."""

    def __init__(self, options: ServerOptions) -> None:
        """Read the files.

        Raises:
            ConfigError: one is missing, or they do not belong together.
        """
        if not options.ssl_crt or not options.ssl_key:
            missing = "ssl_crt" if not options.ssl_crt else "ssl_key"
            raise ConfigError(
                "not set; name a certificate and its key, or set disable_ssl: True",
                option=f"rest_cherrypy: {missing}",
            )
        self._files = [options.ssl_crt, options.ssl_key]
        self._chain = options.ssl_chain
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        self._load(self.context)
        self._stamp = self._read_stamp()

    def reload_if_changed(self, *, always: bool = False) -> bool:
        """Read the files anew if they are other ones now; what does not work is not taken."""
        stamp = self._read_stamp()
        if stamp == self._stamp and not always:
            return False
        self._stamp = stamp
        try:
            self._load(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))  # a trial, on a context of its own
            self._load(self.context)
        except ConfigError as error:
            log.error("The certificate is not read again: %s", error)
            return False
        log.info("The certificate %s was read again", self._files[0])
        return True

    def _load(self, context: ssl.SSLContext) -> None:
        for name, path in zip(("ssl_crt", "ssl_key"), self._files, strict=True):
            if not os.path.isfile(path):
                raise ConfigError(f"there is no file {path}", option=f"rest_cherrypy: {name}")
        try:
            context.load_cert_chain(*self._files)
            if self._chain:
                context.load_verify_locations(self._chain)
        except (OSError, ssl.SSLError) as error:
            raise ConfigError(
                f"{self._files[0]} and its key cannot be used: {error}",
                option="rest_cherrypy: ssl_crt",
            ) from error

    def _read_stamp(self) -> list[tuple[int, int, int]]:
        files = [*self._files, *([self._chain] if self._chain else [])]
        return [_stamp_of(path) for path in files]


def _stamp_of(path: str) -> tuple[int, int, int]:
    try:
        status = os.stat(path)
    except OSError:
        return 0, 0, 0
    return status.st_mtime_ns, status.st_size, status.st_ino
