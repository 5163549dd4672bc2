"""The queries for names that a shell completes. This module loads nothing: a key press waits for it."""

KNOWN = "select id as name from documents where gone = 0"
"""The ids of all skills that a search can find."""

INSTALLED = "select id as name from skills where folder is not null"
"""The ids of the installed skills."""

TAGS = "select value as name from documents, json_each(tags) where gone = 0"
"""The tags of skills."""
