"""An authority of one's own, and the certificates of servers on this machine."""

from __future__ import annotations

import datetime
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

DAY = datetime.timedelta(days=1)


class Authority:
    """Signs certificates; its own is ``file``. Everything lies in ``folder``."""

    def __init__(self, folder: Path, name: str = "authority") -> None:
        self._folder = folder
        self._name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        self._key = ec.generate_private_key(ec.SECP256R1())
        own = self._certificate(self._name, self._key.public_key())
        own = own.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        self.file = folder / f"{name}.pem"
        self._write(self.file, own.sign(self._key, hashes.SHA256()))

    def issue(
        self, label: str, *, host: str = "127.0.0.1", age: datetime.timedelta = DAY
    ) -> tuple[Path, Path]:
        """The files of a server's certificate and key; its two days begin ``age`` ago."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, host)])
        try:
            where: x509.GeneralName = x509.IPAddress(ipaddress.ip_address(host))
        except ValueError:
            where = x509.DNSName(host)
        made = self._certificate(name, key.public_key(), age)
        made = made.add_extension(x509.SubjectAlternativeName([where]), critical=False)
        cert, private = self._folder / f"{label}.crt", self._folder / f"{label}.key"
        self._write(cert, made.sign(self._key, hashes.SHA256()))
        private.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        return cert, private

    def _certificate(
        self, name: x509.Name, key: ec.EllipticCurvePublicKey, age: datetime.timedelta = DAY
    ) -> x509.CertificateBuilder:
        begin = datetime.datetime.now(datetime.timezone.utc) - age
        return (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(begin)
            .not_valid_after(begin + 2 * DAY)
        )

    @staticmethod
    def _write(path: Path, made: x509.Certificate) -> None:
        path.write_bytes(made.public_bytes(serialization.Encoding.PEM))
