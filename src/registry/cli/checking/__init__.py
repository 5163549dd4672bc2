"""`skill-registry check` and the forms of its report."""
