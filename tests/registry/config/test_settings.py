import codecs
import json
from pathlib import Path

import pytest

from registry.config.settings import SETTINGS, Setting, Settings, SettingsError, load_settings
from registry.config.types import Secret
from registry.domain.source_entry import NewSource
from registry.domain.validation import convert
from registry.errors import RegistryError

PORT = "a whole number from 0 to 65535"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def revealed(secret: Secret | None) -> str:
    assert secret is not None
    return secret.reveal()


def refusal(flags: dict[str, object], environ: dict[str, str], config_file: Path | None = None) -> str:
    with pytest.raises(SettingsError) as error:
        load_settings(flags, environ, config_file)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_defaults(folder: Path) -> None:
    settings = load_settings({}, {})
    assert (settings.server.host, settings.server.port, settings.profile) == ("localhost", 8080, "local")
    assert settings.skills_dir == folder / "skills"
    assert settings.data_dir == folder / ".skill-registry"
    assert settings.database_path == folder / ".skill-registry" / "skill-registry.db"
    assert not settings.registry.enabled


def test_flags_win_over_environment_over_file_over_other_tools(folder: Path) -> None:
    (folder / "registry.toml").write_text(
        '[server]\nhost = "file"\nport = 1\nworkers = 2\n[embedding]\nbase_url = "http://file"\n'
    )
    environ = {
        "SKILL_REGISTRY_SERVER_HOST": "environment",
        "SKILL_REGISTRY_SERVER_PORT": "2",
        "OPENAI_BASE_URL": "http://other",
        "OPENAI_API_KEY": "other",
    }
    settings = load_settings({"server.host": "flag", "server.port": None}, environ, folder / "registry.toml")
    assert (settings.server.host, settings.server.port, settings.server.workers) == ("flag", 2, 2)
    assert revealed(settings.embedding.base_url) == "http://file"
    assert revealed(settings.embedding.api_key) == "other"


@pytest.mark.parametrize(
    ("environ", "server"),
    [
        ({}, "https://file.example"),
        ({"SKILL_REGISTRY_SERVER": "https://short.example"}, "https://short.example"),
        (
            {"SKILL_REGISTRY_CLIENT_SERVER": "https://full.example", "SKILL_REGISTRY_SERVER": "https://short.example"},
            "https://full.example",
        ),
        (
            {"SKILL_REGISTRY_CLIENT_SERVER": "", "SKILL_REGISTRY_SERVER": "https://short.example"},
            "https://short.example",
        ),
        ({"SKILL_REGISTRY_SERVER": ""}, "https://file.example"),
    ],
)
def test_a_short_name_counts_as_the_environment_and_the_full_name_wins(
    folder: Path, environ: dict[str, str], server: str
) -> None:
    (folder / "registry.toml").write_text('client.server = "https://file.example"\n')
    assert revealed(load_settings({}, environ).client.server) == server


@pytest.mark.parametrize(
    "url", ["a.example", "ftp://a", "https://me:canary@a", "https://a?key=canary", "https://a#canary"]
)
def test_the_url_of_a_server_holds_no_secret(url: str) -> None:
    message = refusal({}, {"SKILL_REGISTRY_SERVER": url})
    assert message.startswith("client.server (from SKILL_REGISTRY_SERVER): expected an http")
    assert "canary" not in message


@pytest.mark.parametrize(
    ("key", "environment", "flag"),
    [
        ("server.port", "SKILL_REGISTRY_SERVER_PORT", "--port"),
        ("server.allowed_hosts", "SKILL_REGISTRY_SERVER_ALLOWED_HOSTS", "--allowed-host"),
        ("server.trusted_proxies", "SKILL_REGISTRY_SERVER_TRUSTED_PROXIES", "--trusted-proxy"),
        ("server.read_only", "SKILL_REGISTRY_SERVER_READ_ONLY", "--read-only"),
        ("server.count_uses", "SKILL_REGISTRY_SERVER_COUNT_USES", "--no-count-uses"),
        ("skills_dir", "SKILL_REGISTRY_SKILLS_DIR", "--skills-dir"),
        ("log.format", "SKILL_REGISTRY_LOG_FORMAT", "--log-format"),
        ("s3.blobBaseUrl", "SKILL_REGISTRY_S3_BLOB_BASE_URL", "--s3-blob-base-url"),
        ("registryIndex.url", "SKILL_REGISTRY_REGISTRY_INDEX_URL", "--registry-index-url"),
        ("registry.enabled", "SKILL_REGISTRY_REGISTRY_ENABLED", "--enable-registry"),
        ("registry.replicaCount", "SKILL_REGISTRY_REGISTRY_REPLICA_COUNT", "--registry-replica-count"),
        ("embedding.api_key", "SKILL_REGISTRY_EMBEDDING_API_KEY", None),
    ],
)
def test_names(key: str, environment: str, flag: str | None) -> None:
    setting = next(setting for setting in SETTINGS if setting.key == key)
    assert (setting.environment, setting.flag) == (environment, flag)


def test_the_file_of_a_deployment_may_have_the_number_of_its_replicas(folder: Path) -> None:
    assert load_settings({}, {}).registry.replica_count == 1
    (folder / "registry.toml").write_text("[registry]\nreplicaCount = 3\n")
    assert load_settings({}, {}).registry.replica_count == 3
    assert "expected a whole number from 1 to 1000" in refusal({"registry.replicaCount": 0}, {})


def test_every_row_of_the_table_is_complete_and_its_names_are_its_own() -> None:
    assert all(setting.description and setting.expected for setting in SETTINGS)
    for names in (
        [s.key for s in SETTINGS],
        [s.environment for s in SETTINGS],
        [s.flag for s in SETTINGS if s.flag],
    ):
        assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("flags", "environ", "message"),
    [
        ({"server.port": 99999}, {}, f"server.port = 99999 (from --port): expected {PORT}"),
        ({}, {"SKILL_REGISTRY_SERVER_PORT": "-1"}, "= '-1' (from SKILL_REGISTRY_SERVER_PORT): expected"),
        ({}, {"SKILL_REGISTRY_SERVER_PORT": "80\n"}, "'80\\n'"),
        ({}, {"SKILL_REGISTRY_SERVER_PORT": "٨٠"}, PORT),
        ({"server.host": "http://localhost"}, {}, "a host name or IP address"),
        ({"server.host": "localhost:80"}, {}, "a host name or IP address"),
        ({"server.allowed_hosts": ("a.example", "b.example:80")}, {}, "without scheme and port"),
        ({"server.allowed_origins": ("https://a.example/",)}, {}, "an origin such as"),
        ({"server.allowed_origins": ("*", "https://a.example")}, {}, "it must be the only item"),
        ({"profile": "both"}, {}, "one of local, registry"),
        ({}, {"SKILL_REGISTRY_SERVER_READ_ONLY": "maybe"}, "true or false"),
        ({"limits.drain_seconds": "nan"}, {}, "a number from 0 to 86400"),
        ({"limits.header_seconds": 0}, {}, "a number above 0, at most 86400"),
        ({"database.url": "mysql://u:canary@db/x"}, {}, "database.url (from --database-url): expected sqlite:///F"),
        ({"database.url": "sqlite:///:memory:"}, {}, "expected sqlite:///FILE"),
        ({}, {"OPENAI_BASE_URL": "canary"}, "embedding.base_url (from OPENAI_BASE_URL): expected"),
        ({}, {"SKILL_REGISTRY_SERVER_PROT": "canary"}, "did you mean SKILL_REGISTRY_SERVER_PORT?"),
        ({"skills_dir": "~no-such-user-here/skills"}, {}, "expected a path"),
    ],
)  # fmt: skip
def test_a_bad_value_is_named_with_its_origin_and_what_is_expected(
    flags: dict[str, object], environ: dict[str, str], message: str
) -> None:
    assert message in (refused := refusal(flags, environ))
    assert "canary" not in refused


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[server]\nprot = 1", "unknown key 'server.prot' in {path}; did you mean server.port?"),
        ("server = 1", "unknown key 'server' in {path}"),
        ("[server.port]\nx = 1", "unknown key 'server.port.x' in {path}"),
        ('[server]\nport = "+"', f"server.port = '+' (from {{path}}): expected {PORT}"),
        ("[server]\nread_only = 1", "server.read_only = 1 (from {path}): expected true or false"),
        ("[server]\nallowed_hosts = [1]", "(from {path}): expected a list, each item a host name"),
        ("[embedding]\napi_key = 5551234", "embedding.api_key (from {path}): expected text"),
        ("port 80", "configuration file {path} cannot be read: "),
        ("name = '\ud800'", "configuration file {path} cannot be read: "),
    ],
)
def test_a_bad_file_is_refused(folder: Path, text: str, message: str) -> None:
    path = folder / "other.toml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    assert message.format(path=path) in refusal({}, {}, path)


def test_a_file_that_an_editor_on_windows_has_marked_is_read(folder: Path) -> None:
    (folder / "registry.toml").write_bytes(codecs.BOM_UTF8 + b"[server]\r\nport = 9\r\n")
    assert load_settings({}, {}).server.port == 9


def test_a_file_asked_for_must_exist_and_the_flag_wins_over_the_variable(folder: Path) -> None:
    (folder / "mine.toml").write_text("[server]\nport = 7\n")
    environ = {"SKILL_REGISTRY_CONFIG": "absent.toml"}
    assert "absent.toml does not exist" in refusal({}, environ)
    assert load_settings({}, environ, Path("mine.toml")).server.port == 7
    assert load_settings({}, {"SKILL_REGISTRY_CONFIG": "mine.toml"}).server.port == 7


@pytest.mark.parametrize(
    "setting", [setting for setting in SETTINGS if setting.default], ids=lambda setting: setting.key
)
def test_a_default_can_be_given(folder: Path, setting: Setting) -> None:
    text = ",".join(setting.default) if isinstance(setting.default, tuple) else str(setting.default)
    given = load_settings({setting.key: text}, {})
    assert given == load_settings({}, {})


def test_texts_become_values() -> None:
    environ = {
        "SKILL_REGISTRY_SERVER_ALLOWED_HOSTS": "a.example, [::1],",
        "SKILL_REGISTRY_SERVER_READ_ONLY": "true",
        "SKILL_REGISTRY_LIMITS_DRAIN_SECONDS": "0",
        "SKILL_REGISTRY_EMBEDDING_MODEL": "",
        "SKILL_REGISTRY_EMBEDDING_DIMENSION": "256",
    }
    settings = load_settings({"server.port": "0", "server.host": "::1", "server.workers": ""}, environ)
    assert settings.server.allowed_hosts == ("a.example", "[::1]")
    assert (settings.server.port, settings.server.host, settings.server.workers) == (0, "::1", 1)
    assert settings.server.read_only
    assert settings.limits.drain_seconds == 0
    assert (settings.embedding.model, settings.embedding.dimension) == (None, 256)


@pytest.mark.parametrize(
    ("url", "path"), [("sqlite:///data/x.db", "data/x.db"), ("sqlite:////srv/x y.db", "/srv/x y.db")]
)
def test_paths_are_absolute(folder: Path, url: str, path: str) -> None:
    (folder / "registry.toml").write_text('skills_dir = "mine"\n')
    settings = load_settings({"data_dir": Path("data"), "database.url": url}, {})
    assert (settings.skills_dir, settings.data_dir) == (folder / "mine", folder / "data")
    assert settings.database_path == folder / path


def test_secrets_do_not_show() -> None:
    environ = {
        "OPENAI_API_KEY": "canary",
        "OPENAI_BASE_URL": "https://user:canary@models.example:8443/v1?key=canary",
        "SKILL_REGISTRY_REGISTRY_INDEX_URL": "https://canary@git.example/index.git",
    }
    settings = load_settings({}, environ)
    shown = f"{settings} {settings!r} {settings.embedding.api_key} {settings.embedding.base_url!s}"
    assert "canary" not in shown
    assert "https://***@models.example:8443/v1" in shown
    assert revealed(settings.embedding.api_key) == "canary"


def test_variables_that_kubernetes_makes_of_a_service_are_not_ours() -> None:
    environ = {
        "SKILL_REGISTRY_SERVICE_HOST": "10.0.0.1",
        "SKILL_REGISTRY_SERVICE_PORT_HTTP": "8080",
        "SKILL_REGISTRY_PORT": "tcp://10.0.0.1:8080",
        "SKILL_REGISTRY_PORT_8080_TCP_ADDR": "10.0.0.1",
        "SKILL_REGISTRY_POSTGRES_PORT_5432_TCP": "tcp://10.0.0.2:5432",
    }
    assert load_settings({}, environ).server == Settings().server
    assert "unknown variable 'SKILL_REGISTRY_PORT'" in refusal({}, {"SKILL_REGISTRY_PORT": "8080"})


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({}, "Registry is enabled but blob storage is not configured"),
        ({"s3.bucket": "packages"}, "Registry is enabled but the registry index is not configured"),
        ({"blobs.dir": "packages"}, "Registry is enabled but the registry index is not configured"),
        ({"profile": "local"}, "profile = 'local' contradicts registry.enabled"),
    ],
)
def test_registry_mode_needs_its_stores(flags: dict[str, object], message: str) -> None:
    assert message in refusal(flags, {"SKILL_REGISTRY_REGISTRY_ENABLED": "true"})


def test_registry_mode_implies_its_profile() -> None:
    flags = {"registry.enabled": True, "blobs.dir": "b", "registryIndex.url": "git@git.example:index.git"}
    assert load_settings(flags, {}).profile == "registry"
    assert not load_settings({"profile": "registry"}, {}).registry.enabled


def source_tables(folder: Path, *tables: str) -> Path:
    path = folder / "sources.toml"
    path.write_text("".join(f"[[sources]]\n{table}\n" for table in tables))
    return path


def test_sources_are_tables_or_json(folder: Path) -> None:
    path = source_tables(folder, 'name = "acme"\ntype = "git"\nurl = "https://acme.example/s"\nbranch = "main"')
    assert [(one.name, one.branch, one.priority) for one in load_settings({}, {}, path).sources] == [
        ("acme", "main", 100)
    ]
    environ = {"SKILL_REGISTRY_SOURCES": '[{"name": "near", "type": "local", "path": "skills", "priority": 1}]'}
    assert [(one.name, one.path) for one in load_settings({}, environ).sources] == [("near", "skills")]


@pytest.mark.parametrize(
    ("address", "url"),
    [
        ("acme/skills", "https://github.com/acme/skills"),
        ("acme/skills/docs", "https://github.com/acme/skills#HEAD:docs"),
        ("gitlab:acme/skills#v1", "https://gitlab.com/acme/skills#v1"),
        ("github.com/acme/skills", "https://github.com/acme/skills"),
        ("git+https://acme.example/s.git", "https://acme.example/s.git"),
        ("https://github.com/acme/skills/tree/v1.2/docs", "https://github.com/acme/skills/tree/v1.2/docs"),
    ],
)
def test_a_source_has_any_address_that_sources_add_takes(folder: Path, address: str, url: str) -> None:
    table = f'name = "a"\ntype = "git"\nurl = "{address}"'
    assert [one.url for one in load_settings({}, {}, source_tables(folder, table)).sources] == [url]
    environ = {"SKILL_REGISTRY_SOURCES": json.dumps([{"name": "a", "type": "git", "url": address}])}
    assert [one.url for one in load_settings({}, environ).sources] == [url]


@pytest.mark.parametrize(
    "address",
    [
        "git@github.com:acme/skills.git",
        "acme/skills@pdf",
        "https://github.com/acme/skills/tree/main#v1",
        "https://github.com/acme/skills/pulls",
        "github:acme",
        "ftp://acme.example/s",
        "https://acme.example/s.tar.gz",
    ],
)
def test_an_address_is_refused_in_the_words_of_sources_add(folder: Path, address: str) -> None:
    given = {"name": "a", "type": "git", "url": address}
    with pytest.raises(RegistryError) as refused:
        convert(NewSource.prepared(given), NewSource)
    table = "\n".join(f'{name} = "{value}"' for name, value in given.items())
    assert refused.value.line in refusal({}, {}, source_tables(folder, table))


@pytest.mark.parametrize(
    "table",
    [
        'name = "a"',
        'name = "a"\ntype = "git"',
        'name = "local"\ntype = "git"\nurl = "https://u:canary@acme.example/s"',
        'name = "a"\ntype = "git"\nurl = "https://u:canary@acme.example/s"\nbrnach = "main"',
        'name = "a"\ntype = "git"\nurl = "ssh://u:canary@acme.example/s"',
        'name = "a"\ntype = "tar"\nurl = "https://u:canary@acme.example/s.tar"',
    ],
)
def test_a_wrong_source_is_told_without_its_credentials(folder: Path, table: str) -> None:
    refused = refusal({}, {}, source_tables(folder, table))
    assert "sources" in refused
    assert "canary" not in refused


def test_two_sources_of_one_name_are_refused(folder: Path) -> None:
    table = 'name = "a"\ntype = "git"\nurl = "https://acme.example/s"'
    assert "same name" in refusal({}, {}, source_tables(folder, table, table))


@pytest.mark.parametrize("host", ["10.0.0.0/99", "https://a.example", "a b", "10.0.0.0/8/8"])
def test_what_may_be_fetched_from_is_hosts_and_networks(host: str) -> None:
    assert "outbound.allowed_hosts" in refusal({"outbound.allowed_hosts": (host,)}, {})
    allowed = ("git.internal", "git.internal:8443", "[fd00::1]:80", "10.0.0.0/8", "fd00::/8")
    assert load_settings({"outbound.allowed_hosts": allowed}, {}).outbound.allowed_hosts == allowed


@pytest.mark.parametrize("network", ["10.0.0.0/99", "10.0.0.1/8", "1.2.3", "proxy.example", "*", "fd00::/8/8"])
def test_trusted_proxies_are_addresses_and_networks(network: str) -> None:
    assert "server.trusted_proxies" in refusal({"server.trusted_proxies": (network,)}, {})
    trusted = ("10.0.0.1", "10.0.0.0/8", "fd00::1", "fd00::/8")
    assert load_settings({"server.trusted_proxies": trusted}, {}).server.trusted_proxies == trusted


def test_the_variables_of_other_programs_name_proxies_and_authorities(folder: Path) -> None:
    environ = {
        "https_proxy": "http://low.example",
        "ALL_PROXY": "http://all.example",
        "no_proxy": "a.example, .b.example",
    }
    settings = load_settings({}, environ | {"SSL_CERT_FILE": "/ca.pem", "SSL_CERT_DIR": "/ca"}).outbound
    assert revealed(settings.https_proxy) == "http://low.example"
    assert revealed(settings.http_proxy) == "http://all.example"
    assert (settings.no_proxy, settings.ca_file, settings.ca_dir) == (
        ("a.example", ".b.example"),
        Path("/ca.pem"),
        Path("/ca"),
    )
    settings = load_settings({}, environ | {"HTTPS_PROXY": "http://ann:canary@high.example"}).outbound
    assert revealed(settings.https_proxy) == "http://ann:canary@high.example"
    assert "canary" not in repr(settings)


def test_credentials_of_git_are_tables_or_json(folder: Path) -> None:
    (folder / "named.toml").write_text(
        '[[outbound.git_credentials]]\norigin = "https://git.example"\nuser = "ada"\npassword = "canary"\n'
    )
    from_file = load_settings({}, {}, folder / "named.toml").outbound.git_credentials
    variable = "SKILL_REGISTRY_OUTBOUND_GIT_CREDENTIALS"
    text = '[{"origin": "https://git.example", "user": "ada", "password": "canary"}]'
    from_variable = load_settings({}, {variable: text}).outbound.git_credentials
    for entry in (*from_file, *from_variable):
        assert (entry.origin, entry.user, revealed(entry.password)) == ("https://git.example", "ada", "canary")
        assert "canary" not in repr(entry)
    for wrong in ('[{"origin": "git.example", "password": "canary"}]', '[{"origin": "https://git.example"}]'):
        assert "canary" not in refusal({}, {variable: wrong})
