"""What a careful author gives a skill, and what of it a skill has. It says nothing of whether the skill is any good."""

import msgspec

from registry.domain.models import Skill, example_texts


class ChecklistRow(msgspec.Struct, kw_only=True):
    """One thing to have. `advice` says how to get it, and is there also where it is met."""

    name: str
    met: bool
    text: str
    advice: str


class Checklist(msgspec.Struct, kw_only=True):
    """How many of the rows are met, of how many."""

    met: int
    total: int
    rows: list[ChecklistRow]


def checklist_of(skill: Skill, *, has_evals: bool) -> Checklist:
    """Return what a skill has. `has_evals` says whether it brings tasks to test it with."""
    has_examples = bool(example_texts(skill.metadata.get("examples")))
    is_clean = skill.findings is not None and skill.findings.risk == "none"
    rows = [
        _row("license", bool(skill.license), "It names its licence", "name it with license in the front matter"),
        _row("author", bool(skill.author), "It names its author", "name them with metadata.author"),
        _row(
            "labels",
            bool(skill.tags or skill.capabilities),
            "It has tags or capabilities",
            "give it metadata.tags or metadata.capabilities, by which lists are filtered",
        ),
        _row(
            "examples",
            has_examples,
            "It has examples of requests",
            "list requests that it is for in metadata.examples: search finds it by them",
        ),
        _row("evals", has_evals, "It has evals", "add evals/evals.json with tasks to test it with"),
        _row(
            "format",
            not skill.warnings,
            "It follows the Agent Skills format",
            "run skill-registry check in its folder, which says what differs",
        ),
        _row("findings", is_clean, "Nothing was found in its texts", "see its findings"),
        _row(
            "publisher",
            skill.publisher is not msgspec.UNSET,
            "A trusted workflow published it",
            "publish it from a workflow that the registry trusts",
        ),
    ]
    return Checklist(met=sum(row.met for row in rows), total=len(rows), rows=rows)


def _row(name: str, met: bool, text: str, advice: str) -> ChecklistRow:
    return ChecklistRow(name=name, met=met, text=text, advice=advice)
