"""Mirrors: packages, index lines and the log of other registries, kept as files and handed on as they are."""
