"""`skill-registry dev`: the commands of those who build on a registry."""

from registry.cli.help.lazy_group import LazyCommand, LazyGroup

DEV_COMMANDS = {
    name: LazyCommand(f"registry.cli.dev.{module}", summary, "Commands")
    for module, name, summary in (
        ("evaluation", "eval", "Measure search quality on labelled queries."),
        ("conformance", "conformance", "Check whether a service keeps the HTTP specification."),
    )
}
"""The commands by name."""

dev = LazyGroup(name="dev", lazy_commands=DEV_COMMANDS, help="Measure a search, and check a service.")
