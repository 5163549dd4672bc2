"""`skill-registry admin log`: administer the transparency log on the machine of its data directory."""

import time
from typing import Any

import click

from registry.auth.audit import Audit
from registry.cli import console
from registry.cli.admin.accounts import local_database
from registry.cli.command import json_option, private_scope_option, stop
from registry.cli.help.settings_options import settings_options
from registry.config.settings import Settings
from registry.domain.models import now
from registry.runtime.data_dir import DataDirInUse, DataDirLock
from registry.runtime.private_files import PrivateFileExposed
from registry.services.registry_profile import log_signer
from registry.transparency.checkpoint import KEY_FILE, KeyUnusable
from registry.transparency.log import TransparencyLog


@click.group()
def log() -> None:
    """Administer the transparency log."""


@log.command("new-identity")
@json_option
@private_scope_option
@settings_options("data_dir", "database.url", "transparency.name")
def new_identity(as_json: bool, **flags: Any) -> None:
    """Sign the log with a new key, after it contradicts a checkpoint that others have seen.

    Readers who know the old key refuse the log until they trust the new one. Stop every process of the service first.
    With transparency.key, set another key first. The old log.key is kept beside the new one.
    """
    with local_database(flags) as (settings, database):
        try:
            lock = DataDirLock.wait(settings.data_dir)
        except DataDirInUse as running:
            stop(running)
        try:
            transparency_log = TransparencyLog(database, now)
            key = _new_key(settings, transparency_log.identity_keys())
            with Audit(database, now).of_command("admin log new-identity", key):
                transparency_log.start_new_identity(key)
        finally:
            lock.release()
    console.show({"key": key}, console.facts_table, as_json=as_json)


def _new_key(settings: Settings, former_keys: list[str]) -> str:
    """Return the public half of the new key. It is configured, or generated into the data directory."""
    try:
        path = settings.data_dir / KEY_FILE
        if settings.transparency.key is None and log_signer(settings).verifier_key in former_keys:
            path.rename(path.with_name(f"{KEY_FILE}.{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}"))
        key = log_signer(settings).verifier_key
    except (KeyUnusable, PrivateFileExposed) as error:
        stop(error)
    if key in former_keys:
        stop(
            "transparency.key is a key of the old identity: set another one (`openssl rand -hex 32`), in every replica"
        )
    return key
