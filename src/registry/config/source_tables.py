"""The sources of the configuration file: [[sources]] tables with the addresses that `sources add` takes."""

from typing import Any

from registry.config.types import convert
from registry.domain import validation
from registry.domain.source_entry import ConfiguredSource, NewSource


def read_sources(raw: object) -> tuple[ConfiguredSource, ...]:
    """Return the sources that tables, or a text of JSON, describe.

    Raises VALIDATION_ERROR in the words of `sources add`; msgspec.ValidationError for anything but tables with known
    keys.
    """
    tables = convert(raw, tuple[dict[str, Any], ...])
    return tuple(validation.convert(NewSource.prepared(table), ConfiguredSource) for table in tables)
