"""What a request says about the package that it sends, compared with what the package says about itself."""

from typing import NamedTuple

from registry.errors import FieldError, validation_error


class Expected(NamedTuple):
    """The id of the skill and the version that a package must have; None where the request does not say."""

    skill_id: str | None = None
    version: str | None = None

    def check(self, skill_id: str, version: str) -> None:
        """Compare the id and version of a package. Raises VALIDATION_ERROR with every difference."""
        faults = []
        if self.skill_id not in (None, skill_id):
            faults.append(FieldError("name", f"must be that of the skill, '{self.skill_id}'"))
        if self.version not in (None, version):
            advice = f"write 'version: {self.version}' into its front matter, or publish it as {version}"
            faults.append(FieldError("version", f"must be {self.version}; SKILL.md has {version}: {advice}"))
        if faults:
            raise validation_error(*faults)


ANY_PACKAGE = Expected()
"""The request says nothing about the package."""
