"""`/v1/skills` as the OpenAI and Anthropic SDKs use it."""

from registry.protocols.v1_skills.contents import CONTENTS
from registry.protocols.v1_skills.skills import SKILLS
from registry.protocols.v1_skills.versions import VERSIONS

V1_SKILLS = [*SKILLS, *VERSIONS, *CONTENTS]
"""The routes below `/v1`."""
