"""A source that has not changed is read again when the service reads skills by other rules than before."""

from pathlib import Path

import pytest

from registry.config.settings import load_settings
from registry.domain.models import now
from registry.domain.source_entry import NewSource
from registry.skill_folder.reading import READER
from registry.sources.service import Sources
from registry.sources.tree import RECIPE
from support.catalogs import SkillCatalog
from support.git_server import GitServer

FORMER = RECIPE.replace(f".{READER}:", f".{READER - 1}:")


def skill(description: str) -> str:
    return f"---\nname: pdf\ndescription: {description}\n---\n"


@pytest.mark.parametrize("former", [FORMER, "2:"])
def test_a_raised_reader_reads_an_unchanged_source_again(tmp_path: Path, catalog: SkillCatalog, former: str) -> None:
    settings = load_settings({"data_dir": str(tmp_path), "outbound.allowed_hosts": ("127.0.0.1",)}, {})
    with GitServer(tmp_path / "hub") as hub:
        hub.repository("skills").commit({"skills/pdf/SKILL.md": skill("As it was read.")})
        sources = Sources(settings, catalog.database, catalog.catalog, now)
        try:
            sources.add(NewSource(name="hub", url=hub.url("skills"), type="git"))
            # What the checkout says now stands for what another reader would find in it.
            (checkout,) = (tmp_path / "sources").glob("hub/*/hub/skills/pdf/SKILL.md")
            checkout.write_text(skill("As it is read now."))
            sources.refresh()
            assert catalog.catalog.get("hub/pdf").description == "As it was read."
            with catalog.database.write() as transaction:
                transaction.execute("update source_states set mark = replace(mark, ?, ?)", (RECIPE, former))
            sources.refresh()
            assert catalog.catalog.get("hub/pdf").description == "As it is read now."
        finally:
            sources.stop()
