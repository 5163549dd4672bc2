"""The HTTP interface: its middleware and its routes."""
