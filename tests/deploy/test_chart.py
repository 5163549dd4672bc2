"""The Helm chart, rendered by helm: valid for Kubernetes, and true to the service it starts."""

import base64
import json
import re
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from registry import __version__
from registry.auth.secret import check_secret
from registry.cli.main import COMMANDS
from registry.config.settings import Settings, load_settings
from registry.transparency.checkpoint import Signer
from support.deployment import CHART, DEPLOY, Chart, instructions, only

VALUES = sorted((CHART / "ci").glob("*-values.yaml"))
LEAST = CHART / "ci" / "one-replica-values.yaml"
REPLICAS = CHART / "ci" / "replicas-values.yaml"
TWO = "registry.replicaCount=2,database.external=true,existingSecret=a"
SECRETS = {
    "SKILL_REGISTRY_DATABASE_URL": "postgresql://registry@db.example/registry",
    "SKILL_REGISTRY_REGISTRY_INDEX_URL": "https://git.example.org/index.git",
}

each_values = pytest.mark.parametrize("values", VALUES, ids=lambda path: path.stem)


def decoded(text: str) -> str:
    return base64.b64decode(text).decode()


def service_of(objects: list[dict[str, Any]]) -> dict[str, Any]:
    containers: list[dict[str, Any]] = only(objects, "StatefulSet")["spec"]["template"]["spec"]["containers"]
    [container] = containers
    return container


def settings_of(objects: list[dict[str, Any]], folder: Path) -> Settings:
    """Return the settings the service would start with, its secrets stood in for."""
    file = folder / "registry.toml"
    file.write_text(only(objects, "ConfigMap")["data"]["registry.toml"])
    names = [one["name"] for one in service_of(objects)["env"] if one["name"].startswith("SKILL_REGISTRY_")]
    return load_settings({}, {name: SECRETS.get(name, "5f0c6e1b9d3a4728" * 4) for name in names}, file)


@each_values
@pytest.mark.parametrize("version", ["1.25", "1.37"])
def test_objects_are_valid_for_old_and_new_clusters(chart: Chart, values: Path, version: str) -> None:
    objects = chart.render("--values", values)
    assert {"StatefulSet", "Service", "ConfigMap"} <= {one["kind"] for one in objects}
    for one in objects:
        kubernetes_validate.validate(one, version, strict=True)


@each_values
def test_the_chart_passes_helms_linter(chart: Chart, values: Path) -> None:
    done = chart.run("lint", "--strict", CHART, "--values", values)
    assert done.returncode == 0, done.stdout


@each_values
def test_the_service_starts_with_what_it_is_given(chart: Chart, values: Path, tmp_path: Path) -> None:
    settings = settings_of(chart.render("--values", values), tmp_path)
    assert (settings.profile, settings.auth.issuer) == ("registry", "closed")
    assert settings.registry.enabled == (values.stem != "standby-values")


def test_any_setting_can_be_given(chart: Chart, tmp_path: Path) -> None:
    settings = settings_of(chart.render("--values", REPLICAS), tmp_path)
    assert (settings.limits.reads_per_minute, settings.log.level) == (6000, "warning")
    assert settings.outbound.allowed_hosts == ("10.1.0.0/16",)
    assert settings.server.trusted_proxies == ("10.244.0.0/16",)
    assert [source.name for source in settings.sources] == ["team"]


def test_the_specifications_parameters_have_its_defaults() -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    assert values["s3"] == {"bucket": "", "region": "us-east-1", "endpoint": "", "blobBaseUrl": ""}
    assert values["registryIndex"] == {"url": "", "branch": "main"}
    assert values["registry"] == {"enabled": True, "replicaCount": 1}
    assert values["resources"] == {
        "limits": {"cpu": "1", "memory": "1Gi"},
        "requests": {"cpu": "500m", "memory": "512Mi"},
    }
    assert [values["persistence"][name]["size"] for name in ("skills", "registryIndex")] == ["10Gi", "5Gi"]


def test_probes_and_ports_are_those_of_the_service(chart: Chart, tmp_path: Path) -> None:
    objects = chart.render("--values", LEAST)
    container, settings = service_of(objects), settings_of(objects, tmp_path)
    assert container["ports"] == [{"name": "http", "containerPort": settings.server.port}]
    paths = {name: container[f"{name}Probe"]["httpGet"]["path"] for name in ("startup", "liveness", "readiness")}
    assert paths == {"startup": "/healthz", "liveness": "/healthz", "readiness": "/readyz"}
    assert settings.server.host == "0.0.0.0"


@each_values
def test_a_pod_has_longer_to_stop_than_it_drains(chart: Chart, values: Path, tmp_path: Path) -> None:
    objects = chart.render("--values", values)
    pod = only(objects, "StatefulSet")["spec"]["template"]["spec"]
    before = int(service_of(objects)["lifecycle"]["preStop"]["exec"]["command"][1])
    drain = settings_of(objects, tmp_path).limits.drain_seconds
    assert pod["terminationGracePeriodSeconds"] >= before + drain + 10


@each_values
def test_what_is_written_is_in_volumes_and_nothing_else_can_be(chart: Chart, values: Path, tmp_path: Path) -> None:
    objects = chart.render("--values", values)
    settings, container = settings_of(objects, tmp_path), service_of(objects)
    mounted = {Path(one["mountPath"]) for one in container["volumeMounts"]}
    assert {settings.data_dir, settings.skills_dir, Path("/tmp")} <= mounted
    assert settings.registry_index.path in mounted or not settings.registry.enabled
    assert settings.project.file.is_relative_to(settings.data_dir)
    assert settings.blobs.dir is None or settings.blobs.dir.is_relative_to(settings.data_dir)
    assert container["securityContext"]["readOnlyRootFilesystem"] is True


def test_pod_and_image_agree(chart: Chart) -> None:
    objects = chart.render("--values", LEAST)
    security = only(objects, "StatefulSet")["spec"]["template"]["spec"]["securityContext"]
    steps = dict(instructions((DEPLOY / "Dockerfile").read_text()))
    assert f"{security['runAsUser']}:{security['runAsGroup']}" == steps["USER"]
    assert service_of(objects)["image"] == f"skill-registry:{__version__}"
    models = re.search(r'models_dir = "(.*)"', (DEPLOY / "registry.toml").read_text())
    assert models is not None
    assert models[1] in only(objects, "ConfigMap")["data"]["registry.toml"]


def test_an_init_step_clones_the_index(chart: Chart) -> None:
    objects = chart.render("--values", LEAST)
    [step] = only(objects, "StatefulSet")["spec"]["template"]["spec"]["initContainers"]
    program, *command = step["command"]
    assert (program, " ".join(command) in COMMANDS) == ("skill-registry", True)
    same = ("image", "env", "volumeMounts", "securityContext")
    assert all(step[name] == service_of(objects)[name] for name in same)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ("s3.bucket=", "Registry is enabled but blob storage is not configured"),
        ("registryIndex.url=", "Registry is enabled but the registry index is not configured"),
        ("registry.replicaCount=2", "needs PostgreSQL"),
        (TWO, "skills that all replicas see"),
        (f"{TWO},s3.bucket=,blobs.dir=/var/lib/skill-registry/p", "needs s3.bucket"),
        ("database.external=true", "needs the URL of the database"),
        ("secrets.databaseUrl=postgresql://db/registry", "set database.external"),
        ("secrets.milvusToken=a:b", "set milvus.uri"),
        ("milvus.uri=milvus:19530", "milvus"),
        ("ingress.enabled=true", "needs ingress.host"),
        ("s3.buckt=packages", "'buckt' not allowed"),
        ("auth.issuer=maybe", "issuer"),
        ("secrets.authSecret=short", "authSecret"),
    ],
)
def test_what_cannot_work_is_refused_with_the_reason(chart: Chart, changes: str, told: str) -> None:
    assert told in chart.refusal("--values", LEAST, "--set", changes)


def test_secrets_are_made_once_and_good_enough(chart: Chart, tmp_path: Path) -> None:
    made = [only(chart.render("--values", LEAST, "--show-only", "templates/secret.yaml"), "Secret") for _ in "ab"]
    first, second = ({name: decoded(text) for name, text in one["data"].items()} for one in made)
    assert set(first) == {"auth-secret", "transparency-key"}
    assert not set(first.values()) & set(second.values())
    check_secret(first["auth-secret"], "auth.secret")
    Signer(tmp_path, "a", first["transparency-key"])
    assert made[0]["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"


def test_vectors_are_in_milvus_if_it_is_named(chart: Chart, tmp_path: Path) -> None:
    search = settings_of(chart.render("--values", LEAST), tmp_path).search
    assert (search.vectors, search.milvus_uri, search.milvus_token) == ("memory", None, None)
    search = settings_of(chart.render("--values", CHART / "ci" / "milvus-values.yaml"), tmp_path).search
    assert (search.vectors, search.milvus_database, search.milvus_seconds) == ("milvus", "skills", 3)
    assert search.milvus_uri is not None
    assert search.milvus_uri.reveal() == "http://milvus.milvus:19530"
    assert search.milvus_token is not None  # of the secret


@pytest.mark.parametrize("name", ["folder", "milvus"])
def test_secrets_are_nowhere_but_in_the_secret(chart: Chart, name: str) -> None:
    values = CHART / "ci" / f"{name}-values.yaml"
    given = yaml.safe_load(values.read_text())["secrets"]
    objects = chart.render("--values", values)
    kept = [decoded(text) for text in only(objects, "Secret")["data"].values()]
    others = json.dumps([one for one in objects if one["kind"] != "Secret"])
    for text in given.values():
        assert text in kept
        assert text not in others


def test_with_a_secret_of_ones_own_none_is_made(chart: Chart) -> None:
    objects = chart.render("--values", REPLICAS)
    assert "Secret" not in {one["kind"] for one in objects}
    references = [one["valueFrom"]["secretKeyRef"] for one in service_of(objects)["env"] if "valueFrom" in one]
    assert {one["name"] for one in references} == {"registry-secrets"}
    told = (CHART / "README.md").read_text()
    assert all(f"| `{one['key']}` |" in told for one in references)


def test_only_several_replicas_are_kept_from_going_together(chart: Chart) -> None:
    assert only(chart.render("--values", REPLICAS), "PodDisruptionBudget")["spec"]["maxUnavailable"] == 1
    assert "PodDisruptionBudget" not in {one["kind"] for one in chart.render("--values", LEAST)}


def test_the_versions_are_those_of_the_service() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert (chart["version"], chart["appVersion"]) == (__version__, __version__)


def test_the_notes_name_commands_that_exist(chart: Chart) -> None:
    done = chart.run("install", "test", CHART, "--dry-run=client", "--values", LEAST)
    assert done.returncode == 0, done.stderr
    notes = done.stdout.partition("NOTES:")[2]
    assert set(re.findall(r"skill-registry (admin \w+) ", notes.replace("\\\n", ""))) & set(COMMANDS) == {"admin keys"}
    assert "port-forward service/test-skill-registry 8080:80" in notes
