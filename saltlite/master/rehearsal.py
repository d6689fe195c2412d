"""What each of the master's processes would do for itself at its first request, done once before.

OpenSSL looks up its algorithms at their first use, and patterns are compiled then: a megabyte in
each worker. Done before the fork, all share it.
"""

from __future__ import annotations

from saltlite.core import dataclasses, lazyregex
from saltlite.crypto.cipher import Crypticle, new_key_string
from saltlite.crypto.keys import ENCRYPTION_ALGORITHMS, SIGNING_ALGORITHMS, PrivateKey, PublicKey


def rehearse(key: PrivateKey) -> None:
    """Use what answers sign-ins and carries requests; ``key`` itself is left as it is."""
    # Imported where a worker opens its stores: what comes after the fork is in each of them again.
    from saltlite.master import pillarcache, sessions  # noqa: F401

    lazyregex.compile_all()
    dataclasses.compile_all()
    cipher = Crypticle(new_key_string())
    cipher.decrypt(cipher.encrypt(b"rehearsal"))
    # Of the key's own object each process blinds its operations with factors of its own.
    private, public = PrivateKey.from_pem(key.pem), PublicKey.from_pem(key.public.pem)
    for algorithm in SIGNING_ALGORITHMS:
        public.verify(b"rehearsal", private.sign(b"rehearsal", algorithm), algorithm)
    for algorithm in ENCRYPTION_ALGORITHMS:
        private.decrypt(public.encrypt(b"rehearsal", algorithm), algorithm)
