"""The service on systems that lack what only Linux has. These tests run on Linux, so they take it away."""

import socket
import subprocess
import sys
from pathlib import Path

from registry.inspection.messages import LENGTH, Ready, decode_answer
from support.servers import RunningServer, write_skill

WITHOUT_LINUX = Path(__file__).parents[2] / "support" / "without_linux"

CHILD = """
import resource
import sys

from registry.inspection.child import main

def refuse_address_space(what, limits, set_limit=resource.setrlimit):
    if what == resource.RLIMIT_AS:
        raise ValueError("current limit exceeds maximum limit")  # what macOS says
    set_limit(what, limits)

resource.setrlimit = refuse_address_space
sys.platform = "darwin"
main(int(sys.argv[1]), 10.0, 512 << 20)
"""


def test_the_service_starts_finds_and_creates(tmp_path: Path) -> None:
    write_skill(tmp_path / "skills", "pdf-forms", "Fills in the forms of PDF files.")
    with RunningServer(tmp_path, env={"PYTHONPATH": str(WITHOUT_LINUX)}) as server:
        server.wait_for(lambda: server.found("forms") == ["pdf-forms"])
        new = {
            "id": "sql-review",
            "name": "SQL review",
            "version": "1.0.0",
            "description": "Reviews the queries of a database.",
        }
        assert server.api("POST", "/skills", json=new).status_code == 201
        assert server.found("database queries")[0] == "sql-review"
        findings = server.api("GET", "/skills/sql-review").json()["data"]["findings"]
    assert findings["risk"] == "none"


def test_the_process_that_scans_starts_where_its_memory_cannot_be_limited() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        command = [sys.executable, "-c", CHILD, str(theirs.fileno())]
        with subprocess.Popen(command, stdin=subprocess.PIPE, pass_fds=[theirs.fileno()]) as child:
            ours.settimeout(60)
            (size,) = LENGTH.unpack(ours.recv(LENGTH.size, socket.MSG_WAITALL))
            assert decode_answer(ours.recv(size, socket.MSG_WAITALL)) == Ready()
            ours.shutdown(socket.SHUT_RDWR)
            assert child.wait(60) == 0
