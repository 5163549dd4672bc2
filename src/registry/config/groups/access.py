"""Who may do what: tokens, the keys of the log, reachable hosts and folders."""

from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from registry.config.types import AllowedOrigin, CopyUrl, GroupRole, IssuerUrl, ReachableHost, Secret, Url, Witness
from registry.domain.findings import Severity


class SignInSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The issuer of OpenID Connect at which people sign in."""

    issuer: Annotated[
        IssuerUrl | None,
        Meta(description="issuer of OpenID Connect at which people sign in, such as https://id.example.org/realms/it"),
    ] = None
    client_id: Annotated[str | None, Meta(description="id of this service at the issuer")] = None
    client_secret: Annotated[
        Secret | None, Meta(description="secret of this service at the issuer; a public client has none")
    ] = None
    name_claim: Annotated[str, Meta(description="claim of identity tokens with the user name of a person")] = (
        "preferred_username"
    )
    groups_claim: Annotated[str, Meta(description="claim of identity tokens with the groups of a person")] = "groups"
    groups: Annotated[
        tuple[GroupRole, ...],
        Meta(
            description="what groups may do: acme-team=manager@acme, staff=user; the first that a person is in counts, "
            "and who is in none is refused",
            extra={"flag": None},
        ),
    ] = ()
    scopes: Annotated[
        tuple[Annotated[str, Meta(pattern=r"\A[\x21\x23-\x5b\x5d-\x7e]{1,100}\Z")], ...],
        Meta(description="the scopes requested from the issuer besides openid, so that its tokens have these claims"),
    ] = ("profile",)


class AuthSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens and anonymous access in the registry profile."""

    secret: Annotated[
        Secret | None, Meta(description="secret that signs tokens, 32 bytes or more; default: generated in data_dir")
    ] = None
    previous_secret: Annotated[
        Secret | None, Meta(description="previous auth.secret; its tokens stay valid while this is set")
    ] = None
    issuer: Annotated[
        Literal["open", "closed"] | None,
        Meta(
            description="open: every caller gets any token; default: open for programs of the same user on this "
            "machine, if the service listens on loopback and has no public URL"
        ),
    ] = None
    token_lifetime: Annotated[int, Meta(ge=60, le=31_536_000, description="lifetime of a token in seconds")] = 86_400
    anonymous_read: Annotated[bool, Meta(description="allow callers without a credential to read and search")] = False
    oidc: SignInSettings = SignInSettings()


class AuditSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The audit log of the registry profile."""

    keep_days: Annotated[
        int, Meta(ge=0, le=36_500, description="days that entries of the audit log are kept; 0 keeps them for ever")
    ] = 0


class TransparencySettings(msgspec.Struct, frozen=True, kw_only=True):
    """The transparency log of published versions."""

    name: Annotated[
        str,
        Meta(
            pattern=r"\A[A-Za-z0-9][A-Za-z0-9._/-]{0,99}\Z",
            title="a name such as registry.example.org",
            description="name in the signatures of the log's checkpoints (registry profile)",
        ),
    ] = "skill-registry"
    key: Annotated[
        Secret | None,
        Meta(description="private key that signs the log, 64 hexadecimal digits; default: generated in data_dir"),
    ] = None
    checkpoints: Annotated[
        tuple[CopyUrl, ...],
        Meta(
            description="URLs of copies of the log's checkpoint, such as the file of the index; the log must not "
            "contradict them",
            extra={"flag": "--transparency-checkpoint"},
        ),
    ] = ()
    witnesses: Annotated[
        tuple[Witness, ...],
        Meta(
            description="witnesses that cosign checkpoints (C2SP tlog-witness): verifier key, space, URL",
            extra={"flag": "--transparency-witness"},
        ),
    ] = ()


class GitCredentialSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The credential for the repositories at one origin. Raises ValueError without a password or a program."""

    origin: Annotated[str, Meta(pattern=r"\Ahttps?://[^/\s,@?#*]+\Z")]
    user: str = "git"
    password: Secret | None = None
    askpass: str | None = None

    def __post_init__(self) -> None:
        if (self.password is None) == (self.askpass is None):
            raise ValueError("must have exactly one of password and askpass")


class OutboundSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The hosts that may be fetched from, and how they are reached."""

    allowed_hosts: Annotated[
        tuple[ReachableHost, ...],
        Meta(
            description="hosts, host:port and networks that may be fetched from although they are not public",
            extra={"flag": "--outbound-allowed-host"},
        ),
    ] = ()
    proxy: Annotated[
        Url | None,
        Meta(description="proxy of all outgoing requests over https and http, instead of the next two"),
    ] = None
    https_proxy: Annotated[Url | None, Meta(description="proxy of requests over https (or HTTPS_PROXY, ALL_PROXY)")] = (
        None
    )
    http_proxy: Annotated[Url | None, Meta(description="proxy of requests over http (or HTTP_PROXY, ALL_PROXY)")] = None
    no_proxy: Annotated[
        tuple[str, ...],
        Meta(
            description="hosts, domains, addresses and networks that are reached without a proxy; * for all (or "
            "NO_PROXY)",
        ),
    ] = ()
    ca_file: Annotated[
        Path | None,
        Meta(description="authorities that https trusts, in PEM, instead of those of the system (or SSL_CERT_FILE)"),
    ] = None
    ca_dir: Annotated[Path | None, Meta(description="folder of such authorities (or SSL_CERT_DIR)")] = None
    git_credentials: Annotated[
        tuple[GitCredentialSettings, ...],
        Meta(
            description="credentials for private repositories: [[outbound.git_credentials]] tables with origin, such "
            "as https://git.example.org, user, and password (a secret) or askpass (a program that prints it)",
            title="tables with origin, user, and either password or askpass",
            extra={"flag": None},
        ),
    ] = ()
    netrc_file: Annotated[
        Path | None,
        Meta(description="netrc file with more of these credentials, used for https", extra={"flag": None}),
    ] = None


class InstallSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What may be installed, and from where."""

    allowed_roots: Annotated[
        tuple[Path, ...],
        Meta(
            description="folders that may be installed from, with subfolders; the local profile on loopback allows all",
            extra={"flag": "--install-allowed-root"},
        ),
    ] = ()
    allowed: Annotated[
        tuple[AllowedOrigin, ...],
        Meta(
            description="origins that may be installed from: URLs with what is below them, 'local' for folders, "
            "'registry' for what this service has published; default: all",
            extra={"flag": "--install-allowed"},
        ),
    ] = ()
    max_risk: Annotated[
        Severity, Meta(description="highest risk of a package that may be installed; high allows every risk")
    ] = "high"
    min_age: Annotated[
        str,
        Meta(
            pattern=r"\A(0|[1-9][0-9]{0,3})[hd]\Z",
            title="hours or days, such as 36h or 3d",
            description="least age of a version that may be installed, by its log entry, else since it was first seen",
        ),
    ] = "0d"

    @property
    def least_age(self) -> int:
        """The least age in seconds."""
        return int(self.min_age[:-1]) * (86_400 if self.min_age.endswith("d") else 3_600)
