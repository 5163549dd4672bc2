"""What fails in TLS is said in words, by the command and by what the service fetches."""

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from registry.outbound import AddressPolicy, Authorities, OutboundClient, OutboundError
from support.commands import Done
from support.web_server import WebServer, reply

DAY = timedelta(days=1)


def certificate(path: Path, name: str, start: timedelta, end: timedelta) -> Path:
    """Make a certificate for a name, valid from and until such times from now, in one file with its key."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "one")])
    builder = x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
    dated = builder.not_valid_before(now + start).not_valid_after(now + end)
    named = dated.add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
    signed = named.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True).sign(
        key, hashes.SHA256()
    )
    form = serialization.PrivateFormat.PKCS8
    secret = key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
    path.write_bytes(signed.public_bytes(serialization.Encoding.PEM) + secret)
    return path


def serve(web: WebServer, file: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    web.server.socket = context.wrap_socket(web.server.socket, server_side=True)


CASES = (
    ("localhost", -9 * DAY, -DAY, True, "certificate has expired, or the clock"),
    ("localhost", DAY, 9 * DAY, True, "certificate is not valid yet, or the clock"),
    ("other.example", -DAY, DAY, True, "certificate is for another name"),
    ("localhost", -DAY, DAY, False, "authority that is not trusted here: outbound.ca_file"),
)


@pytest.mark.parametrize(("name", "start", "end", "is_trusted", "words"), CASES)
def test_why_a_certificate_is_refused(
    tmp_path: Path, name: str, start: timedelta, end: timedelta, is_trusted: bool, words: str
) -> None:
    file = certificate(tmp_path / "one.pem", name, start, end)
    with WebServer({"/": reply(b"{}")}) as web:
        serve(web, file)
        url = f"https://localhost:{web.port}"
        trusting = {"SKILL_REGISTRY_OUTBOUND_CA_FILE": str(file)} if is_trusted else {}
        Done(tmp_path, "status", "--server", url, **trusting).complains(1, "cannot be reached over https", words)
        client = OutboundClient(AddressPolicy(["localhost"]), Authorities(file) if is_trusted else Authorities())
        with pytest.raises(OutboundError, match=words):
            client.get(url, limit=10, seconds=10)


def test_a_port_without_https_and_a_file_without_authorities(tmp_path: Path) -> None:
    with WebServer({"/": reply(b"{}")}) as web:
        url = f"https://localhost:{web.port}"
        Done(tmp_path, "status", "--server", url).complains(1, "does not speak https at this port: try http")
        lost = {"SSL_CERT_FILE": str(tmp_path / "none.pem")}
        Done(tmp_path, "status", "--server", url, **lost).complains(1, "none.pem", "has no certificates in PEM")
