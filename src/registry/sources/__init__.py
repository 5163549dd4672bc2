"""Sources of skills that can be installed: reads what each source lists and keeps the catalog up to date."""
