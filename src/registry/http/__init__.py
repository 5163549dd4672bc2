"""The HTTP interface: the application, its middleware and its routes."""
