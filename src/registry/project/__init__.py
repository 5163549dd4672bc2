"""A project that uses skills: its manifest, its lock file, its rule file, and the checks against them."""
