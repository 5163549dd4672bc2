"""The command `skill-registry`: one module per command group, the client of a server, and the output."""
