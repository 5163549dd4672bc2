"""Tools for operators: backup and consistency checks."""
