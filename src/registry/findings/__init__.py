"""What is dangerous or hidden in the texts of a skill: advice to agents and people, never a change of the skill.

`registry.findings.engine` looks for it; here is what it finds, of which the domain's types are made.
"""

from registry.findings.finding import RISKS, Finding, Kind, Risk, Severity, SkillFindings, risk

__all__ = ["RISKS", "Finding", "Kind", "Risk", "Severity", "SkillFindings", "risk"]
