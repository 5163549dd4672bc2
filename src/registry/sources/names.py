"""The query for names of sources that a shell completes."""

SOURCES = "select name from source_states union select 'local'"
"""The names of the sources that were read, and that of the skills directory."""
