"""What the example script prints, with what differs from run to run taken out: a part of the README."""

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "examples" / "registry-tour.sh"

_VARYING = (
    (r"eyJ[\w.-]+", "eyJhbGciOiJIUzI1NiIs…"),
    (r"\d{4}-\d\d-\d\dT[\d:.]+Z", "2026-11-21T12:00:00.000Z"),
    (r'"took_ms":[\d.]+', '"took_ms":0.4'),
)


def tour() -> str:
    """Run the script and return what it printed."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI", "SKILL_"))}
    path = f"{Path(sys.executable).parent}{os.pathsep}{plain['PATH']}"
    done = subprocess.run(
        ["sh", str(SCRIPT)],
        env={**plain, "PATH": path, "PORT": str(port)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"the tour ended with {done.returncode}: {done.stderr}")
    text = done.stdout
    for pattern, same in _VARYING:
        text = re.sub(pattern, same, text)
    return text.strip()
