"""Search and embeddings."""

from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from registry.config.types import Dimension, HttpUrl, Rate, Seconds, Secret, ServerUrl


class SearchSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The implementation of vector search, and learning from use."""

    vectors: Annotated[
        Literal["memory", "database", "milvus"],
        Meta(description="where vector search runs: memory of each process, PostgreSQL with pgvector, or Milvus"),
    ] = "memory"
    milvus_uri: Annotated[
        ServerUrl | None,
        Meta(description="URL of Milvus, http:// or https://, with its port (default: 19530, or 443)"),
    ] = None
    milvus_token: Annotated[Secret | None, Meta(description="token of Milvus: an API key, or USER:PASSWORD")] = None
    milvus_database: Annotated[str, Meta(description="database in Milvus", max_length=255)] = "default"
    milvus_seconds: Annotated[
        Seconds, Meta(description="timeout of a call to Milvus; then keyword search answers with a warning")
    ] = 2.0
    learning: Annotated[
        Literal["auto", "on", "off"],
        Meta(
            description="learn from which skills are chosen for a search; auto: unless callers may be anonymous "
            "(auth.anonymous_read, auth.issuer = open)"
        ),
    ] = "auto"


class EmbeddingSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The model that embeds texts."""

    provider: Annotated[
        Literal["auto", "hosted", "local", "none"],
        Meta(description="auto: hosted with an API key, else local if installed, else none: keyword search only"),
    ] = "auto"
    model: Annotated[
        str | None, Meta(description="name or path of the model; default: the provider's default model")
    ] = None
    adapter: Annotated[
        str, Meta(description="auto: the default model is tuned for skills; none: it is not; or the path of an adapter")
    ] = "auto"
    base_url: Annotated[
        HttpUrl | None,
        Meta(description="base URL of the hosted provider (or OPENAI_BASE_URL), or of the Azure resource"),
    ] = None
    api_key: Annotated[Secret | None, Meta(description="API key of the hosted provider (or OPENAI_API_KEY)")] = None
    api_version: Annotated[
        str | None, Meta(description="version of the API of Azure OpenAI; set it only for that provider")
    ] = None
    dimension: Annotated[Dimension | None, Meta(description="requested vector dimension; default: the model's own")] = (
        None
    )
    threads: Annotated[int, Meta(ge=1, le=256, description="threads of the local model in each process")] = 1
    rate: Annotated[
        Rate | None, Meta(description="maximum skills per second that each process embeds; default: no limit")
    ] = None
    models_dir: Annotated[
        Path | None, Meta(description="folder of converted local models; default: models in data_dir")
    ] = None
