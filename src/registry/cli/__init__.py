"""The command `skill-registry`: one module a command group."""
