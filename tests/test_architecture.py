"""The architecture: imports run one way, packages and modules stay small, only the command reads the environment."""

import ast
import re
import subprocess
import sys
from collections import Counter
from contextlib import closing
from functools import cache
from pathlib import Path

import pytest

from registry.cli.main import COMMANDS
from registry.database.sqlite import SqliteDatabase

SOURCE = Path(__file__).parents[1] / "src"
_SQL = re.compile(r"\s*(?:select|insert|update|delete|from|join|left join|where|and|with)\b")
MODULES = sorted(SOURCE.rglob("*.py"))

DISTRIBUTION = {"embeddings": set(), "search": {"embeddings"}, "registry": {"search", "embeddings"}}
"""The top-level packages, and those that each may import."""

ONLY_SCREEN = {"registry/cli/console.py", "registry/cli/search/results.py"}
"""The modules of the command that may import rich: every text that reaches a terminal passes through `printable`."""

ONLY_REGISTRY = {"litestar", "uvicorn", "jwt", "boto3", "click", "sqlite_utils"}

LAYERS = (
    {"__init__", "errors", "db", "conformance"},
    {"domain"},
    {"parsing", "config"},
    {"runtime", "outbound"},
    {"database", "milvus", "skill_folder", "auth", "transparency", "blobs", "events"},
    {"findings"},
    {"packages"},
    {"inspection"},
    {"catalog"},
    {"sources", "project", "indexing", "publish"},
    {"install", "mirrors"},
    {"ops", "evaluation"},
    {"services"},
    {"http"},
    {"protocols"},
    {"server"},
    {"cli"},
    {"__main__"},
)
"""The packages and loose modules of `registry`, lowest layer first. Each imports only what is in lower layers."""

SEARCH_LAYERS = (
    {
        "types",
        "modes",
        "corrections",
        "explanation",
        "technical_names",
        "stop_words",
        "lru_cache",
        "in_flight",
        "integrity",
        "reports",
        "backoff",
        "steps",
    },
    {"thread_health", "snippet", "scripts"},
    {"text", "identifiers"},
    {"copies"},
    {"names", "prompt"},
    {"lexical"},
    {"fusion"},
    {"two_requests"},
    {"places"},
    {"examples"},
    {"vectors"},
    {"explainer", "snippets", "totals"},
    {"index_sync", "indexer", "inspection", "requests"},
    {"pages"},
    {"relevance"},
    {"service", "index_takeover"},
    {"engine"},
)

TABLES = {
    "advertised": "catalog",
    "api_keys": "auth",
    "audit": "auth",
    "bodies": "catalog",
    "counts": "db",
    "deliveries": "events",
    "dependencies": "catalog",
    "documents": "catalog",
    "ended_tokens": "auth",
    "examples": "catalog",
    "facts": "db",
    "index_files": "publish",
    "installs": "catalog",
    "jobs": "runtime",
    "log_entries": "transparency",
    "log_nodes": "transparency",
    "private_scopes": "auth",
    "publish_jobs": "publish",
    "published": "publish",
    "rate_windows": "auth",
    "revoked_tokens": "auth",
    "scan_problems": "catalog",
    "scope_members": "auth",
    "sightings": "install",
    "skills": "catalog",
    "source_states": "sources",
    "sources": "sources",
    "spooled_packages": "publish",
    "trusted_publishers": "auth",
    "trusted_scopes": "auth",
    "used_assertions": "auth",
    "user_tokens": "auth",
    "users": "auth",
    "uses": "catalog",
    "vectors": "catalog",
    "versions": "catalog",
}
"""The package that has the SQL of each table. `database` knows the schema, and `ops` compares the tables."""

MAX_LINES = 400
"""Of a module: it holds one idea that a person reads in one go."""

MAX_LOOSE_MODULES = 5
MAX_MODULES = 35
"""`http` is the largest package; its routes are a package of their own within it."""


def imports(path: Path) -> set[str]:
    """Return the dotted names a module imports, each with the name that is taken from it where there is one."""
    names = set()
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def parts_of(name: str, package: str) -> str | None:
    """Return which direct child of `package` a dotted name is in, None where it is not in the package."""
    first, *rest = name.split(".")
    if first != package:
        return None
    folder = SOURCE / package
    is_child = rest and ((folder / rest[0]).is_dir() or (folder / f"{rest[0]}.py").exists())
    return rest[0] if is_child else "__init__"


def where(path: Path) -> str:
    """Return the name of a module for a message."""
    return str(path.relative_to(SOURCE))


def child_of(path: Path, package: str) -> str:
    """Return the direct child of `package` that a file belongs to."""
    return path.relative_to(SOURCE / package).parts[0].removesuffix(".py")


def test_top_level_packages_import_one_way() -> None:
    offenders = []
    for path in MODULES:
        package = path.relative_to(SOURCE).parts[0]
        names = {name.partition(".")[0] for name in imports(path)}
        refused = (DISTRIBUTION.keys() - DISTRIBUTION[package] - {package}) | (
            ONLY_REGISTRY if package != "registry" else set()
        )
        offenders += [f"{where(path)} imports {name}" for name in sorted(names & refused)]
    assert not offenders


@pytest.mark.parametrize(("package", "layers"), [("registry", LAYERS), ("search", SEARCH_LAYERS)])
def test_a_package_imports_only_lower_layers(package: str, layers: tuple[set[str], ...]) -> None:
    layer = {name: number for number, names in enumerate(layers) for name in names}
    upward = []
    for path in (SOURCE / package).rglob("*.py"):
        own = child_of(path, package)
        if own == "__init__" and package != "registry":
            continue
        for name in imports(path):
            other = parts_of(name, package)
            if other is not None and other != own and layer[other] >= layer[own]:
                upward.append(f"{path.relative_to(SOURCE)} imports {name}")
    assert not upward


def test_the_sql_of_a_table_is_in_one_package() -> None:
    offenders = []
    for path in sorted((SOURCE / "registry").rglob("*.py")):
        owner = child_of(path, "registry")
        if owner not in {"database", "ops"}:
            offenders += [f"{where(path)}: {table}" for table in tables_in(path) if TABLES[table] != owner]
    assert not offenders


def tables_in(path: Path) -> set[str]:
    """Return the tables that the SQL in a module's strings names."""
    texts = [
        node.value for node in ast.walk(_tree(path)) if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    sql = re.compile(rf"\b(?:from|join|into|update)\s+({'|'.join(TABLES)})\b")
    return {name for text in texts if _SQL.match(text) for name in sql.findall(text)}


def test_every_table_has_an_owner(tmp_path: Path) -> None:
    with closing(SqliteDatabase(tmp_path / "skill-registry.db")) as database:
        names = {row[0] for row in database.read("select name from sqlite_master where type = 'table'")}
    assert TABLES.keys() == {name for name in names if not name.startswith("sqlite_")} - {"counter"}


def test_packages_stay_small() -> None:
    loose = [path for path in MODULES if path.parent == SOURCE / "registry"]
    assert len(loose) <= MAX_LOOSE_MODULES
    sizes = Counter(path.parent for path in MODULES)
    assert max(sizes.values()) <= MAX_MODULES
    for path in MODULES:
        if path.name == "__init__.py":
            assert ast.get_docstring(_tree(path)), f"{path.parent} says nothing of its purpose"


def test_modules_and_functions_stay_small() -> None:
    offenders = [where(path) for path in MODULES if len(path.read_text().splitlines()) > MAX_LINES]
    offenders += [
        f"{where(path)}: {function.name}" for path in MODULES for function in functions(path) if lines_of(function) > 50
    ]
    assert not offenders


def test_the_median_function_has_at_most_six_lines() -> None:
    lengths = sorted(lines_of(function) for path in MODULES for function in functions(path))
    assert lengths[len(lengths) // 2] <= 6


def functions(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [node for node in ast.walk(_tree(path)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def lines_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    assert function.end_lineno is not None
    return function.end_lineno - function.lineno + 1


def test_only_the_command_reads_the_environment() -> None:
    command = {SOURCE / "registry/cli/main.py", SOURCE / "registry/__main__.py"}
    only_writes = {SOURCE / "embeddings/telemetry.py"}
    texts = {where(path): path.read_text() for path in MODULES if path not in command | only_writes}
    assert not [name for name, text in texts.items() if "os.environ" in text or "getenv" in text]


def test_libraries_that_report_are_imported_behind_the_switch() -> None:
    library = re.compile(r"^ *(?:import|from) (?:onnxruntime|sentence_transformers|huggingface_hub)\b", re.M)
    programs = [*MODULES, *(SOURCE.parent / "benchmarks").glob("*.py"), SOURCE.parent / "hatch_build.py"]
    texts = {path.name: path.read_text() for path in programs}
    found = {name: (text, match.start()) for name, text in texts.items() if (match := library.search(text))}
    assert set(found) == {"encoder.py", "sentences.py"}
    assert all("telemetry.switch_off()\n" in text[:start] for text, start in found.values())


def test_only_the_console_writes_to_a_terminal() -> None:
    users = {where(path) for path in MODULES if any(name.split(".")[0] == "rich" for name in imports(path))}
    assert users <= ONLY_SCREEN


def test_loggers_are_named_after_their_package() -> None:
    offenders = []
    for path in MODULES:
        allowed = {".".join(path.relative_to(SOURCE).parts[:count]).removesuffix(".py") for count in (1, 2)}
        offenders += [f"{where(path)}: {name}" for name in logger_names(path) if name not in allowed | {"uvicorn"}]
    assert not offenders


def logger_names(path: Path) -> list[str]:
    """Return the constant names of the loggers that a module gets."""
    calls = [
        node
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "getLogger"
    ]
    return [str(call.args[0].value) for call in calls if call.args and isinstance(call.args[0], ast.Constant)]


def test_only_serving_takes_the_time_to_load_the_web_framework() -> None:
    loaded = (
        "import functools, sys; from registry.cli.main import COMMANDS, main;"
        " step = lambda group, word: group.get_command(None, word);"
        " command = lambda name: functools.reduce(step, name.split(), main);"
        " print(*(command(name).name for name in COMMANDS));"
        " print({'litestar', 'uvicorn', 'onnxruntime', 'torch'} & set(sys.modules))"
    )
    answer = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
    names, modules = answer.stdout.splitlines()
    assert names.split() == [name.split()[-1] for name in COMMANDS]
    assert modules == "set()"
