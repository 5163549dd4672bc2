"""The file that makes a folder a skill: its name, and the text of a new one, with placeholders for its author."""

SKILL_FILE = "SKILL.md"

_TO_REPLACE = "(Say here what and when.)"

DESCRIPTION = f"Does one task from start to end. Use it when somebody asks for this task. {_TO_REPLACE}"

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


def body_of(name: str) -> str:
    """Return the body of a new skill of this name."""
    return _BODY.format(title=name.replace("-", " ").capitalize())
