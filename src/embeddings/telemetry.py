"""Switches off what libraries report to their makers. Nothing phones home.

onnxruntime 1.32 and newer report their use unless a variable says otherwise when the library is loaded: they look up a
host, and write a device id and queued events below `~/.cache`. Its `disable_telemetry_events` comes too late. The
libraries of sentence-transformers tell the hub their version and use. Variables are the only switch that all of them
have, so this is the one module besides the command that touches the environment, and it only writes.
"""

import os

_SWITCHES = {
    "ORT_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
}


def switch_off() -> None:
    """Switch it off for this process and those that it starts. Call this before such a library is imported."""
    os.environ.update(_SWITCHES)
