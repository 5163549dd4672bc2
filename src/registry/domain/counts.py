"""Numbers with their nouns."""


def counted(count: int, noun: str) -> str:
    """Return a number with its noun: `1 skill`, `2,000 skills`, `3 entries`."""
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count:,} {noun if count == 1 else plural}"
