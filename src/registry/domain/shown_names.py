"""The names of skills beside their ids. An id has letters and digits of ASCII only, so some names are not in it."""


def name_beside_id(name: str) -> str:
    """Return the name of a skill if it has letters or digits that an id cannot have, else nothing: the id says it."""
    return name if any(char.isalnum() and not char.isascii() for char in name) else ""
