"""An operator's tools: backup and consistency checks."""
