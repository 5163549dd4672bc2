"""The code v1 API as a program uses it."""

from typing import Any

from support.servers import RunningServer, bearer, new_skill

PREFIXES = ("/api/code/v1", "/v1")


class Code:
    """The code v1 API as a manager has it."""

    def __init__(self, server: RunningServer) -> None:
        self.server = server
        self.headers = bearer(server.token("manager"))

    def ask(self, method: str, path: str, prefix: str = PREFIXES[0], **options: Any) -> Any:
        headers = self.headers | options.pop("headers", {})
        return self.server.http.request(method, prefix + path, headers=headers, **options)

    def create(self, skill_id: str, **fields: Any) -> Any:
        answer = self.ask("POST", "/skills", json=new_skill(skill_id, **fields))
        assert answer.status_code == 201, answer.text
        return answer.json()["data"]

    def add(self, skill_id: str, *versions: str) -> None:
        for version in versions:
            assert self.ask("POST", f"/skills/{skill_id}/versions", json={"version": version}).status_code == 201

    def get(self, path: str) -> Any:
        answer = self.ask("GET", path)
        assert answer.status_code == 200, answer.text
        return answer.json()["data"]

    def versions(self, skill_id: str) -> list[str]:
        return [item["version"] for item in self.get(f"/skills/{skill_id}/versions")]


def error(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


def fields(answer: Any) -> list[str]:
    assert error(answer) == (400, "VALIDATION_ERROR"), answer.text
    return [fault["field"] for fault in answer.json()["error"]["details"]]
