"""Bounded parsers for text from outside: JSON, YAML, TOML, front matter and Markdown."""
