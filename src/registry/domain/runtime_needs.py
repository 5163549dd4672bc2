"""What decides whether a skill is chosen and can run: its occasions, what it needs, and who may choose it."""

import msgspec


class Requirements(msgspec.Struct, kw_only=True):
    """What a skill requires.

    Args:
        bins: Programs, all of which must be there.
        any_bins: Programs, one of which must be there.
        env: Variables of the environment.
        os: Operating systems, one of which it must be: `linux`, `macos`, `windows` or another name.
    """

    bins: list[str] = msgspec.field(default_factory=list)
    any_bins: list[str] = msgspec.field(default_factory=list)
    env: list[str] = msgspec.field(default_factory=list)
    os: list[str] = msgspec.field(default_factory=list)


class RuntimeNeeds(msgspec.Struct, kw_only=True):
    """The fields of a skill that decide whether it is chosen and can run, wherever a skill is described.

    Args:
        compatibility: The author's sentence about products, programs and networks.
        allowed_tools: The tools that an agent may use without a question.
        requires: What must be there; None if nothing is declared.
        agents: The agents that it is for; empty if it is for any.
        model_invocation: Whether an agent may choose it. Otherwise only a person does.
        triggers: When to use it, as its author puts it beside the description: occasions, phrases, keywords.
    """

    compatibility: str | None = None
    allowed_tools: list[str] = msgspec.field(default_factory=list)
    requires: Requirements | None = None
    agents: list[str] = msgspec.field(default_factory=list)
    model_invocation: bool = True
    triggers: list[str] = msgspec.field(default_factory=list)


NEEDS = RuntimeNeeds.__struct_fields__
"""The names of these fields."""
