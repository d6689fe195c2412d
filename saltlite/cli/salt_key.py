"""``salt-key``: list, show, accept, reject and delete minion keys.

Source: docs/cli.md, #salt-key.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from saltlite.cli import options as groups
from saltlite.cli.command import EX_OK, check_access, run
from saltlite.errors import CryptoError, MasterRefused

if TYPE_CHECKING:
    import optparse

    from saltlite.cli.remotekeys import RemoteKeys
    from saltlite.cli.show import Screen
    from saltlite.config.master import MasterConfig
    from saltlite.keyring import KeyClient

NO_MATCH = "The key glob '{}' does not match any {} keys."
NO_PRIVATE_KEY = "No usable private-key found"
SMALLEST_KEY = 2048
LARGEST_KEY = 32768
LOCAL_FILES = ("master.pem", "master.pub")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; the exit code of docs/command-line.md#exit-codes."""
    return run("salt-key", argv, _build_parser, _run_action)


def _run_action(
    parser: groups.CommandParser, options: optparse.Values, arguments: list[str]
) -> int:
    _check_options(parser, options)
    if arguments and options.delete_all:
        parser.error("Delete all takes no arguments")
    from saltlite.config.load import load_master

    config = groups.load_config(load_master, options, _config_overrides(options))
    from saltlite.cli import logs

    if options.eauth or options.mktoken:
        logs.setup(config.log)
        return _work_by_login(parser, config, options)
    if not options.gen_keys:
        check_access(config.paths.pki_dir, config.paths.cachedir)
    logs.setup(config.log, log_file=options.log_file or config.paths.key_logfile)
    return _SaltKey(config, options).run()


def _work_by_login(
    parser: groups.CommandParser, config: MasterConfig, options: optparse.Values
) -> int:
    """Have the master do it, with the rights of who logs in and nothing else."""
    from saltlite.cli import login
    from saltlite.cli.remotekeys import RemoteKeys
    from saltlite.client.jobs import JobClient

    login.check_options(parser, options)
    if options.gen_keys or options.gen_signature:
        parser.error("--eauth: keys and signatures are made on this machine, without a login")
    shown: dict[str, str] = {}
    try:
        shown = login.credentials(config, options)
        with JobClient(config, credentials=shown) as client:
            return _SaltKey(config, options).run_on(RemoteKeys(client))
    except login.LoginFailed:
        return login.EX_LOGIN
    except MasterRefused as error:
        return login.end_refused(error, shown, config, options)


# --- options -------------------------------------------------------------------------------------


def _build_parser() -> groups.CommandParser:
    parser = groups.CommandParser(
        "salt-key",
        "%prog [options]",
        "salt-key lists, accepts, rejects and deletes the keys of minions.",
    )
    groups.common_options(parser)
    parser.add_option("-u", "--user", help="Specify user to run salt-key.")
    groups.hard_crash_option(parser)
    groups.flag(parser, "-q", "--quiet", help="Suppress output.")
    groups.flag(parser, "-y", "--yes", help="Answer yes to all questions asked.")
    parser.add_option(
        "--rotate-aes-key", help="Rotate the publication key when a key is deleted. Default: True."
    )
    parser.add_option(
        "--preserve-minions", help="Keep the cached data of minions whose key is deleted."
    )
    _action_options(parser)
    _generation_options(parser)
    groups.logging_options(parser, "/var/log/salt/key", short=False)
    groups.output_options(parser)
    groups.eauth_options(parser, short=False)
    return parser


def _action_options(parser: groups.CommandParser) -> None:
    group = parser.add_option_group("Actions")
    add = group.add_option
    add("-l", "--list", default="", metavar="ARG", help="List keys: acc, pre, rej, den, all.")
    groups.flag(group, "-L", "--list-all", help="List all public keys.")
    add("-a", "--accept", default="", help="Accept the specified public key (globs are supported).")
    groups.flag(group, "-A", "--accept-all", help="Accept all pending keys.")
    add("-r", "--reject", default="", help="Reject the specified public key (globs are supported).")
    groups.flag(group, "-R", "--reject-all", help="Reject all pending keys.")
    groups.flag(
        group, "--include-all", help="Include rejected/accepted keys when accepting/rejecting."
    )
    groups.flag(group, "--include-accepted", help="Include accepted keys when rejecting.")
    groups.flag(group, "--include-rejected", help="Include rejected keys when accepting.")
    groups.flag(group, "--include-denied", help="Include denied keys when accepting/rejecting.")
    add("-p", "--print", dest="print_", default="", help="Print the specified public key.")
    groups.flag(group, "-P", "--print-all", help="Print all public keys.")
    add("-d", "--delete", default="", help="Delete the specified key (globs are supported).")
    groups.flag(group, "-D", "--delete-all", help="Delete all keys.")
    add("-f", "--finger", default="", help="Print the specified key's fingerprint.")
    groups.flag(group, "-F", "--finger-all", help="Print all keys' fingerprints.")


def _generation_options(parser: groups.CommandParser) -> None:
    group = parser.add_option_group("Key Generation Options")
    add = group.add_option
    add("--gen-keys", default="", help="Set a name to generate a keypair for use with salt.")
    add("--gen-keys-dir", default=".", help="Set the directory to save the generated keypair.")
    add("--keysize", type="int", default=SMALLEST_KEY, help="Set the keysize for the keypair.")
    groups.flag(group, "--gen-signature", help="Create a signature of the master's public key.")
    add("--priv", default="", help="The private key to create the signature with.")
    add("--signature-path", default="", help="Where the signature is written.")
    add("--pub", default="", help="The public key to create a signature for.")
    groups.flag(group, "--auto-create", help="Create a signing key pair if there is none.")


def _check_options(parser: groups.CommandParser, options: optparse.Values) -> None:
    from saltlite.keyring import states_of

    if options.list and not states_of(options.list):
        parser.error(f"'{options.list}' is not a valid argument to '--list'")
    if options.keysize < SMALLEST_KEY:
        parser.error(f"The minimum value for keysize is {SMALLEST_KEY}")
    if options.keysize > LARGEST_KEY:
        parser.error(f"The maximum value for keysize is {LARGEST_KEY}")


def _config_overrides(options: optparse.Values) -> dict[str, Any]:
    more: dict[str, Any] = {}
    for name, option in (
        ("rotate_aes_key", options.rotate_aes_key),
        ("preserve_minion_cache", options.preserve_minions),
    ):
        if option is not None:
            more[name] = option.strip().lower() in ("true", "yes", "on", "1")
    return more


# --- the work ------------------------------------------------------------------------------------


class _SaltKey:
    """One call of ``salt-key``."""

    def __init__(self, config: MasterConfig, options: optparse.Values) -> None:
        from saltlite.cli.show import Screen

        self.config = config
        self.options = options
        self.screen: Screen = Screen.of(config, options)

    def run(self) -> int:
        """Do what is asked for; the exit code."""
        from saltlite.cli.stores import KeyDirectory, LazyEvents, open_stores
        from saltlite.keyring import KeyClient

        if self.options.gen_keys:
            return self._gen_keys()
        if self.options.gen_signature:
            return self._gen_signature()
        events = LazyEvents(self.config)
        try:
            keys = KeyDirectory(self.config, open_stores(self.config), fire=events.fire)
            return self._on_keys(KeyClient(keys, refuse=_say_invalid))
        finally:
            events.close()

    def run_on(self, files: RemoteKeys) -> int:
        """Do what is asked for with the keys of a master that is asked for each; the exit code."""
        from saltlite.keyring import KeyClient

        options = self.options
        if options.finger or options.finger_all:
            return self._show_keys(files.finger(options.finger or "*"))
        return self._on_keys(KeyClient(files, refuse=_say_invalid))

    def _on_keys(self, keys: KeyClient) -> int:
        options = self.options
        if options.accept or options.accept_all:
            return self._accept_keys(keys, options.accept or "*")
        if options.reject or options.reject_all:
            return self._reject_keys(keys, options.reject or "*")
        if options.delete or options.delete_all:
            return self._delete_keys(keys, options.delete or "*")
        if options.print_ or options.print_all:
            return self._show_keys(keys.key_str(options.print_ or "*"))
        if options.finger or options.finger_all:
            return self._show_fingerprints(keys)
        from saltlite.keyring import STATES, states_of

        return self._show_keys(keys.list_all(states_of(options.list) if options.list else STATES))

    def _show_keys(self, data: Mapping[str, Any]) -> int:
        self.screen.show(dict(data), "key")
        return EX_OK

    def _show_fingerprints(self, keys: KeyClient) -> int:
        from saltlite.crypto.keys import pem_fingerprint

        hash_type = self.config.files.hash_type

        def fingerprint(text: str) -> str:
            return pem_fingerprint(text, hash_type)

        found: dict[str, Any] = dict(keys.finger(self.options.finger or "*", fingerprint))
        if self.options.finger_all:
            local = self._local_keys()
            if local:
                found["local"] = {name: fingerprint(text) for name, text in local.items()}
        return self._show_keys(found)

    def _local_keys(self) -> dict[str, str]:
        from saltlite import disk

        found = {}
        for name in LOCAL_FILES:
            data = disk.read_regular(Path(self.config.paths.pki_dir) / name)
            if data is not None:
                found[name] = data.decode("utf-8", "replace")
        return found

    def _accept_keys(self, keys: KeyClient, match: str) -> int:
        options = self.options
        rejected = options.include_all or options.include_rejected
        denied = options.include_all or options.include_denied
        chosen = keys.to_accept(match, include_rejected=rejected, include_denied=denied)
        if not chosen:
            return self._no_match(match, rejected=rejected, denied=options.include_denied)
        if not self._ask_for_consent(chosen, "accepted", default=True):
            return EX_OK
        return self._report_done(keys.accept(chosen), "accepted")

    def _reject_keys(self, keys: KeyClient, match: str) -> int:
        options = self.options
        accepted = options.include_all or options.include_accepted
        denied = options.include_all or options.include_denied
        chosen = keys.to_reject(match, include_accepted=accepted, include_denied=denied)
        if not chosen:
            return self._no_match(match, accepted=accepted, denied=options.include_denied)
        if not self._ask_for_consent(chosen, "rejected", default=True):
            return EX_OK
        return self._report_done(keys.reject(chosen), "rejected")

    def _delete_keys(self, keys: KeyClient, match: str) -> int:
        chosen = keys.name_match(match)
        if not chosen:
            return self._no_match(match)
        if not self._ask_for_consent(chosen, "deleted", default=False):
            return EX_OK
        return self._report_done(keys.delete(chosen), "deleted")

    def _no_match(self, match: str, **included: bool) -> int:
        words = ["unaccepted", *(word for word, wanted in included.items() if wanted)]
        kinds = words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
        self._print_line(NO_MATCH.format(match, kinds))
        return EX_OK

    def _ask_for_consent(self, chosen: Mapping[str, Any], done: str, *, default: bool) -> bool:
        """Say what is going to happen and ask; ``default`` is what Enter means."""
        if not (self.options.quiet and self.options.yes):
            self.screen.line(f"The following keys are going to be {done}:")
            self.screen.show(dict(chosen), "key")
        if self.options.yes:
            return True
        sys.stdout.write(f"Proceed? [{'n/Y' if default else 'N/y'}] ")
        sys.stdout.flush()
        answer = sys.stdin.readline()
        if not answer:  # nobody is there to ask
            sys.stdout.write("\n")
            return False
        answer = answer.strip().lower()
        return default if not answer else answer.startswith("y")

    def _report_done(self, minions: Sequence[str], done: str) -> int:
        for minion in minions:
            self._print_line(f"Key for minion {minion} {done}.")
        return EX_OK

    def _print_line(self, text: str) -> None:
        if not self.options.quiet:
            self.screen.line(text)

    # --- making keys --------------------------------------------------------------------------

    def _gen_keys(self) -> int:
        """Make a pair; one that is there is kept."""
        from saltlite import disk
        from saltlite.master.keystore import load_or_make_key

        options = self.options
        folder = Path(options.gen_keys_dir).expanduser().absolute()
        disk.make_dir(folder)
        try:
            private = disk.child(folder, f"{options.gen_keys}.pem")
        except ValueError as error:
            raise CryptoError(str(error)) from error
        key = load_or_make_key(private, keysize=options.keysize, public_mode=0o644)
        self._show_result(key.public.fingerprint(self.config.files.hash_type))
        return EX_OK

    def _gen_signature(self) -> int:
        """Sign the master's public key with the signing key; the pair is made if it may be."""
        from saltlite import disk
        from saltlite.channel.handshake import sign_public_key
        from saltlite.crypto.keys import PublicKey
        from saltlite.master.keystore import load_or_make_key

        options, keys = self.options, self.config.keys
        pki = Path(self.config.paths.pki_dir)
        private = Path(options.priv or pki / f"{keys.master_sign_key_name}.pem")
        if not private.exists() and not options.auto_create:
            self._show_result(NO_PRIVATE_KEY)
            return EX_OK
        signer = load_or_make_key(
            private, keysize=options.keysize, passphrase=keys.signing_key_pass or None
        )
        public = Path(options.pub or pki / "master.pub")
        text = disk.read_regular(public)
        if text is None:
            raise CryptoError(f"there is no public key {public}")
        master_key = PublicKey.from_pem(text.decode("utf-8", "replace"))
        signature = sign_public_key(signer, master_key, keys.signing_algorithm)
        folder = Path(options.signature_path) if options.signature_path else pki
        disk.make_dir(folder)
        name = keys.master_pubkey_signature or "master_pubkey_signature"
        disk.write_file(folder / name, signature.encode(), mode=0o644)
        self._show_result(True)
        return EX_OK

    def _show_result(self, value: Any) -> None:
        if not self.options.quiet:
            self.screen.show({"return": value})


def _say_invalid(minion_id: str) -> None:
    sys.stderr.write(f"Unable to accept invalid key for {minion_id}.\n")


if __name__ == "__main__":
    sys.exit(main())
