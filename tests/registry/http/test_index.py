"""The raw index of installed skills, as registries have it of published ones."""

import json

from support.servers import RunningServer, write_skill


def test_an_installed_skill_has_a_line_a_version(server: RunningServer) -> None:
    write_skill(server.skills_dir, "indexed", "Is listed in the index.", version="1.9.0", license="MIT")
    server.wait_for(lambda: server.http.get("/index/indexed").status_code == 200)
    write_skill(server.skills_dir, "indexed", "Is listed in the index.", version="1.10.0", license="MIT")
    server.wait_for(lambda: server.http.get("/index/indexed").text.count("\n") == 2)
    answer = server.http.get("/index/indexed")
    assert answer.headers["Content-Type"] == "application/x-ndjson"
    lines = [json.loads(line) for line in answer.text.splitlines()]
    assert [(line["vers"], line["yanked"]) for line in lines] == [("1.9.0", False), ("1.10.0", False)]
    digest = server.api("GET", "/skills/indexed").json()["data"]["digest"]
    assert [line["cksum"] for line in lines] == [None, digest]


def test_the_index_is_answered_only_when_it_has_changed(server: RunningServer) -> None:
    write_skill(server.skills_dir, "tagged", "Has an entity tag.")
    server.wait_for(lambda: server.http.get("/index/tagged").status_code == 200)
    etag = server.http.get("/index/tagged").headers["ETag"]
    again = server.http.get("/index/tagged", headers={"If-None-Match": etag})
    assert (again.status_code, again.content) == (304, b"")
    server.wait_for(lambda: server.status()["drift"] == 0)


def test_what_is_not_there_is_told(server: RunningServer) -> None:
    for path in ("nothing", "acme/nothing", "..%2F..%2Fetc%2Fpasswd"):
        answer = server.http.get(f"/index/{path}")
        assert answer.status_code == 404, path
        assert answer.json()["success"] is False
