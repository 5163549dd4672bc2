"""A real S3 service: SeaweedFS, with one account and one bucket."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from support.ports import free_ports
from support.waiting import wait_until

WEED = str(Path(sys.executable).with_name("weed"))
BUCKET = "packages"
_GRPC_ABOVE = 10_000
"""SeaweedFS takes each port and the one so much higher."""
KEYS = {"AWS_ACCESS_KEY_ID": "registry", "AWS_SECRET_ACCESS_KEY": "a-secret-of-tests"}


class SeaweedFS:
    """Serves a bucket from `folder` until the end of the `with` block."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        account = {"accessKey": KEYS["AWS_ACCESS_KEY_ID"], "secretKey": KEYS["AWS_SECRET_ACCESS_KEY"]}
        identity = {"name": "registry", "credentials": [account], "actions": ["Admin", "Read", "Write", "List"]}
        self._config = folder / "s3.json"
        self._config.write_text(json.dumps({"identities": [identity]}))

    def __enter__(self) -> Self:
        self._ports = master, volume, filer, s3 = free_ports(4, room_above=_GRPC_ABOVE)
        self.url = f"http://127.0.0.1:{s3}"
        command = [WEED, "server", f"-dir={self._folder}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-s3"]
        command += [f"-master.port={master}", f"-volume.port={volume}", f"-filer.port={filer}", f"-s3.port={s3}"]
        # Its other services listen on fixed ports, which two servers at once would fight for.
        command += ["-s3.port.iceberg=0", "-s3.port.lance=0"]
        # A bucket takes seven volumes; the log of changes needs more, and writes hang once it has none.
        command += [f"-s3.config={self._config}", "-volume.max=20", "-master.volumeSizeLimitMB=64"]
        self._log = (self._folder / "weed.log").open("wb")
        self._process = subprocess.Popen(command, stdout=self._log, stderr=self._log, cwd=self._folder)
        self.client = self._client()
        try:
            wait_until(self._is_ready, why=self._told)
        except BaseException:  # also a stop signal: the process must not stay
            self.__exit__()
            raise
        return self

    def _is_ready(self) -> bool:
        try:
            if BUCKET not in [one["Name"] for one in self.client.list_buckets()["Buckets"]]:
                self.client.create_bucket(Bucket=BUCKET)
            self.client.put_object(Bucket=BUCKET, Key="ready", Body=b"ready")
        except (BotoCoreError, ClientError):
            assert self._process.poll() is None, self._told()
            return False
        return True

    def _told(self) -> str:
        return (self._folder / "weed.log").read_text()[-2000:]

    def _client(self) -> Any:
        return boto3.client(
            "s3",
            endpoint_url=self.url,
            region_name="us-east-1",
            aws_access_key_id=KEYS["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=KEYS["AWS_SECRET_ACCESS_KEY"],
            config=Config(connect_timeout=60, read_timeout=60, retries={"total_max_attempts": 1}),
        )

    @property
    def pid(self) -> int:
        """The server's process."""
        return self._process.pid

    def flags(self) -> tuple[str, ...]:
        """Return the flags of a server that stores here."""
        return ("--s3-bucket", BUCKET, "--s3-endpoint", self.url)

    def stored(self) -> list[str]:
        """Return what is stored below `skills/`."""
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix="skills/")
        return [stored["Key"] for page in pages for stored in page.get("Contents", [])]

    def __exit__(self, *_: object) -> None:
        self.client.close()
        self._process.kill()  # told to end, it waits long for nothing
        self._process.wait()
        self._log.close()
        for port in self._ports:
            for left in Path("/tmp").glob(f"seaweedfs-*-{port + 10_000}.sock"):
                left.unlink()
