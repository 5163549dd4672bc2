"""Projects that use skills: the manifest, the lock file, the rule file, and the checks against them."""
