"""Traces of requests: what they say, what they never say, and that nobody waits for them."""

import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from registry.config.groups import OutboundSettings, TelemetrySettings
from registry.config.types import ServerUrl
from registry.runtime.traces import Tracing
from search.steps import in_step
from support.ports import free_port
from support.servers import RunningServer, new_skill, write_skill
from support.slow_answers import silence
from support.trace_receiver import TraceReceiver
from support.waiting import wait_until

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
CANARY = "zzcanary"


@pytest.fixture
def receiver() -> Iterator[TraceReceiver]:
    with TraceReceiver() as running:
        yield running


def traceparent(trace: str = TRACE, flags: str = "01") -> dict[str, str]:
    return {"traceparent": f"00-{trace}-{PARENT}-{flags}"}


def test_a_trace_has_the_steps_of_a_request_below_the_span_of_its_caller(
    receiver: TraceReceiver, tmp_path: Path
) -> None:
    write_skill(tmp_path / "skills", "kettle", "Boils water for tea.")
    arguments = ("--embedding-provider", "local", "--telemetry-endpoint", f"{receiver.url}/")
    with RunningServer(tmp_path, *arguments) as server:
        wait_until(lambda: server.api("GET", "/status").json()["data"]["pending"] == 0)
        found = server.api("POST", "/search", json={"query": "hot drink", "mode": "hybrid"}, headers=traceparent())
        assert found.json()["data"]["mode"] == "hybrid"
        spans = receiver.of_trace(TRACE, 4)
    (request,) = [span for span in spans if span.parent == PARENT]
    assert request.name == "POST /api/v1/search"
    assert request.attributes == {
        "http.request.method": "POST",
        "http.route": "/api/v1/search",
        "http.response.status_code": 200,
        "skill_registry.request_id": found.headers["x-request-id"],
    }
    steps = Counter(span.name for span in spans if span is not request)
    assert {"query embedding", "keyword search", "vector search", "database read"} <= steps.keys()
    assert {span.parent for span in spans} <= {PARENT, *(span.id for span in spans)}
    assert set(receiver.paths) == {"/v1/traces"}


def test_spans_hold_nothing_of_what_a_caller_sends(receiver: TraceReceiver, tmp_path: Path) -> None:
    environment = {"SKILL_REGISTRY_TELEMETRY_HEADERS": "x-key=with%20space,X-Team=tools"}
    arguments = ("--telemetry-endpoint", receiver.url, "--outbound-allowed-host", "127.0.0.1")
    with RunningServer(tmp_path, *arguments, env=environment) as server:
        headers = {
            **traceparent(),
            "tracestate": "ours=1",
            "baggage": f"user={CANARY}",
            "Authorization": f"Bearer {CANARY}",
            "X-Api-Key": CANARY,
            "Cookie": f"session={CANARY}",
            "User-Agent": CANARY,
        }
        server.api("GET", "/search", params={"q": CANARY}, headers=headers)
        server.api("POST", "/search", json={"query": CANARY}, headers=headers)
        server.api("GET", f"/skills/{CANARY}", headers=headers)
        server.http.get(f"/{CANARY}", headers=headers)
        origin = {"type": "zip", "url": f"http://127.0.0.1:{free_port()}/{CANARY}.zip?token={CANARY}"}
        refused = server.api("POST", "/skills", json={"origin": origin}, headers=headers)
        assert refused.status_code >= 400
        server.http.request(CANARY.upper(), "/api/v1/skills", headers=headers)
        created = new_skill("boiler", description=f"{CANARY} boils water.")
        assert server.api("POST", "/skills", json=created, headers=headers).status_code == 201
        names = Counter(span.name for span in receiver.of_trace(TRACE, 12))
    assert names["outbound request"] >= 1, refused.text
    assert names["database write"] >= 1
    assert names["GET /api/v1/skills/{id:str}"] + names["GET /api/v1/skills/{id}"] == 1
    sent = b"".join(receiver.bodies).lower()
    assert CANARY.encode() not in sent
    assert b"127.0.0.1" not in sent
    assert {span.events for span in receiver.spans} == {0}
    assert {(each["x-key"], each["x-team"]) for each in receiver.headers} == {("with space", "tools")}


def test_a_caller_and_the_share_decide_what_is_traced(receiver: TraceReceiver, tmp_path: Path) -> None:
    traced, untraced = "a" * 32, "b" * 32
    with RunningServer(tmp_path, "--telemetry-endpoint", receiver.url, "--telemetry-sample-ratio", "0") as server:
        server.api("GET", "/skills")
        server.api("GET", "/skills", headers=traceparent(untraced, "00"))
        server.api("GET", "/skills", headers={"traceparent": "00-nonsense"})
        server.api("GET", "/skills", headers=traceparent(traced))
        server.http.get("/healthz", headers=traceparent("c" * 32))
        receiver.of_trace(traced, 2)
    assert {span.trace for span in receiver.spans} == {traced}


def test_a_request_of_many_steps_does_not_displace_other_spans(receiver: TraceReceiver) -> None:
    settings = TelemetrySettings(endpoint=ServerUrl(receiver.url))
    tracing = Tracing(settings, OutboundSettings())
    with tracing.request("POST", traceparent()) as request:
        for _ in range(1_000):
            with in_step("database write"):
                pass
        request.status = 503
        request.end("/api/v1/skills:batch", "one")
    tracing.stop()
    spans = receiver.of_trace(TRACE, 201)
    assert Counter(span.name for span in spans) == {"database write": 200, "POST /api/v1/skills:batch": 1}
    assert [span.is_error for span in spans if span.parent == PARENT] == [True]


def test_the_last_spans_are_sent_before_the_process_ends(receiver: TraceReceiver, tmp_path: Path) -> None:
    arguments = ("--telemetry-endpoint", receiver.url, "--workers", "2", "--telemetry-service-name", "tools/registry")
    with RunningServer(tmp_path, *arguments) as server:
        server.api("GET", "/skills", headers=traceparent())
        assert server.stop() == 0
    assert receiver.of_trace(TRACE, 2)
    assert b"tools/registry" in receiver.bodies[0]


def test_nothing_is_loaded_or_sent_unless_a_setting_says_so(receiver: TraceReceiver, tmp_path: Path) -> None:
    environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url, "PYTHONPROFILEIMPORTTIME": "1"}
    with RunningServer(tmp_path, env=environment) as server:
        server.api("GET", "/search", params={"q": "tea"}, headers=traceparent())
        assert server.stop() == 0
        loaded = server.log.read_text()
    assert "registry.http.request_traces" in loaded
    assert "opentelemetry" not in loaded
    assert receiver.paths == []


@pytest.mark.parametrize("is_closed", [True, False])
def test_a_receiver_that_is_away_costs_no_request_anything(is_closed: bool, tmp_path: Path) -> None:
    with TraceReceiver(silence) as silent:
        endpoint = f"http://127.0.0.1:{free_port()}" if is_closed else silent.url
        with RunningServer(tmp_path, "--telemetry-endpoint", endpoint) as server:
            seconds = [took(lambda: server.api("GET", "/skills")) for _ in range(3_000)]
            wait_until(lambda: "traces cannot be sent" in server.log.read_text())
            seconds += [took(lambda: server.api("GET", "/skills")) for _ in range(500)]
            assert sorted(seconds)[len(seconds) // 2] < 0.05
            assert max(seconds) < 2.0
            assert took(server.stop) < 8.0
            assert server.process.returncode == 0
            log = server.log.read_text()
    assert log.count("traces cannot be sent") == 1
    assert "Traceback" not in log


def took(call: Any) -> float:
    started = time.monotonic()
    call()
    return time.monotonic() - started


def test_traces_go_to_the_endpoint_and_nowhere_else(receiver: TraceReceiver, tmp_path: Path) -> None:
    def redirect(request: Any) -> None:
        request.send_response(307)
        request.send_header("Location", f"{receiver.url}/v1/traces")
        request.send_header("Content-Length", "0")
        request.end_headers()

    variables = {
        "HTTP_PROXY": receiver.url,
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": receiver.url,
        "OTEL_EXPORTER_OTLP_HEADERS": f"x-other={CANARY}",
    }
    with TraceReceiver(redirect) as endpoint:
        with RunningServer(tmp_path, "--telemetry-endpoint", endpoint.url, env=variables) as server:
            server.api("GET", "/skills")
            assert server.stop() == 0
        assert endpoint.paths
        assert CANARY not in str(endpoint.headers)
    assert receiver.paths == []


def test_spans_arrive_again_when_the_receiver_is_back(tmp_path: Path) -> None:
    answers = {"status": 500}

    def answer(request: Any) -> None:
        request.send_response(answers["status"])
        request.send_header("Content-Length", "0")
        request.end_headers()

    with TraceReceiver(answer) as endpoint, RunningServer(tmp_path, "--telemetry-endpoint", endpoint.url) as server:
        server.api("GET", "/skills")
        wait_until(lambda: "traces cannot be sent" in server.log.read_text())
        answers["status"] = 200
        server.api("GET", "/skills")
        wait_until(lambda: "again" in server.log.read_text())


def test_a_start_without_the_extra_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "shadow" / "opentelemetry").mkdir(parents=True)
    (tmp_path / "shadow" / "opentelemetry" / "__init__.py").touch()
    server = RunningServer(tmp_path, "--telemetry-endpoint", "http://127.0.0.1:1")
    environment = {**server.environment(), "PYTHONPATH": str(tmp_path / "shadow")}
    done = subprocess.run(server.command(), env=environment, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode != 0
    assert "pip install 'skill-registry[otel]'" in done.stderr


@pytest.mark.parametrize("headers", ["no equals sign", "=x", "name=", "name=a%0Ab", "name=a,,", "näme=x"])
def test_malformed_headers_are_refused_without_being_shown(headers: str, tmp_path: Path) -> None:
    server = RunningServer(tmp_path, env={"SKILL_REGISTRY_TELEMETRY_HEADERS": headers + CANARY[:0]})
    done = subprocess.run(
        server.command(), env=server.environment(), capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode != 0
    assert "telemetry.headers" in done.stderr
    assert f"({headers})" not in done.stderr
