"""The rules of the house: imports run one way, modules stay small, only settings read the environment."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"
MODULES = sorted(SOURCE.rglob("*.py"))
OURS = {"registry", "search", "embeddings"}
ALLOWED = {"embeddings": set(), "search": {"embeddings"}, "registry": {"search", "embeddings"}}
ONLY_REGISTRY = {"litestar", "uvicorn", "jwt", "boto3", "click", "sqlite_utils"}


def imported(tree: ast.AST) -> set[str]:
    """Return the top-level packages a module imports."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.partition(".")[0])
    return names


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_run_one_way(path: Path) -> None:
    package = path.relative_to(SOURCE).parts[0]
    names = imported(ast.parse(path.read_text()))
    assert names & OURS <= ALLOWED[package] | {package}
    if package != "registry":
        assert not names & ONLY_REGISTRY


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_modules_and_functions_stay_small(path: Path) -> None:
    text = path.read_text()
    assert len(text.splitlines()) <= 300
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            assert node.end_lineno - node.lineno < 50, node.name


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_only_the_command_reads_the_environment(path: Path) -> None:
    if path not in (SOURCE / "registry" / "cli.py", SOURCE / "registry" / "start.py"):
        assert "os.environ" not in path.read_text()
        assert "getenv" not in path.read_text()


def test_only_serving_takes_the_time_to_load_the_web_framework() -> None:
    loaded = (
        "import sys, registry.cli; print({'litestar', 'uvicorn', 'onnxruntime', 'openai', 'torch'} & set(sys.modules))"
    )
    answer = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "set()"
