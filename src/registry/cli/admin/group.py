"""`skill-registry admin`: the commands of those who run a registry."""

from registry.cli.help.lazy_group import LazyGroup, lazy_commands

ADMIN_COMMANDS = lazy_commands(
    "registry.cli.admin",
    {
        "Accounts": (
            ("accounts", "keys", "Create, list and revoke API keys."),
            ("accounts", "users", "Add, list, change and remove users."),
            ("publishers", "publishers", "Register workflows that publish without a secret."),
            ("scopes", "scopes", "Make scopes private, and say who their members are."),
            ("accounts", "token", "Sign a token with the secret of this registry."),
        ),
        "Stores": (
            ("operations", "backup", "Write a backup while the service runs."),
            ("operations", "verify-backup", "Compare a backup with its checksums and digests."),
            ("fsck", "fsck", "Compare the stores of a catalog, and repair them."),
            ("rebuild", "rebuild", "Rebuild a lost database from the index and the packages."),
            ("database", "migrate", "Copy a catalog from SQLite into PostgreSQL."),
            ("operations", "clone-index", "Clone the registry index into its empty folder."),
            ("database", "forget-secrets", "Delete the secrets that replicas share, after a loss."),
        ),
        "Log, jobs and model": (
            ("jobs", "jobs", "List, retry and discard publish jobs that are set aside."),
            ("log", "log", "Administer the transparency log."),
            ("embed", "embed", "Embed all skills with the configured model, then exit."),
        ),
    },
)
"""The commands by name."""

admin = LazyGroup(
    name="admin", lazy_commands=ADMIN_COMMANDS, help="Administer accounts, stores and the log of a registry."
)
