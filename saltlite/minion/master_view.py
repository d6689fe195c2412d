"""How the masters see this minion, for ``doctor``: asked as the minion asks, with nothing kept."""

from __future__ import annotations

from pathlib import Path

from saltlite.channel.handshake import MinionHandshake
from saltlite.config.minion import MinionConfig
from saltlite.crypto.keys import load_private_key
from saltlite.minion.masters import masters_of, tcp_options
from saltlite.minion.pki import MinionKeys
from saltlite.transport.addresses import tcp
from saltlite.transport.req import Requester


class MasterViewOf:
    """The masters of a configuration. Fulfils ``context.MasterView``."""

    def __init__(self, config: MinionConfig) -> None:
        self._config = config

    def masters(self) -> list[tuple[str, int]]:
        """Name or address and port of each; raises ConfigError."""
        return [(one.host, one.port) for one in masters_of(self._config.network)]

    def sign_in(self, address: str, port: int, timeout_s: float) -> None:
        """Ask to be let in with the key that is there, and forget the answer.

        The master's key is not pinned. A master that does not know this minion's key notes it, as
        it does when the minion starts.

        Raises:
            RequestTimeout: the master did not answer in time.
            AuthError: it does not let this minion in; the class says why.
            CryptoError: there is no key, or the answer does not hold.
        """
        config, keys = self._config, MinionKeys(Path(self._config.paths.pki_dir))
        auth = config.auth
        signing = (
            keys.signing(auth.master_sign_key_name) if auth.verify_master_pubkey_sign else None
        )
        handshake = MinionHandshake(
            load_private_key(Path(config.paths.pki_dir) / "minion.pem"),
            config.identity.id,
            enc_algo=auth.encryption_algorithm,
            sig_algo=auth.signing_algorithm,
            pinned=keys.load_pinned(),
            pinned_path=keys.pin_path,
            sign_key=signing,
            always_verify=auth.always_verify_signature,
            open_mode=auth.open_mode,
            master_finger=auth.master_finger,
            hash_type=config.files.hash_type,
        )
        with Requester(tcp(address, port), tcp=tcp_options(config.network)) as requester:
            handshake.accept(requester.request(handshake.request(), timeout_s=timeout_s))
