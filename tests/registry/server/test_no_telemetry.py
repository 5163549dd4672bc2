"""Nothing phones home: no program of the service contacts an address, or leaves a file, that nobody asked for."""

import json
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from support.bert_folder import HIDDEN, write_bert_folder
from support.git_server import GitServer
from support.publishing import SECRET, Registry, skill_package
from support.servers import write_skill
from support.watched import Watch

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="strace follows the system calls of Linux")


class _WatchedRegistry(Registry):
    """A registry with a local model, under strace."""

    def __init__(self, folder: Path, watch: Watch, *args: str) -> None:
        super().__init__(folder, "--embedding-provider", "local", *args)
        self._watch = watch

    def start(self) -> "_WatchedRegistry":
        command = [*self._watch.prefix(), *self.command()]
        environment = self._watch.environment(SKILL_REGISTRY_AUTH_SECRET=SECRET)
        self.skills_dir.mkdir(exist_ok=True)
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(command, env=environment, stderr=log, cwd=self.skills_dir.parent)
        self.wait_for(self._is_announced)
        self.http = httpx.Client(base_url=self.url, timeout=60, trust_env=False)
        self.wait_for(self._answers)
        return self


def test_a_registry_contacts_nobody_and_leaves_no_file(hub: GitServer, tmp_path: Path) -> None:
    hub.repository("skills").commit(
        {"kettle/SKILL.md": "---\nname: kettle\ndescription: Boils water.\n---\n# Kettle\n"}
    )
    watch, folder = Watch(tmp_path), tmp_path / "service"
    folder.mkdir()
    with _WatchedRegistry(folder, watch, "--outbound-allowed-host", "127.0.0.1") as registry:
        registry.finished(registry.publish(skill_package("planes")), synced=True)
        caller = {"headers": registry.caller("root", "admin")}
        origin = {"type": "git", "url": hub.url("skills"), "subdir": "kettle"}
        assert registry.api("POST", "/skills", json={"origin": origin}, **caller).status_code == 201
        source = {"name": "hub", "type": "git", "url": hub.url("skills")}
        assert registry.api("POST", "/registry/sources", json=source, **caller).status_code in {200, 201}
        assert registry.api("POST", "/reindex", json={}, **caller).status_code in {200, 202}
        registry.http.headers.update(caller["headers"])
        registry.wait_for(lambda: registry.is_embedded(2))
        data = registry.search("how do I make tea", mode="hybrid")
        assert data["mode"] == "hybrid"
        ask = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
        call = {"name": "search_skills", "arguments": {"query": "boil water"}}
        assert registry.http.post("/mcp", json={**ask, "params": call}).status_code == 200
        for path in ("/", "/skills/kettle", "/metrics", "/feed.atom", "/schema/openapi.json", "/api/v1/skills/kettle"):
            assert registry.http.get(path).status_code == 200, path
    _check(watch, folder)
    assert list(watch.temporary.iterdir()) == []


def test_the_commands_contact_nobody_and_leave_no_file(tmp_path: Path) -> None:
    watch, folder = Watch(tmp_path), tmp_path / "project"
    write_skill(folder / "elsewhere", "kettle", "Boils water for tea.")
    write_skill(folder / "skills", "spoon", "Carves spoons.")
    local = {"SKILL_REGISTRY_EMBEDDING_PROVIDER": "local"}

    def run(*arguments: str, stdin: str = "") -> str:
        return watch.run(*arguments, cwd=folder, stdin=stdin, **local)

    run("install", "./elsewhere/kettle")
    run("scan")
    run("embed")
    run("reindex")
    assert "kettle" in run("search", "boil water")
    run("doctor")
    run("backup", "backup")
    call = {"name": "search_skills", "arguments": {"query": "boil water"}}
    ask = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    assert "kettle" in run("mcp", stdin=json.dumps(ask) + "\n")
    _check(watch, folder)
    assert list(watch.temporary.iterdir()) == []


def test_a_model_of_sentence_transformers_is_loaded_from_its_folder_alone(tmp_path: Path) -> None:
    watch = Watch(tmp_path)
    model = write_bert_folder(tmp_path / "model")
    program = (
        "from embeddings.settings import EmbeddingSettings; from embeddings.sentences import *;"
        f"settings = EmbeddingSettings(model={str(model)!r}, dimension={HIDDEN}, cache_dir=Path({str(tmp_path)!r}));"
        "print(SentenceTransformersEmbedder(settings).queries(['boil water']).shape)"
    )
    command = [*watch.prefix(), sys.executable, "-c", program]
    subprocess.run(command, env=watch.environment(), cwd=tmp_path, check=True)
    _check(watch)


def _check(watch: Watch, *places: Path) -> None:
    assert watch.contacted() == set()
    assert watch.made(*places) == set()
    assert list(watch.home.iterdir()) == []
