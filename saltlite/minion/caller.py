"""A blocking way to the master, for ``salt-call``: authenticate, ask, and be gone.

The same keys and the same handshake as the minion's own loop, without its patience: a pending key
or a silent master is the caller's to report. Nothing here is used by the minion itself.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from saltlite.channel.handshake import MinionHandshake
from saltlite.channel.minion import MinionChannel
from saltlite.config.minion import MinionConfig
from saltlite.core.plain import Plain, PlainMap
from saltlite.crypto.keys import PrivateKey
from saltlite.errors import AuthError, CryptoError, KeyPending, KeyRejected, RequestTimeout
from saltlite.minion.capabilities import Offers
from saltlite.minion.masters import MasterAddress, is_address, masters_of, tcp_options
from saltlite.minion.pki import MinionKeys
from saltlite.pillar.request import pillar_load
from saltlite.transport.addresses import tcp
from saltlite.transport.req import Requester

log = logging.getLogger(__name__)

FIRST_TRY_S = 5.0
"""How long one try of ``_auth`` may take; there are as many as the time allows."""

T = TypeVar("T")


class MasterCaller:
    """An authenticated connection to one master. Fulfils ``context.MasterLink``."""

    def __init__(self, config: MinionConfig, key: PrivateKey, master: MasterAddress) -> None:
        self._config = config
        self._key = key
        self._master = master
        self._keys = MinionKeys(Path(config.paths.pki_dir))
        self._requester = Requester(
            tcp(_resolve_master(master), master.port), tcp=tcp_options(config.network)
        )
        self._channel: MinionChannel | None = None
        self._offers = Offers()

    def request(self, load: PlainMap) -> Plain:
        """One request and its reply.

        Raises:
            RequestTimeout: no reply in ``request_channel_timeout``.
            CryptoError: it cannot be read, with fresh keys neither.
        """
        if load.get("cmd") == "_pillar":  # answered in a form of its own
            return self._ask_master(
                load, lambda channel, reply, nonce: channel.open_pillar(reply, nonce)
            )
        text = load.get("cmd") != "_serve_file"
        return self._ask_master(
            load, lambda channel, reply, nonce: channel.open(reply, nonce, text=text)
        )

    @contextlib.contextmanager
    def beside(self) -> Iterator[MasterCaller]:
        """A second connection under the same keys, for another thread. Fulfils ``TwoWays``."""
        from saltlite.process import keep_large_buffers  # only for large files

        keep_large_buffers()
        other = MasterCaller(self._config, self._key, self._master)
        other._channel, other._offers = self._channel, self._offers
        try:
            yield other
        finally:
            other.close()

    def pillar(self, grains: PlainMap) -> dict[str, Any]:
        """The pillar as the master compiles it now. Raises as :meth:`request`."""
        return self._ask_master(
            pillar_load(self._config, grains),
            lambda channel, reply, nonce: channel.open_pillar(reply, nonce),
        )

    def authenticate(self, deadline_s: float) -> None:
        """Be let in before ``deadline_s`` (of ``time.monotonic``).

        Raises:
            RequestTimeout: the master did not answer in time.
            AuthError: it did not let us in; KeyPending if an operator has to accept the key first.
            CryptoError: its answer does not hold.
        """
        config = self._config
        auth = config.auth
        handshake = MinionHandshake(
            self._key,
            config.identity.id,
            enc_algo=auth.encryption_algorithm,
            sig_algo=auth.signing_algorithm,
            pinned=self._keys.load_pinned(),
            pinned_path=self._keys.pin_path,
            sign_key=self._signing_key(),
            always_verify=auth.always_verify_signature,
            open_mode=auth.open_mode,
            master_finger=auth.master_finger,
            hash_type=config.files.hash_type,
        )
        pinned = self._keys.load_pinned()
        let_in = handshake.accept(self._ask_until_answered(handshake.request, deadline_s))
        if pinned is None or let_in.replaces_pinned:
            self._keys.pin(let_in.master_key)
        # What was offered before these keys may have been the offer of another master.
        self._offers = Offers()
        self._channel = MinionChannel(
            config.identity.id,
            self._key,
            let_in.session,
            auth.encryption_algorithm,
            auth.signing_algorithm,
            let_in.master_key,
            sign_messages=auth.minion_sign_messages,
        )

    def close(self) -> None:
        """Close the connection."""
        self._requester.close()

    def _signing_key(self) -> Any:
        auth = self._config.auth
        if not auth.verify_master_pubkey_sign:
            return None
        return self._keys.signing(auth.master_sign_key_name)

    def _ask_until_answered(self, frame: Callable[[], bytes], deadline_s: float) -> bytes:
        """Ask again until there is a reply; every time with a frame of its own."""
        begun_s = time.monotonic()
        while True:
            left_s = deadline_s - time.monotonic()
            try:
                return self._requester.request(
                    frame(), timeout_s=max(0.1, min(FIRST_TRY_S, left_s))
                )
            # Told as one wait: whoever asked gave one deadline and knows nothing of the tries.
            except RequestTimeout as error:
                if time.monotonic() >= deadline_s:
                    raise RequestTimeout(error.address, time.monotonic() - begun_s) from error

    def _ask_master(
        self, load: Mapping[str, object], read: Callable[[MinionChannel, bytes, str], T]
    ) -> T:
        """Ask, and once more with fresh keys if the master has others by now."""
        returns = self._config.returns
        deadline_s = time.monotonic() + returns.request_channel_timeout
        try:
            return self._ask_once(load, read, deadline_s)
        except CryptoError as error:
            log.debug("authenticating again: %s", error)
        # Still the first deadline: keys that have changed give a request no more time.
        self.authenticate(deadline_s)
        return self._ask_once(load, read, deadline_s)

    def _ask_once(
        self,
        load: Mapping[str, object],
        read: Callable[[MinionChannel, bytes, str], T],
        deadline_s: float,
    ) -> T:
        if self._channel is None:
            raise AuthError("not authenticated")
        refusal: Any = self._offers.refusal(load)
        if refusal is not None:
            return refusal  # type: ignore[no-any-return]  # what such a request is answered with
        frame, nonce = self._channel.seal(load)
        left_s = max(0.1, deadline_s - time.monotonic())
        answer = read(self._channel, self._requester.request(frame, timeout_s=left_s), nonce)
        self._offers.heard(load, answer)
        return answer


def connect(config: MinionConfig, timeout_s: float) -> MasterCaller:
    """A connection to the first configured master that lets us in.

    Raises:
        RequestTimeout: none answered within ``timeout_s``.
        AuthError, CryptoError, StoreError, ConfigError: the last one tried says why.
    """
    key = MinionKeys(Path(config.paths.pki_dir)).own(config.auth.keysize)
    masters = masters_of(config.network)
    deadline_s = time.monotonic() + timeout_s
    for number, master in enumerate(masters, start=1):
        left_s = deadline_s - time.monotonic()
        # An even share of what is left: a first master that is silent leaves time for the others.
        share_s = left_s / (len(masters) - number + 1)
        try:
            return _connect_to(config, key, master, time.monotonic() + share_s)
        # A master that answered so is there: it needs an operator, not another master.
        except (KeyPending, KeyRejected):
            raise
        except (AuthError, CryptoError, RequestTimeout) as error:
            if number == len(masters):
                raise
            log.warning("master %s: %s", master.name, error)
    raise AssertionError("masters_of never gives an empty list")


def _connect_to(
    config: MinionConfig, key: PrivateKey, master: MasterAddress, deadline_s: float
) -> MasterCaller:
    caller = MasterCaller(config, key, master)
    try:
        caller.authenticate(deadline_s)
    # Also when the user interrupts: nobody else has this connection, to close it.
    except BaseException:
        caller.close()
        raise
    return caller


def _resolve_master(master: MasterAddress) -> str:
    """An address of the master.

    Raises:
        AuthError: its name does not resolve.
    """
    if is_address(master.host):
        return master.host
    # as bytes: for a text Python loads its tables of international names first
    host = master.host.encode() if master.host.isascii() else master.host
    try:
        answers = socket.getaddrinfo(host, master.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise AuthError(f"the master's name {master.host} does not resolve: {error}") from error
    return str(answers[0][4][0])
