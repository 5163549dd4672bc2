"""Sources: where skills that are not installed are advertised, and what each of them lists."""
