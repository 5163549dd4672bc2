"""nginx before a service, as it is set up to serve several programs on one host."""

import subprocess
from pathlib import Path
from types import TracebackType
from typing import Self

from support.ports import free_port
from support.waiting import wait_until

_CONFIGURATION = """
daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 256; }}
http {{
  access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  server {{
    listen 127.0.0.1:{port};
    location /hub/ {{
      proxy_pass {upstream};
      {headers}
    }}
    location / {{ return 404; }}
  }}
}}
"""


class Nginx:
    """Serves a service below `/hub/`. `url` is the public URL of the service.

    Args:
        folder: Of its own, for what nginx writes.
        port: The one to listen on, so that a service can be told the URL before.
    """

    def __init__(self, folder: Path, port: int | None = None) -> None:
        folder.mkdir(parents=True)
        self._folder = folder
        self._port = port or free_port()
        self.host = f"http://127.0.0.1:{self._port}"
        self.url = f"{self.host}/hub"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, service: str, *, strips: bool, **headers: str) -> Self:
        """Start it before a service. `strips` removes `/hub` from requests; `headers` are those that it sets."""
        fields = " ".join(f'proxy_set_header {name.replace("_", "-")} "{value}";' for name, value in headers.items())
        upstream = f"{service}/" if strips else service
        path = self._folder / "nginx.conf"
        path.write_text(_CONFIGURATION.format(folder=self._folder, port=self._port, upstream=upstream, headers=fields))
        self._process = subprocess.Popen(["nginx", "-c", str(path), "-e", str(self._folder / "error.log")])
        wait_until((self._folder / "pid").exists)
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
