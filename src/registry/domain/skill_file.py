"""The file that makes a folder a skill: its name, and the text of a new one, with placeholders for its author."""

from collections.abc import Collection

SKILL_FILE = "SKILL.md"

_TO_REPLACE = "(Say here what and when.)"

DESCRIPTION = f"Does one task from start to end. Use it when the user asks for this task. {_TO_REPLACE}"

_BODY = """
# {title}

Say in one sentence what an agent has achieved when it is done.

## When to use it

- Name the requests that this skill is for, in the words that people use.
- Name what it is not for.

## Steps

1. Write each step as an instruction, with the command to run or the file to change.
2. Say how the agent checks that the step has worked.

## Example

Show one request and its result.
"""

_LINES = frozenset(line for line in _BODY.splitlines() if line and not line.startswith("#"))


def is_skill_file(name: str) -> bool:
    """Return whether a file of this name makes its folder a skill. macOS and Windows do not tell cases apart."""
    return name == SKILL_FILE or (len(name) == len(SKILL_FILE) and name.lower() == SKILL_FILE.lower())


def skill_file_in(names: Collection[str]) -> str | None:
    """Return the name of the SKILL.md among the names in a folder, in its own case first; None if there is none."""
    if SKILL_FILE in names:
        return SKILL_FILE
    return min((name for name in names if is_skill_file(name)), default=None)


def body_of(name: str) -> str:
    """Return the body of a new skill of this name."""
    return _BODY.format(title=name.replace("-", " ").capitalize())


def placeholder_in(text: str) -> str | None:
    """Return the first placeholder that a SKILL.md still has, None without one.

    That of the description may be anywhere and broken into lines; the others are whole lines, as 'init' writes them.
    """
    if _TO_REPLACE in " ".join(text.split()):
        return _TO_REPLACE
    return next((line for line in map(str.rstrip, text.splitlines()) if line in _LINES), None)
