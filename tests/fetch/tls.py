"""Certificates made for the test, and a small HTTP/2 server."""

from __future__ import annotations

import asyncio
import datetime
import functools
import ipaddress
import ssl
import tempfile
from pathlib import Path

import h2.config
import h2.connection
import h2.events
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from .servers import Conversation

_FOLDER = tempfile.TemporaryDirectory(prefix="crawlerproj-tls-")


@functools.cache
def certificate(name: str, days: int = 2) -> Path:
    """A PEM file with key and self-signed certificate for a name or address; negative days = expired."""
    key = ec.generate_private_key(ec.SECP256R1())
    now = datetime.datetime.now(datetime.UTC)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    try:
        alternative: x509.GeneralName = x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        alternative = x509.DNSName(name)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=30))
        .not_valid_after(now + datetime.timedelta(days=days))
        .add_extension(x509.SubjectAlternativeName([alternative]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = Path(_FOLDER.name) / f"{name.replace(':', '_')}{days}.pem"
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + made.public_bytes(serialization.Encoding.PEM)
    )
    return path


def server_context(pem: Path, *protocols: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    if protocols:
        context.set_alpn_protocols(list(protocols))
    return context


def http2(body: bytes, *fields: tuple[str, str], connections: list[int] | None = None) -> Conversation:
    """Answer every stream of an HTTP/2 connection with the same page."""

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if connections is not None:
            connections.append(1)
        session = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
        session.initiate_connection()
        writer.write(session.data_to_send())
        while data := await reader.read(65_536):
            for event in session.receive_data(data):
                if isinstance(event, h2.events.RequestReceived) and event.stream_id is not None:
                    session.send_headers(event.stream_id, [(":status", "200"), *fields])
                    session.send_data(event.stream_id, body, end_stream=True)
            writer.write(session.data_to_send())
            await writer.drain()

    return converse
