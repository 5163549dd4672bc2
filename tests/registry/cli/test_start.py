"""The start of the command: the modules it loads, and the threads of the numeric libraries."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from registry.cli.main import COMMANDS
from support.commands import command_named
from support.publishing import Registry
from support.servers import write_skill

PROGRAM = """
import registry.__main__
import threading, faiss, numpy
many = numpy.ones((2000, 2000), numpy.float32)
many @ many
print(len(os.listdir("/proc/self/task")), end=" ", flush=True)
other = threading.Thread(target=lambda: print(faiss.omp_get_max_threads()))
other.start()
other.join()
"""

LOADED = """
import sys
from registry.__main__ import main
try:
    main(sys.argv[1:])
except SystemExit as end:
    print(*sys.modules, sep="\\n", file=sys.stderr)
    raise
"""

ENGINE = {
    *("faiss", "tantivy", "numpy", "cryptography", "jwt", "litestar", "uvicorn", "onnxruntime"),
    *("sqlite3", "sqlite_utils", "yaml", "re2", "embeddings", "search.types", "search.engine"),
    *("registry.server", "registry.http", "registry.database", "registry.auth", "registry.catalog"),
    *("registry.services.container", "registry.findings", "registry.packages.package"),
}
"""What a client must not load: the search engine, the database, the web framework, and what reads packages."""


@pytest.mark.parametrize(("given", "threads"), [({}, "1 1"), ({"OMP_NUM_THREADS": "3"}, "1 3")])
def test_numpy_and_faiss_use_one_thread_unless_told_otherwise(given: dict[str, str], threads: str) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")} | given
    command = [sys.executable, "-c", "import os" + PROGRAM]
    printed = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=60).stdout
    assert printed.strip() == threads


def test_a_small_service_loads_neither_pydantic_nor_faiss(tmp_path: Path) -> None:
    """They would take 0.2 s of the start and 8 MB, and 0.1 s and 15 MB. A part that needs FAISS loads it then."""
    program = """
import sys
from registry.config.settings import load_settings
from registry.server.app import create_app
from registry.services.container import Services
services = Services(load_settings({"data_dir": sys.argv[1], "embedding.provider": "none"}, {}))
create_app(services)
services.close()
print({"pydantic", "faiss"} & set(sys.modules))
"""
    command = [sys.executable, "-c", program, str(tmp_path)]
    printed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=300).stdout
    assert printed.strip() == "set()"


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    folder = tmp_path_factory.mktemp("registry")
    write_skill(folder, "light-weight", "Is published by a client that loads little.")
    with Registry(folder) as running:
        yield running


def modules_of(folder: Path, *args: str, **env: str) -> set[str]:
    """Run the command, which must succeed, and return the modules it has loaded."""
    command = [sys.executable, "-c", LOADED, *args]
    environment = os.environ | {"XDG_CONFIG_HOME": str(folder / "config")} | env
    done = subprocess.run(
        command, cwd=folder, env=environment, input="\n", capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.splitlines())


@pytest.mark.parametrize("args", [("--version",), ("--help",)])
def test_the_command_itself_loads_no_command(tmp_path: Path, args: tuple[str, ...]) -> None:
    loaded = modules_of(tmp_path, *args)
    assert not loaded & (ENGINE | {"httpx", "rich", "registry.config.settings"})


@pytest.mark.parametrize(
    "args",
    [
        *[
            ("publish", "light-weight"),
            ("search", "light"),
            ("list",),
            ("show", "acme/light-weight"),
            ("status",),
            ("sources", "list"),
            ("reindex",),
        ],
        *[("generate-mdc",), ("login", "--api-key")],
    ],
    ids=lambda args: str(args[0]),
)
def test_commands_that_talk_to_a_server_do_not_load_the_engine(registry: Registry, args: tuple[str, ...]) -> None:
    folder = registry.data_dir.parent
    role = "manager" if args[0] == "publish" else "admin"
    token = registry.caller(role=role)["Authorization"].removeprefix("Bearer ")
    loaded = modules_of(folder, *args, "--server", registry.url, SKILL_REGISTRY_CLIENT_API_KEY=token)
    assert not loaded & ENGINE


def test_every_command_has_the_summary_of_its_help() -> None:
    for name, entry in COMMANDS.items():
        command = command_named(name)
        sentence = re.match(r"(.*?\.)(?=\s|\Z)", " ".join(str(command.help).split()))
        assert (command.name, sentence and sentence[1]) == (name.split()[-1], entry.help)
