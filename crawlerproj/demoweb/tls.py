"""Hosts that speak TLS: certificates of a small authority that belongs to the seed.

Keys follow from the seed, so the authority's certificate of a world can be trusted before it is served
(`authority_pem`). A host speaks TLS on the same port as others speak plain HTTP: each has its own address.
"""

import datetime
import ssl
import tempfile
from functools import lru_cache

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from crawlerproj.demoweb.layout import mix
from crawlerproj.demoweb.nuisance import Nuisance

GOOD, EXPIRED, SELF_SIGNED, WRONG_NAME = "good", "expired", "self-signed", "wrong-name"
_BEGIN = datetime.datetime(2020, 1, 1)
_END = datetime.datetime(2090, 1, 1)
_EXPIRY = datetime.datetime(2021, 1, 1)


class Tls(Nuisance):
    """Meets a share of the hosts: good certificates, so all their pages are to be fetched."""

    name = "tls"
    default_share = 0.05

    def certificate(self, host: int) -> str | None:
        return GOOD if host < self.layout.hosts and self.meets_host(host) else None


def authority_pem(seed: int) -> bytes:
    """The certificate by which good hosts can be verified."""
    return _authority(seed).public_bytes(serialization.Encoding.PEM)


def server_context(seed: int, name: str, kind: str) -> ssl.SSLContext:
    """What a host of this name with this kind of certificate serves with."""
    key = _key(seed, 2)
    certificate = _certificate(seed, name, kind)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.NamedTemporaryFile() as file:
        file.write(certificate.public_bytes(serialization.Encoding.PEM))
        file.write(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        file.flush()
        context.load_cert_chain(file.name)
    return context


@lru_cache(16)
def _key(seed: int, number: int) -> ec.EllipticCurvePrivateKey:
    return ec.derive_private_key(mix(seed, 0x715, number) + 1, ec.SECP256R1())


@lru_cache(4)
def _authority(seed: int) -> x509.Certificate:
    name = _name("demo web authority")
    key = _key(seed, 1)
    return (
        _builder(name, name, key, _END, mix(seed, 0x716))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )


def _certificate(seed: int, host: str, kind: str) -> x509.Certificate:
    subject = "other.invalid" if kind == WRONG_NAME else host
    signer = _key(seed, 2 if kind == SELF_SIGNED else 1)
    issuer = _name(subject) if kind == SELF_SIGNED else _authority(seed).subject
    end = _EXPIRY if kind == EXPIRED else _END
    serial = mix(seed, 0x717, int.from_bytes(host.encode(), "big") & (1 << 64) - 1) + 1
    return (
        _builder(_name(subject), issuer, _key(seed, 2), end, serial)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(subject)]), critical=False)
        .sign(signer, hashes.SHA256())
    )


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    end: datetime.datetime,
    serial: int,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(serial)
        .not_valid_before(_BEGIN)
        .not_valid_after(end)
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text[:64])])
