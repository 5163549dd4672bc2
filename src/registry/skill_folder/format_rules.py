"""The rules of agentskills.io for front matter, as its own checker has them. Breaking one is a warning here.

Its checker also refuses lists and mappings in brackets. They are YAML, agents read them, and so there is no warning.
"""

import unicodedata
from collections.abc import Iterator, Mapping

from registry.parsing.yaml_text import Value

FIELDS = frozenset({"name", "description", "license", "compatibility", "metadata", "allowed-tools"})
"""The fields of the format."""

MAX_NAME = 64
MAX_DESCRIPTION = 1_024
MAX_COMPATIBILITY = 500
_MAX_SHOWN = 5


def format_warnings(fields: Mapping[str, Value], folder: str | None) -> Iterator[tuple[str, str]]:
    """Yield the field and the warning for each rule that front matter breaks, but for missing fields.

    `folder` is the name of the skill's folder, None if it is not known.
    """
    others = [key for key in fields if key not in FIELDS]
    if others:
        names = ", ".join(others[:_MAX_SHOWN]) + (", …" if len(others) > _MAX_SHOWN else "")
        yield others[0], f"not in the agentskills.io format, some agents refuse it: {names} (move it into metadata)"
    name = fields.get("name")
    if name:
        yield from (("name", warning) for warning in _name_warnings(name, folder))
    description = fields.get("description")
    if description and not isinstance(description, str):
        yield "description", "the description is no text"
    compatibility = fields.get("compatibility", "")
    if not isinstance(compatibility, str):
        yield "compatibility", "compatibility is no text"
    elif len(compatibility) > MAX_COMPATIBILITY:
        yield "compatibility", f"compatibility is longer than {MAX_COMPATIBILITY} characters"
    tools = fields.get("allowed-tools", "")
    if isinstance(tools, dict) or (isinstance(tools, list) and not all(isinstance(tool, str) for tool in tools)):
        yield "allowed-tools", "allowed-tools is no text or list of texts"


def _name_warnings(name: Value, folder: str | None) -> Iterator[str]:
    if not isinstance(name, str):
        yield "the name is no text"
        return
    name = unicodedata.normalize("NFKC", name.strip())
    is_plain = name == name.lower() and all(letter.isalnum() or letter == "-" for letter in name)
    if not is_plain or name.startswith("-") or name.endswith("-") or "--" in name:
        yield "the name should be lower-case letters and digits, with single hyphens between them"
    if len(name) > MAX_NAME:
        yield f"the name is longer than {MAX_NAME} characters"
    if folder is not None and unicodedata.normalize("NFKC", folder) != name:
        yield f"the name differs from the folder's, '{folder}'"
