"""Well-known discovery: one document a skill, its zip and its files, and the search of the `skills` command."""

from registry.protocols.well_known.find import FIND
from registry.protocols.well_known.routes import DOCUMENTS

WELL_KNOWN = [*DOCUMENTS, *FIND]
