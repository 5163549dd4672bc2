"""Reads the recipes of docs/recipes.md and applies them to a copy of the sources, exactly as they are written.

A recipe is a section with numbered steps. Each begins with one of these sentences, and has its code in a block below:

    In `FILE`, after `LINE`, add:
    In `FILE`, replace `TEXT` with:
    Create `FILE`:
    Create `FILE` and run it:
    Raise `NAME` in `FILE` by one.
    Run `pytest FILE…`.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_SECTION = re.compile(r"^## (.+)\n((?:(?!## ).*\n)*)", re.MULTILINE)
_STEP = re.compile(r"^\d+\. ", re.MULTILINE)
_CODE = re.compile(r"^ {3}```\w+\n((?:.*\n)*?) {3}```$", re.MULTILINE)
_MARGIN = re.compile(r"^ {3}", re.MULTILINE)
_NAMED = r"(?:`` ?(?P<{0}_>.+?) ?``|`(?P<{0}>[^`]+)`)"
_KINDS = tuple(
    re.compile(re.sub(r"(?<!P)<(\w+)>", lambda name: _NAMED.format(name[1]), text))
    for text in (
        "In <file>, after <after>, add:",
        "In <file>, replace <old> with:",
        "Create <file>:",
        "Create <tests> and run it:",
        r"Raise <number> in <file> by one\.",
        r"Run `pytest (?P<tests>[^`]+)`\.",
    )
)


class Step(NamedTuple):
    """One step: its sentence, what this names, and its code."""

    sentence: str
    names: dict[str, str]
    code: str

    def apply(self, sources: Path) -> None:
        """Change what the step names. Raises AssertionError where the place is not there exactly once."""
        names = self.names
        file = sources / names.get("file", names.get("tests", ""))
        if "after" in names:
            self._put(file, rf"^(?P<kept>.*{re.escape(names['after'])}.*\n)", self.code)
        elif "old" in names:
            self._put(file, re.escape(names["old"]), self.code.removesuffix("\n"))
        elif "number" in names:
            (declared,) = re.findall(rf"^{names['number']} = (\d+)$", file.read_text(), re.MULTILINE)
            self._put(file, rf"^(?P<kept>{names['number']} = )\d+$", str(int(declared) + 1))
        elif self.code:
            assert not file.exists(), self.sentence
            file.write_text(self.code)

    def _put(self, file: Path, place: str, code: str) -> None:
        text = file.read_text()
        matches = list(re.finditer(place, text, re.MULTILINE))
        assert len(matches) == 1, f"{self.sentence} The place is there {len(matches)} times."
        kept = matches[0].groupdict().get("kept", "")
        file.write_text(text[: matches[0].start()] + kept + code + text[matches[0].end() :])


class Recipe(NamedTuple):
    """A recipe."""

    title: str
    steps: list[Step]

    @property
    def tests(self) -> list[str]:
        """The files of tests that prove it: those of the last step."""
        return self.steps[-1].names["tests"].split()


def recipes(document: Path) -> list[Recipe]:
    """Return the recipes of the document. Raises AssertionError where a step is of no known kind."""
    return [Recipe(title, list(_steps(text))) for title, text in _SECTION.findall(document.read_text())]


def _steps(text: str) -> Iterator[Step]:
    for part in _STEP.split(text)[1:]:
        code = _CODE.search(part)
        sentence = " ".join(part[: code.start() if code else None].split())
        said = next((match for kind in _KINDS if (match := kind.match(sentence))), None)
        assert said, f"a step of no known kind: {sentence}"
        names = {name.rstrip("_"): value for name, value in said.groupdict().items() if value}
        yield Step(sentence, names, _MARGIN.sub("", code[1]) if code else "")
