"""What the chart makes for Prometheus and Grafana names metrics that the service has."""

import json
import re
from pathlib import Path
from typing import Any

import kubernetes_validate
import yaml
from prometheus_client import generate_latest

from registry.config.groups import SearchSettings
from registry.config.types import ServerUrl
from registry.milvus.connection import MilvusConnection
from registry.milvus.metrics import MilvusMetrics
from support.deployment import CHART, Chart, only
from support.publishing import Registry, skill_package

LEAST = CHART / "ci" / "one-replica-values.yaml"
WITH_MILVUS = CHART / "ci" / "milvus-values.yaml"
ON = "monitoring.serviceMonitor.enabled=true,monitoring.serviceMonitor.tokenSecret.name=metrics,"
ON += "monitoring.rules.enabled=true,monitoring.dashboard.enabled=true"
METRIC = re.compile(r"skill_registry_\w+")


def objects(chart: Chart, values: Path = LEAST) -> list[dict[str, Any]]:
    return chart.render("--values", values, "--set", ON)


def dashboard(chart: Chart) -> dict[str, Any]:
    [found] = (one for one in objects(chart) if one["metadata"]["name"].endswith("-dashboard"))
    kubernetes_validate.validate(found, "1.37", strict=True)
    assert found["metadata"]["labels"]["grafana_dashboard"] == "1"
    shown: dict[str, Any] = json.loads(found["data"]["skill-registry.json"])
    return shown


def test_nothing_is_made_unless_it_is_wanted(chart: Chart) -> None:
    kinds = {one["kind"] for one in chart.render("--values", LEAST)}
    assert not kinds & {"ServiceMonitor", "PrometheusRule"}
    assert "tokenSecret.name" in chart.refusal("--values", LEAST, "--set", "monitoring.serviceMonitor.enabled=true")


def test_each_replica_is_read_once_with_a_token(chart: Chart) -> None:
    made = objects(chart)
    monitor = only(made, "ServiceMonitor")
    selected = monitor["spec"]["selector"]["matchLabels"].items()
    services = [one for one in made if one["kind"] == "Service" and selected <= one["metadata"]["labels"].items()]
    assert [one["metadata"]["name"] for one in services] == ["test-skill-registry-replicas"]
    [endpoint] = monitor["spec"]["endpoints"]
    assert endpoint["port"] in {port["name"] for port in services[0]["spec"]["ports"]}
    assert endpoint["authorization"] == {"type": "Bearer", "credentials": {"name": "metrics", "key": "token"}}


def test_alerts_and_dashboard_name_metrics_of_the_service(chart: Chart, tmp_path: Path) -> None:
    made = objects(chart, WITH_MILVUS)
    rules = [rule for group in only(made, "PrometheusRule")["spec"]["groups"] for rule in group["rules"]]
    panels = dashboard(chart)["panels"]
    expressions = [rule["expr"] for rule in rules]
    expressions += [target["expr"] for panel in panels for target in panel["targets"]]
    named = {name for expression in expressions for name in METRIC.findall(expression)}
    with Registry(tmp_path) as registry:
        registry.finished(registry.publish(skill_package("measured")))
        headers = registry.caller("acme/ann", role="manager")
        assert registry.http.get("/api/v1/search", params={"q": "measured"}, headers=headers).is_success
        text = registry.http.get("/metrics", headers=headers).text
    text += generate_latest(
        MilvusMetrics(MilvusConnection(SearchSettings(milvus_uri=ServerUrl("http://milvus:19530"))), lambda: 0)
    ).decode()
    served = set(re.findall(r"^# TYPE (skill_registry_\w+)", text, re.MULTILINE))
    assert {name.removesuffix("_bucket") for name in named} <= served
    for expression in expressions:
        assert expression.count("(") == expression.count(")")
        assert expression.count("{") == expression.count("}")


def test_each_alert_of_the_documentation_is_a_rule(chart: Chart) -> None:
    page = (Path(__file__).parents[2] / "docs" / "operations.md").read_text()
    rules = yaml.safe_dump(only(objects(chart, WITH_MILVUS), "PrometheusRule"))
    told = set(re.findall(r"^\| `(skill_registry_\w+)", page, re.MULTILINE))
    other = {"skill_registry_request_seconds", "skill_registry_searches_total"}  # whose objective only operators know
    assert told - other <= set(METRIC.findall(rules))
    assert "milvus" not in yaml.safe_dump(only(objects(chart), "PrometheusRule"))
