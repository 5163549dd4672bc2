"""The skill registry: keeps the catalog of skills and speaks HTTP."""

__version__ = "0.1.0"
