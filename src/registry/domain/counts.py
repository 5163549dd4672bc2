"""Numbers with their nouns."""


def counted(count: int, noun: str) -> str:
    """Return a number with its noun: `1 skill`, `2,000 skills`, `3 entries`, `30 days`."""
    is_changed = noun.endswith("y") and noun[-2:-1] not in tuple("aeou")
    plural = f"{noun[:-1]}ies" if is_changed else f"{noun}s"
    return f"{count:,} {noun if count == 1 else plural}"
