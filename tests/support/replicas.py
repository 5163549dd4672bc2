"""Services on one PostgreSQL database, each with a data directory of its own."""

from pathlib import Path

from support.servers import RunningServer

SECRET = {
    "SKILL_REGISTRY_AUTH_SECRET": "0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c",
    "SKILL_REGISTRY_TRANSPARENCY_KEY": "5b4c3d2e1f00f1e2" * 4,
}


def replica(folder: Path, url: str, *args: str, **env: str) -> RunningServer:
    """Return a replica that is not started yet; all have one secret."""
    return RunningServer(folder, *args, env={"SKILL_REGISTRY_DATABASE_URL": url, **SECRET, **env})
