"""`skill-registry admin`: the commands of those who run a registry."""

from registry.cli.help.lazy_group import LazyCommand, LazyGroup

_ACCOUNTS, _STORES, _WORK = "Accounts", "Stores", "Log, jobs and model"

ADMIN_COMMANDS = {
    name: LazyCommand(f"registry.cli.admin.{module}", summary, section)
    for section, commands in (
        (
            _ACCOUNTS,
            (
                ("accounts", "keys", "Create, list and revoke API keys."),
                ("accounts", "users", "Add, list, change and remove users."),
                ("publishers", "publishers", "Register workflows that publish without a secret."),
                ("accounts", "token", "Sign a token with the secret of this registry."),
            ),
        ),
        (
            _STORES,
            (
                ("operations", "backup", "Write a backup while the service runs."),
                ("operations", "verify-backup", "Compare a backup with its checksums and digests."),
                ("fsck", "fsck", "Compare the stores of a catalog, and repair them."),
                ("rebuild", "rebuild", "Rebuild a lost database from the index and the packages."),
                ("database", "migrate", "Copy a catalog from SQLite into PostgreSQL."),
                ("operations", "clone-index", "Clone the registry index into its empty folder."),
                ("database", "forget-secrets", "Delete the secrets that replicas share, after a loss."),
            ),
        ),
        (
            _WORK,
            (
                ("jobs", "jobs", "List, retry and discard publish jobs that are set aside."),
                ("log", "log", "Administer the transparency log."),
                ("embed", "embed", "Embed all skills with the configured model, then exit."),
            ),
        ),
    )
    for module, name, summary in commands
}
"""The commands by name."""

admin = LazyGroup(
    name="admin", lazy_commands=ADMIN_COMMANDS, help="Administer accounts, stores and the log of a registry."
)
