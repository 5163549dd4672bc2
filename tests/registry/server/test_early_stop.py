"""A stop signal soon after the port opens, before the service answers or just after."""

import signal
import time
from pathlib import Path

import pytest

from support.processes import start
from support.servers import RunningServer, write_skill
from support.waiting import PATIENCE_SECONDS, wait_until


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("args", [(), ("--profile", "registry"), ("--workers", "2")], ids=["local", "registry", "two"])
def test_a_stop_in_the_first_second_exits_with_0(tmp_path: Path, args: tuple[str, ...], number: int) -> None:
    server = RunningServer(tmp_path, *args)
    for name in range(20):
        write_skill(server.skills_dir, f"skill-{name}", "Fills in forms.")
    for seconds in (0, 0, 0.02, 0.05, 0.1, 0.2, 0.5):
        assert stopped_after(server, seconds, number) == 0, server.log.read_text()


def stopped_after(server: RunningServer, seconds: float, number: int) -> int:
    """Start a server, send a signal some time after its port opened, and return the exit code."""
    lock = server.data_dir / "skill-registry.lock"
    lock.unlink(missing_ok=True)
    with server.log.open("ab") as log:
        process = start(server.command(), server.environment(), stderr=log.fileno())
    try:
        wait_until(lambda: lock.exists() and '"http' in lock.read_text())
        time.sleep(seconds)
        process.send_signal(number)
        return process.wait(PATIENCE_SECONDS)
    finally:
        process.kill()
