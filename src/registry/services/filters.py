"""What filters mean for the search engine: a skill passes by its labels."""

from collections.abc import Iterator, Sequence
from typing import Any

from registry.catalog.document_rows import ANY, ONLY_BY_PERSONS, REVOKED, attribute_labels
from registry.catalog.installs import SHADOWED
from registry.domain.findings import RISKS
from registry.services.schemas import FilterValues, SearchFilters
from registry.skill_folder.runtime_needs import agent_name, system_name
from search.types import Filter

DISABLED = "enabled:false"


def allowed(filters: SearchFilters) -> Filter:
    """Return the engine's form of filters. Disabled skills pass only if the filters ask for them."""
    exclusion = filters.not_ or FilterValues()
    excluded = [label for group in _groups(exclusion, says=()) for label in group]
    left_out = (SHADOWED,) if filters.enabled is False or exclusion.enabled else (DISABLED, SHADOWED)
    for_agents = (ONLY_BY_PERSONS, REVOKED) if filters.model_invocation else ()
    if exclusion.model_invocation is False:
        excluded.append(ONLY_BY_PERSONS)
    if exclusion.model_invocation:
        groups = [(ONLY_BY_PERSONS,)]
    else:
        groups = [(ONLY_BY_PERSONS,)] if filters.model_invocation is False else []
    admitted = filter(None, (*_groups(filters, says=(ANY,)), *groups))
    return Filter(tuple(admitted), tuple(dict.fromkeys((*left_out, *for_agents, *excluded))))


def _groups(values: FilterValues, *, says: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the labels of each value, alternatives together. `says` are other values of `os` and `agent` that count."""
    yield from ((f"tag:{tag.casefold()}",) for tag in values.tags)
    yield from ((f"capability:{capability.casefold()}",) for capability in values.capabilities)
    yield tuple(f"tag:{tag.casefold()}" for tag in values.any_tags)
    yield tuple(f"capability:{capability.casefold()}" for capability in values.any_capabilities)
    for name in ("source", "scope", "installed", "enabled"):
        items = _each(getattr(values, name))
        yield tuple(f"{name}:{str(item).lower() if isinstance(item, bool) else item}" for item in items)
    yield tuple(label for author in _each(values.author) for label in attribute_labels(author, None))
    yield tuple(label for license_ in _each(values.license) for label in attribute_labels(None, license_))
    if values.max_risk is not None:
        yield tuple(f"risk:{risk}" for risk in RISKS[: RISKS.index(values.max_risk) + 1])
    for name, usual in (("os", system_name), ("agent", agent_name)):
        if items := _each(getattr(values, name)):
            yield tuple(f"{name}:{item}" for item in (*map(usual, items), *says))


def _each(value: Any) -> Sequence[Any]:
    """Return the values of a filter: one, a list, or none."""
    return value if isinstance(value, list) else [] if value is None else [value]
