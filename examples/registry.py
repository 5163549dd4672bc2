"""Runs a complete registry on this machine: an S3 service, a git repository as the index, and the registry itself.

All data is in `.registry/`. Ctrl-C stops it. Arguments are passed to `skill-registry serve`.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).parents[1]
HOME = ROOT / ".registry"

sys.path.insert(0, str(ROOT / "tests"))

from support.s3 import KEYS, SeaweedFS  # noqa: E402


def stop(number: int, frame: FrameType | None) -> None:
    """Stop as Ctrl-C does: the S3 service must not outlive the terminal that started it."""
    raise KeyboardInterrupt


def main() -> int:
    for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT):  # a shell ignores SIGINT for what it starts with &
        signal.signal(number, stop)
    remote = HOME / "index.git"
    if not remote.exists():
        subprocess.run(["git", "init", "--quiet", "--bare", "--initial-branch=main", str(remote)], check=True)
    (HOME / "skills").mkdir(exist_ok=True)
    with SeaweedFS(HOME / "s3") as bucket:
        command = [str(Path(sys.executable).with_name("skill-registry")), "serve", "--enable-registry"]
        command += [*bucket.flags(), "--registry-index-url", str(remote), "--data-dir", str(HOME / "data")]
        command += ["--skills-dir", str(HOME / "skills"), *sys.argv[1:]]
        service = subprocess.Popen(command, env={**os.environ, **KEYS})
        try:
            return service.wait()
        except KeyboardInterrupt:
            service.terminate()  # which Ctrl-C has done already, and a lost terminal has not
            return service.wait()


if __name__ == "__main__":
    sys.exit(main())
