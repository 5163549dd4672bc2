"""Who may change the sources of a service."""

from pathlib import Path

from support.servers import RunningServer, bearer, write_skill


def test_nothing_is_changed_where_the_service_only_reads(tmp_path: Path) -> None:
    with RunningServer(tmp_path, "--read-only") as server:
        assert server.api("GET", "/registry/sources").status_code == 200
        for method, path in (
            ("POST", "/registry/refresh"),
            ("POST", "/registry/sources"),
            ("DELETE", "/registry/sources/x"),
        ):
            assert server.api(method, path, json={}).status_code == 403


def test_in_the_registry_profile_roles_and_records_hold(tmp_path: Path) -> None:
    write_skill(tmp_path / "elsewhere", "csv", "Cleans csv files.")
    body = {"name": "near", "type": "local", "path": str(tmp_path / "elsewhere")}
    with RunningServer(tmp_path, "--profile", "registry", "--auth-issuer", "open") as server:
        headers = {role: bearer(server.token(role)) for role in ("user", "manager", "admin")}
        added = {
            role: server.api("POST", "/registry/sources", json=body, headers=sent).status_code
            for role, sent in headers.items()
        }
        assert added == {"user": 403, "manager": 403, "admin": 201}
        assert server.api("POST", "/registry/refresh", headers=headers["user"]).status_code == 403
        assert server.api("POST", "/registry/refresh", headers=headers["manager"]).status_code == 200
        sources = server.api("GET", "/registry/sources", headers=headers["user"]).json()["data"]
        assert [(one["name"], one["skills"]) for one in sources] == [("local", 0), ("registry", 0), ("near", 1)]
        assert server.api("GET", "/skills", headers=headers["user"]).json()["data"] == []
        version = {"version": "2.0.0"}
        for method, path in (("PUT", "near/csv"), ("DELETE", "near/csv"), ("POST", "near/csv/versions")):
            answer = server.api(method, f"/skills/{path}", json=version, headers=headers["manager"])
            assert (answer.status_code, answer.json()["error"]["code"]) == (409, "CONFLICT")
        assert server.api("GET", "/registry/sources").status_code == 401
