"""`skill-registry dev`: the commands of those who build on a registry."""

from registry.cli.help.lazy_group import LazyGroup, lazy_commands

DEV_COMMANDS = lazy_commands(
    "registry.cli.dev",
    {
        "Commands": (
            ("evaluation", "eval", "Measure search quality on labelled queries."),
            ("conformance", "conformance", "Check whether a service keeps the HTTP specification."),
        ),
    },
)
"""The commands by name."""

dev = LazyGroup(name="dev", lazy_commands=DEV_COMMANDS, help="Measure a search, and check a service.")
