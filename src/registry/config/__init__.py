"""The settings: their types, their defaults and the sources of their values."""
