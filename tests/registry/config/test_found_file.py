"""A `registry.toml` that was merely found in the current folder does not decide who gets a secret from elsewhere."""

from pathlib import Path

import pytest

from registry.config.settings import SETTINGS, SHORT_NAMES, SettingsError, load_settings
from support.commands import Done
from support.embedding_server import EmbeddingServer
from support.publishing import Registry, skill_package
from support.servers import write_skill
from support.web_server import WebServer

OPENAI = {"OPENAI_API_KEY": "canary"}
OWN = {"SKILL_REGISTRY_EMBEDDING_API_KEY": "canary"}
DATABASE = "SKILL_REGISTRY_DATABASE_URL"
EVIL = 'embedding.base_url = "https://evil.example/v1"'
BUCKET = 's3.bucket = "packages"\ns3.endpoint = "https://evil.example"'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("file", "environ", "key", "secret", "variable"),
    [
        (EVIL, OPENAI, "embedding.base_url", "OPENAI_API_KEY", "SKILL_REGISTRY_EMBEDDING_BASE_URL"),
        (
            EVIL,
            OPENAI | {"OPENAI_BASE_URL": "https://ours.example"},
            "embedding.base_url",
            "OPENAI_API_KEY",
            "SKILL_REGISTRY_EMBEDDING_BASE_URL",
        ),
        (
            f'{EVIL}\nembedding.api_key = "theirs"',
            OWN,
            "embedding.base_url",
            "SKILL_REGISTRY_EMBEDDING_API_KEY",
            "SKILL_REGISTRY_EMBEDDING_BASE_URL",
        ),
        (
            f'{EVIL}\nembedding.api_key = "theirs"',
            {"OPENAI_CUSTOM_HEADERS": "X-Key: canary"},
            "embedding.base_url",
            "OPENAI_CUSTOM_HEADERS",
            "SKILL_REGISTRY_EMBEDDING_BASE_URL",
        ),
        (
            'telemetry.endpoint = "https://evil.example"',
            {"SKILL_REGISTRY_TELEMETRY_HEADERS": "authorization=canary"},
            "telemetry.endpoint",
            "telemetry.headers",
            "SKILL_REGISTRY_TELEMETRY_ENDPOINT",
        ),
        (BUCKET, {}, "s3.endpoint", "the S3 credential", "SKILL_REGISTRY_S3_ENDPOINT"),
        ('database.url = "postgresql://evil.example/x"', {}, "database.url", "the PostgreSQL password", DATABASE),
        ('database.url = "postgresql://u@evil.example:1/x"', {}, "database.url", "the PostgreSQL password", DATABASE),
        (
            'database.url = "postgresql:///x?host=ours.example&hostaddr=192.0.2.1"',
            {},
            "database.url",
            "the PostgreSQL password",
            DATABASE,
        ),
        *[
            (
                f'webhooks.validation_{name}.url = "https://evil.example"',
                {f"SKILL_REGISTRY_WEBHOOKS_VALIDATION_{name.upper()}_SECRET": "canary"},
                f"webhooks.validation_{name}.url",
                f"webhooks.validation_{name}.secret",
                f"SKILL_REGISTRY_WEBHOOKS_VALIDATION_{name.upper()}_URL",
            )
            for name in ("failed", "passed")
        ],
        *[
            (
                f'outbound.{name} = "http://evil.example/x"',
                {},
                f"outbound.{name}",
                "a credential of the user",
                f"SKILL_REGISTRY_OUTBOUND_{name.upper()}",
            )
            for name in ("proxy", "https_proxy", "http_proxy", "ca_file", "ca_dir")
        ],
        (
            '[[outbound.git_credentials]]\norigin = "https://git.example"\naskpass = "./run"',
            {},
            "outbound.git_credentials",
            "a credential of the user",
            "SKILL_REGISTRY_OUTBOUND_GIT_CREDENTIALS",
        ),
        (
            'auth.issuer = "open"',
            {"SKILL_REGISTRY_AUTH_SECRET": "canary" * 8},
            "auth.issuer",
            "auth.secret",
            "SKILL_REGISTRY_AUTH_ISSUER",
        ),
    ],
)
def test_a_file_that_was_found_decides_for_no_secret_from_elsewhere(
    folder: Path, file: str, environ: dict[str, str], key: str, secret: str, variable: str
) -> None:
    (folder / "registry.toml").write_text(file)
    with pytest.raises(SettingsError) as refused:
        load_settings({}, environ)
    message = str(refused.value)
    assert message.startswith(f"{key} (from registry.toml in the current folder): ")
    assert all(word in message for word in (secret, variable, "--config"))
    assert not any(word in message for word in ("canary", "evil"))
    named = {setting.environment: setting.key for setting in SETTINGS} | dict(SHORT_NAMES)
    assert named[variable] == key
    load_settings({}, environ, Path("registry.toml"))
    load_settings({}, environ | {"SKILL_REGISTRY_CONFIG": "registry.toml"})


@pytest.mark.parametrize(
    ("file", "environ"),
    [
        (f'{EVIL}\nembedding.api_key = "theirs"', {}),
        (f'{EVIL}\nembedding.api_key = "theirs"', OPENAI),
        (EVIL, OPENAI | {"SKILL_REGISTRY_EMBEDDING_BASE_URL": "https://ours.example"}),
        (EVIL, OPENAI | {"SKILL_REGISTRY_EMBEDDING_PROVIDER": "none"}),
        ('embedding.model = "a"', OPENAI),
        (BUCKET, {"SKILL_REGISTRY_S3_ENDPOINT": "https://ours.example"}),
        ('s3.endpoint = "https://evil.example"', {}),
        ('database.url = "postgresql://u:theirs@evil.example/x"', {}),
        ('database.url = "postgresql:///x"', {}),
        ('database.url = "sqlite:///x.db"', {}),
        ('database.url = "postgresql://evil.example/x"', {DATABASE: "postgresql://ours.example/x"}),
        ('webhooks.validation_failed.url = "https://evil.example"', {}),
        ('auth.issuer = "closed"', {"SKILL_REGISTRY_AUTH_SECRET": "x" * 32}),
        ('auth.issuer = "open"', {}),
    ],
)
def test_a_file_that_was_found_decides_where_no_secret_is_at_stake(
    folder: Path, file: str, environ: dict[str, str]
) -> None:
    (folder / "registry.toml").write_text(file)
    load_settings({}, environ)


def test_a_cloned_repository_does_not_get_the_key_of_the_embedding_provider(tmp_path: Path) -> None:
    write_skill(tmp_path / "skills", "one", "Is to be embedded.")
    with EmbeddingServer(64) as provider:
        (tmp_path / "registry.toml").write_text(
            f'embedding.base_url = "{provider.url}"\nembedding.model = "m"\nembedding.dimension = 64\n'
        )
        env = OPENAI | {"SKILL_REGISTRY_EMBEDDING_PROVIDER": "hosted"}
        for command in (("scan",), ("serve", "--port", "0")):
            done = Done(tmp_path, *command, **env)
            done.complains(2, "registry.toml", "OPENAI_API_KEY", "SKILL_REGISTRY_EMBEDDING_BASE_URL")
        assert provider.requests == []
        named = ("--config", "registry.toml")
        assert Done(tmp_path, "scan", *named, **env).code == 0
        assert Done(tmp_path, "reindex", *named, **env).code == 0
        assert set(provider.keys) == {"Bearer canary"}


def test_a_registry_that_only_a_repository_names_gets_no_key_without_a_server(tmp_path: Path) -> None:
    with WebServer() as web:
        source = f'[[sources]]\nname = "theirs"\ntype = "registry"\nurl = "{web.url}"\n'
        (tmp_path / "registry.toml").write_text(f'outbound.allowed_hosts = ["127.0.0.1"]\n{source}')
        (tmp_path / "skills").mkdir()
        Done(tmp_path, "scan")
        Done(tmp_path, "sources", "refresh", SKILL_REGISTRY_CLIENT_API_KEY="canary")
        assert web.requests
        assert not [headers for _, headers in web.requests if "Authorization" in headers]


def test_a_registry_that_the_user_names_gets_the_key(tmp_path: Path) -> None:
    with Registry(tmp_path / "registry") as registry:
        registry.finished(registry.publish(skill_package("tidy")))
        token = registry.caller("reader", "user")["Authorization"].removeprefix("Bearer ")
        done = Done(tmp_path, "install", "acme/tidy", "--from", registry.url, SKILL_REGISTRY_CLIENT_API_KEY=token)
        assert done.code == 0, done.error
