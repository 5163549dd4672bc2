"""Ways to start: read-only, and with another model than before."""

from pathlib import Path

from support.embedding_server import EmbeddingServer
from support.servers import RunningServer, new_skill, write_skill


def test_read_only_refuses_every_change_and_names_the_flag(tmp_path: Path) -> None:
    write_skill(tmp_path / "skills", "pdf-forms", "Fill in pdf forms and read their fields.")
    with RunningServer(tmp_path, "--read-only") as server:
        for method, path in (("POST", "/skills"), ("PUT", "/skills/pdf-forms"), ("DELETE", "/skills/pdf-forms"),
                             ("POST", "/reindex"), ("POST", "/reindex/pdf-forms")):  # fmt: skip
            answer = server.api(method, path, json=new_skill("refused"))
            assert (answer.status_code, answer.json()["error"]["code"]) == (403, "FORBIDDEN")
            assert "--read-only" in answer.json()["error"]["message"]
        assert server.found("pdf forms") == ["pdf-forms"]
        assert server.api("POST", "/resolve", json={"prompt": "pdf"}).status_code == 200
        assert server.status()["writable"] is False
    assert (tmp_path / "skills" / "pdf-forms" / "SKILL.md").exists()


def test_another_model_fills_its_own_space_and_the_old_one_goes(tmp_path: Path) -> None:
    write_skill(tmp_path / "skills", "pdf-forms", "Fill in pdf forms and read their fields.")
    with EmbeddingServer() as first, EmbeddingServer(8) as second:
        common = ("--embedding-provider", "hosted", "--embedding-base-url")
        key = {"OPENAI_API_KEY": "sk-test"}
        with RunningServer(tmp_path, *common, first.url, env=key) as server:
            server.wait_for(server.is_embedded)
            assert server.status()["embedding"]["dim"] == 1536
        small = ("--embedding-model", "small", "--embedding-dimension", "8")
        with RunningServer(tmp_path, *common, second.url, *small, env=key) as server:
            server.wait_for(server.is_embedded)
            assert server.search("pdf forms")["mode"] == "hybrid"
            assert (server.status()["embedding"]["dim"], server.status()["drift"]) == (8, 0)
            assert len(list((server.data_dir / "indexes").glob("vectors-*.npz"))) <= 1
