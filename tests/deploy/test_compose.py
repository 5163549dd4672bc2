"""The compose files: valid by the compose specification's schema, and true to the service they start."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from registry.cli.main import COMMANDS
from registry.config.settings import Settings, load_settings
from support.deployment import DEPLOY, interpolated

FILES = sorted(DEPLOY.glob("compose*.yaml"))
GIVEN = {name: f"{name.lower()}-0123456789" for name in ("POSTGRES_PASSWORD", "AUTH_SECRET", "S3_SECRET_KEY")}
GIVEN["TRANSPARENCY_KEY"] = "5f" * 32

each_file = pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)


def registries(path: Path) -> dict[str, dict[str, Any]]:
    """Return the services that run the registry for as long as they are up."""
    services = yaml.safe_load(path.read_text())["services"]
    return {name: one for name, one in services.items() if "healthcheck" in one and one["image"] == "skill-registry"}


def settings_of(service: dict[str, Any]) -> Settings:
    environment = {name: interpolated(value, GIVEN) for name, value in service["environment"].items()}
    return load_settings({}, environment, DEPLOY / "registry.toml")


@each_file
def test_a_compose_file_is_valid(path: Path) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@each_file
def test_yaml_is_tidy(path: Path) -> None:
    rules = "{extends: relaxed, rules: {line-length: {max: 120}, key-duplicates: enable}}"
    done = subprocess.run([sys.executable, "-m", "yamllint", "--strict", "-d", rules, path], check=False)
    assert done.returncode == 0


@each_file
def test_the_service_starts_with_what_it_is_given(path: Path) -> None:
    for service in registries(path).values():
        settings = settings_of(service)
        assert settings.registry.enabled
        assert settings.auth.issuer == "closed"
        assert service["environment"]["SKILL_REGISTRY_AUTH_ISSUER"] == "closed"


@each_file
def test_it_has_longer_to_stop_than_it_drains(path: Path) -> None:
    for service in registries(path).values():
        seconds = int(service["stop_grace_period"].removesuffix("s"))
        assert seconds >= settings_of(service).limits.drain_seconds + 10


@each_file
def test_it_is_ready_when_readyz_says_so_and_has_no_more_rights_than_it_needs(path: Path) -> None:
    for service in registries(path).values():
        assert '"/readyz"' in service["healthcheck"]["test"][-1]
        assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"])
        assert service["deploy"]["resources"]["limits"] == {"cpus": "1", "memory": "1G"}


@each_file
def test_only_this_machine_reaches_a_port(path: Path) -> None:
    services = yaml.safe_load(path.read_text())["services"]
    ports = [port for service in services.values() for port in service.get("ports", [])]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


@each_file
def test_what_is_written_is_in_volumes(path: Path) -> None:
    document = yaml.safe_load(path.read_text())
    for service in registries(path).values():
        mounted = {Path(volume.partition(":")[2]) for volume in service["volumes"]}
        settings = settings_of(service)
        written = [settings.data_dir, settings.skills_dir, settings.registry_index.path, settings.blobs.dir]
        for folder in filter(None, written):
            assert {folder, *folder.parents} & mounted
        assert {volume.partition(":")[0] for volume in service["volumes"]} <= set(document["volumes"])


def test_replicas_share_what_they_must_and_nothing_else() -> None:
    one, other = registries(DEPLOY / "compose.replicas.yaml").values()
    assert one["environment"] == other["environment"]
    assert set(one["volumes"]) ^ set(other["volumes"]) == {
        "data-1:/var/lib/skill-registry",
        "data-2:/var/lib/skill-registry",
    }
    assert settings_of(one).database_path is None
    assert settings_of(one).s3.bucket == "packages"
    assert settings_of(one).server.trusted_proxies


def test_the_balancer_asks_readyz_and_says_whom_it_speaks_for() -> None:
    text = (DEPLOY / "haproxy.cfg").read_text()
    assert "uri /readyz" in text
    assert "option forwardfor" in text
    assert "del-header X-Forwarded-For" in text
    assert "set-header X-Forwarded-Proto" in text
    for name in registries(DEPLOY / "compose.replicas.yaml"):
        assert f"server {name} {name}:8080" in text


@each_file
def test_commands_that_are_told_exist(path: Path) -> None:
    told = re.findall(r"^#.* exec [\w-]+ skill-registry (admin [\w-]+)", path.read_text(), re.MULTILINE)
    assert told
    assert set(told) <= set(COMMANDS)
