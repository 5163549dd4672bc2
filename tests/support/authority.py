"""An authority of its own, as companies have one, and servers with its certificates."""

import shutil
import ssl
import subprocess
from http.server import ThreadingHTTPServer
from pathlib import Path


class Authority:
    """Makes certificates. `certificate` is its own, in PEM."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._folder = folder
        self.certificate = folder / "authority.pem"
        self._key = folder / "authority.key"
        self._openssl("req", "-x509", "-keyout", self._key, "-out", self.certificate, "-subj", "/CN=Company authority")

    def secure(self, server: ThreadingHTTPServer, *names: str) -> None:
        """Make a server speak TLS, under these names."""
        key, certificate = self._folder / f"{names[0]}.key", self._folder / f"{names[0]}.pem"
        alternatives = ",".join(f"DNS:{name}" for name in names)
        self._openssl(
            *("req", "-x509", "-keyout", key, "-out", certificate, "-subj", f"/CN={names[0]}"),
            *("-CA", self.certificate, "-CAkey", self._key, "-addext", f"subjectAltName={alternatives}"),
            *("-addext", "basicConstraints=critical,CA:FALSE"),
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        server.socket = context.wrap_socket(server.socket, server_side=True)

    def _openssl(self, command: str, *arguments: object) -> None:
        program = shutil.which("openssl")
        assert program, "the tests need openssl"
        options = ("-newkey", "rsa:2048", "-nodes", "-days", "2")
        subprocess.run([program, command, *options, *map(str, arguments)], check=True, capture_output=True)
