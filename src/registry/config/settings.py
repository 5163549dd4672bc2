"""The configuration of the service. It is read once, at start.

A setting is a field of `Settings` or of one of its groups. `SETTINGS` lists all settings; the flags of the command and
the table in the documentation are generated from it.

Precedence: flags, environment, `registry.toml`, the variables of `FALLBACKS`, default. The environment variable of a
key is `SKILL_REGISTRY_` and the key in capitals. `_` replaces `.` and also precedes an inner capital. `SHORT_NAMES` has
second names. A list is an array, a repeated flag, or one comma-separated text. All other texts are parsed as the type
of the setting. An empty text counts as not set.
"""

import difflib
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

import msgspec
from msgspec import Meta, field

from registry.config.contradictions import contradictions
from registry.config.found_file import misdirected
from registry.config.groups import (
    AuditSettings,
    AuthSettings,
    BlobsSettings,
    CacheSettings,
    ClientSettings,
    DatabaseSettings,
    EmbeddingSettings,
    InstallSettings,
    LimitsSettings,
    LogSettings,
    OutboundSettings,
    ProjectSettings,
    ProtocolsSettings,
    PublishSettings,
    RegistryIndexSettings,
    RegistryMode,
    S3Settings,
    SearchSettings,
    ServerSettings,
    TelemetrySettings,
    TransparencySettings,
    WebhooksSettings,
)
from registry.config.source_tables import read_sources
from registry.config.types import Secret, convert, expected, is_encodable, kind
from registry.domain.addresses import redact_text
from registry.domain.package_urls import PackageUrls
from registry.domain.source_entry import ConfiguredSource
from registry.errors import RegistryError

ENVIRONMENT_PREFIX = "SKILL_REGISTRY_"
CONFIG_VARIABLE = "SKILL_REGISTRY_CONFIG"
CONFIG_FILE = "registry.toml"
DATABASE_FILE = "skill-registry.db"
FALLBACKS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "embedding.api_key": ("OPENAI_API_KEY",),
        "embedding.base_url": ("OPENAI_BASE_URL",),
        "outbound.https_proxy": ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"),
        "outbound.http_proxy": ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"),
        "outbound.no_proxy": ("NO_PROXY", "no_proxy"),
        "outbound.ca_file": ("SSL_CERT_FILE",),
        "outbound.ca_dir": ("SSL_CERT_DIR",),
    }
)
"""Variables of other tools. They fill settings that nothing else sets; the first one that is set counts."""

SHORT_NAMES: Mapping[str, str] = MappingProxyType({"SKILL_REGISTRY_SERVER": "client.server"})
"""Second names of variables. The full name wins."""

# Kubernetes sets variables for every service of the namespace in every pod, named after the service. The variables of
# a service called `skill-registry` have our prefix, and are not errors.
_SERVICE_LINK = re.compile(
    r"\w+_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_\w+)?)=.*|\w+_PORT=(tcp|udp|sctp)://.*",
    re.DOTALL,
)

_Group = TypeVar("_Group", bound=msgspec.Struct)


class SettingsError(Exception):
    """The configuration is invalid. The one-line message names the setting, its source and the expected value."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """All settings. `load_settings` returns absolute paths."""

    profile: Annotated[Literal["local", "registry"], Meta(description="set of served routes")] = "local"
    skills_dir: Annotated[Path, Meta(description="folder of the installed skills")] = Path("skills")
    data_dir: Annotated[Path, Meta(description="folder of the database and index files")] = Path(".skill-registry")
    server: ServerSettings = ServerSettings()
    registry: RegistryMode = RegistryMode()
    protocols: ProtocolsSettings = ProtocolsSettings()
    publish: PublishSettings = PublishSettings()
    database: DatabaseSettings = DatabaseSettings()
    search: SearchSettings = SearchSettings()
    auth: AuthSettings = AuthSettings()
    audit: AuditSettings = AuditSettings()
    transparency: TransparencySettings = TransparencySettings()
    webhooks: WebhooksSettings = WebhooksSettings()
    client: ClientSettings = ClientSettings()
    project: ProjectSettings = ProjectSettings()
    cache: CacheSettings = CacheSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    s3: S3Settings = S3Settings()
    registry_index: RegistryIndexSettings = field(default=RegistryIndexSettings(), name="registryIndex")
    blobs: BlobsSettings = BlobsSettings()
    outbound: OutboundSettings = OutboundSettings()
    install: InstallSettings = InstallSettings()
    sources: Annotated[
        tuple[ConfiguredSource, ...],
        Meta(
            description="sources of skills: [[sources]] tables with name, type (git, http, zip, registry or local), "
            "url or path, and optionally branch, priority and api_key (a secret)",
            title="tables with name, type (git, http, zip, registry or local), url or path, and optionally branch, "
            "priority and api_key",
            extra={"flag": None},
        ),
    ] = ()
    log: LogSettings = LogSettings()
    telemetry: TelemetrySettings = TelemetrySettings()
    limits: LimitsSettings = LimitsSettings()

    @property
    def staging_dir(self) -> Path:
        """The folder in which new skills are written before they move into the skills directory."""
        return self.data_dir / "staged"

    @property
    def bin_dir(self) -> Path:
        """The folder that keeps uninstalled skills for `limits.bin_days`."""
        return self.data_dir / "bin"

    @property
    def database_path(self) -> Path | None:
        """The SQLite file that `database.url` names, or the default one in `data_dir`; None for another database."""
        return self.database.url.file if self.database.url else self.data_dir / DATABASE_FILE

    @property
    def public_base(self) -> str | None:
        """The URL at which others reach the service, without a slash at its end; None if that is not set.

        `server.public_url` of a private scope is a path only, where that of the service is not set.
        """
        url = self.server.public_url.reveal().rstrip("/") if self.server.public_url else ""
        return url if url and not url.startswith("/") else None

    def absolute(self, path: str) -> str:
        """Return a path of this service as a URL below `server.public_url`; the path itself if that is not set."""
        url = self.server.public_url
        return f"{url.reveal().rstrip('/') if url else ''}{path}"

    @property
    def package_urls(self) -> PackageUrls:
        """The download URLs of published versions."""
        url = self.s3.blob_base_url
        return PackageUrls(url.reveal() if url else None, self.absolute("/packages"))

    @property
    def is_replicated(self) -> bool:
        """Whether replicas on other machines may share the database."""
        return self.database_path is None

    @property
    def has_other_processes(self) -> bool:
        """Whether other processes may serve the same catalog."""
        return self.is_replicated or self.server.workers > 1


class Setting(NamedTuple):
    """One row of the configuration table.

    The flag of a switch says the other value than its default: `--read-only`, `--no-count-uses`. Secrets have no flag,
    because other users of the machine can read command lines. Tables have no flag either.
    """

    key: str
    environment: str
    flag: str | None
    annotation: Any
    default: object
    description: str

    @property
    def type(self) -> type:
        """The class of the values. A bool is a switch, and a tuple a repeated flag."""
        return kind(self.annotation)

    @property
    def expected(self) -> str:
        """A description of the accepted values."""
        return expected(self.annotation)


def _separated(key: str, separator: str) -> str:
    return re.sub(r"[._]|(?=[A-Z])", separator, key)


def _settings(group: type[msgspec.Struct], prefix: str) -> Iterator[Setting]:
    for item in msgspec.structs.fields(group):
        key = prefix + item.encode_name
        if kind(item.type) is item.type and issubclass(item.type, msgspec.Struct):
            yield from _settings(item.type, f"{key}.")
            continue
        meta = item.type.__metadata__[-1]
        dashes = "--no-" if item.default is True else "--"
        flag = (meta.extra or {}).get("flag", dashes + _separated(key.removeprefix("server."), "-").lower())
        yield Setting(
            key=key,
            environment=ENVIRONMENT_PREFIX + _separated(key, "_").upper(),
            flag=None if kind(item.type) is Secret else flag,
            annotation=item.type,
            default=item.default,
            description=meta.description,
        )


SETTINGS: tuple[Setting, ...] = tuple(_settings(Settings, ""))
"""Every setting, in the order of the structs."""


class _Given(NamedTuple):
    raw: object
    origin: str


def load_settings(flags: Mapping[str, object], environ: Mapping[str, str], config_file: Path | None = None) -> Settings:
    """Return the settings from flags, environment and file.

    `flags` has values by key; None or an empty tuple means that the flag was not used. `config_file` is the value of
    `--config`. The default is the file that SKILL_REGISTRY_CONFIG names, or else `registry.toml` in the current
    directory, if it exists. Raises SettingsError for the first unknown key, invalid value or contradiction,
    and for a secret that a file which was merely found would misdirect.
    """
    try:
        Path.cwd()
    except OSError as error:
        raise SettingsError(f"the current folder cannot be used ({error.strerror}): change to another one") from None
    named = config_file or environ.get(CONFIG_VARIABLE)
    raws = _from_fallbacks(environ) | _from_file(Path(named or CONFIG_FILE), required=bool(named))
    raws |= _from_environment(environ) | _from_flags(flags)
    values = {setting.key: _value(setting, raws.get(setting.key)) for setting in SETTINGS}
    settings = _build(Settings, "", values)
    origins = {key: value.origin for key, value in raws.items()}
    misuses = () if named else misdirected(settings, origins, CONFIG_FILE, environ)
    for message in (*contradictions(settings, origins), *misuses):
        raise SettingsError(message)
    if settings.registry.enabled:
        settings = msgspec.structs.replace(settings, profile="registry")
    return settings


def _from_flags(flags: Mapping[str, object]) -> dict[str, _Given]:
    by_key = {setting.key: setting for setting in SETTINGS}
    return {key: _Given(raw, by_key[key].flag or key) for key, raw in flags.items() if raw not in (None, "", ())}


def _from_environment(environ: Mapping[str, str]) -> dict[str, _Given]:
    keys = {setting.environment: setting.key for setting in SETTINGS}
    raws = {key: _Given(environ[name], name) for name, key in SHORT_NAMES.items() if environ.get(name)}
    for name, raw in environ.items():
        if not name.startswith(ENVIRONMENT_PREFIX) or name == CONFIG_VARIABLE or name in SHORT_NAMES:
            continue
        if name in keys:
            raws |= {keys[name]: _Given(raw, name)} if raw else {}
        elif not _SERVICE_LINK.fullmatch(f"{name}={raw}"):
            raise _unknown("variable", name, "the environment", keys)
    return raws


def _from_fallbacks(environ: Mapping[str, str]) -> dict[str, _Given]:
    named = {key: next(filter(environ.get, names), None) for key, names in FALLBACKS.items()}
    return _default_cache(environ) | {key: _Given(environ[name], name) for key, name in named.items() if name}


def _default_cache(environ: Mapping[str, str]) -> dict[str, _Given]:
    """Return the folder of the cache by the XDG base directories, which ignore relative paths."""
    for name, below in (("XDG_CACHE_HOME", "skill-registry"), ("HOME", ".cache/skill-registry")):
        folder = Path(environ.get(name) or ".")
        if folder.is_absolute():
            return {"cache.dir": _Given(str(folder / below), name)}
    return {}


def _from_file(path: Path, *, required: bool) -> dict[str, _Given]:
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8-sig"))  # editors on Windows write a mark
    except FileNotFoundError:
        if required:
            raise SettingsError(f"configuration file {path} does not exist") from None
        return {}
    except (OSError, ValueError) as error:
        raise SettingsError(f"configuration file {path} cannot be read: {' '.join(str(error).split())}") from None
    keys = [setting.key for setting in SETTINGS]
    raws = {}
    for key, raw in _leaves(document, ""):
        if key not in keys:
            raise _unknown("key", key, str(path), keys)
        if raw != "":
            raws[key] = _Given(raw, str(path))
    return raws


def _leaves(table: Mapping[str, object], prefix: str) -> Iterator[tuple[str, object]]:
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _unknown(what: str, name: str, origin: str, names: Iterable[str]) -> SettingsError:
    close = difflib.get_close_matches(name, names, n=1)
    hint = f"; did you mean {close[0]}?" if close else ""
    return SettingsError(f"unknown {what} {name!r} in {origin}{hint}")


def _value(setting: Setting, raw_value: _Given | None) -> object:
    default = setting.default.absolute() if isinstance(setting.default, Path) else setting.default
    raw, origin = raw_value or (default, "the current folder")
    expected_value = setting.expected
    read = read_sources if setting.key == "sources" else partial(convert, type_=setting.annotation)
    try:
        value = default if raw_value is None else read(raw)
        if is_encodable(value):
            return value
        expected_value += " in UTF-8"
    except RegistryError as error:
        expected_value += f"; {redact_text(error.line)}"
    except (msgspec.ValidationError, RuntimeError, UnicodeEncodeError):
        pass
    text = "" if setting.flag is None or issubclass(setting.type, Secret) else f" = {redact_text(repr(raw)):.200}"
    raise SettingsError(f"{setting.key}{text} (from {origin}): expected {expected_value}")


def _build(group: type[_Group], prefix: str, values: Mapping[str, object]) -> _Group:
    arguments = {
        item.name: _build(item.type, f"{prefix}{item.encode_name}.", values)
        if prefix + item.encode_name not in values
        else values[prefix + item.encode_name]
        for item in msgspec.structs.fields(group)
    }
    return group(**arguments)
