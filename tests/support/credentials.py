"""Ways to get credentials from a running registry."""

from pathlib import Path
from typing import Any

from registry.auth.keys import ApiKeys, NewKey
from registry.auth.revocations import Revocations
from registry.database.sqlite import SqliteDatabase
from registry.domain.models import now
from support.servers import RunningServer, bearer


def get_token(server: RunningServer, headers: dict[str, str] | None = None, /, **body: Any) -> Any:
    return server.http.post("/auth/token", json=body, headers=headers or {})


def code(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


def make_key(server: RunningServer, **fields: Any) -> dict[str, Any]:
    body = {"name": "ci", **fields}
    answer = server.api("POST", "/auth/keys", json=body, headers=bearer(server.token("admin")))
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()["data"]
    return made


def admin_key(folder: Path) -> str:
    """Return a key an operator made before the service was started."""
    database = SqliteDatabase(folder / "data" / "skill-registry.db")
    try:
        return ApiKeys(database, now, Revocations(database, now)).create(NewKey(name="first", role="admin")).key
    finally:
        database.close()
