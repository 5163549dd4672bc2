"""Serves the git repositories of a folder over HTTP on a free port of this machine, and prints its host and port."""

import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.git_server import GitServer

signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})  # in every thread: sigwait takes them
with GitServer(Path(sys.argv[1])) as server:
    print(server.host, flush=True)
    signal.sigwait({signal.SIGINT, signal.SIGTERM})
