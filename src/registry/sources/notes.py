"""Tells what a checkout lacks: at the source, and at the skill that lacks it."""

from collections.abc import Sequence

from registry.domain.file_names import printable_name
from registry.domain.source_entry import Listing
from registry.outbound.git_links import CheckoutNote
from registry.sources.marketplace import MAX_WARNINGS

_MAX_PER_SKILL = 5


def with_notes(listing: Listing, notes: Sequence[CheckoutNote]) -> Listing:
    """Return the listing with a warning for each note, also at the skill whose folder has the path."""
    places = {str(getattr(skill.origin, "subdir", None) or ""): skill for skill in listing.skills}
    for note in notes:
        parts = note.path.split("/")
        folders = ("/".join(parts[:count]) for count in range(len(parts) - 1, -1, -1))
        folder = next((folder for folder in folders if folder in places), None)
        if folder is not None and len(places[folder].warnings) < _MAX_PER_SKILL + MAX_WARNINGS:
            below = note.path.removeprefix(f"{folder}/") if folder else note.path
            places[folder].warnings.append(f"{printable_name(below)} {note.message}")
    told = [note.text for note in notes[:MAX_WARNINGS]]
    listing.warnings = [*told, *listing.warnings][:MAX_WARNINGS]
    return listing
