"""A keyring for the library `keyring`: a file of JSON, which can be locked, silent or forgetful."""

import json
import os
import time
from pathlib import Path

from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked, PasswordDeleteError


class Keyring(KeyringBackend):  # type: ignore[misc]  # an extra, which mypy does not follow
    """The environment names the file, and how the keyring behaves: as it should unless it says otherwise."""

    priority = 5

    def get_password(self, service: str, username: str) -> str | None:
        return self._secrets().get(f"{service} {username}")

    def set_password(self, service: str, username: str, password: str) -> None:
        secrets = self._secrets() | {f"{service} {username}": password}
        if os.environ.get("KEYRING_MOOD") != "forgetful":
            self._file.write_text(json.dumps(secrets))

    def delete_password(self, service: str, username: str) -> None:
        secrets = self._secrets()
        if secrets.pop(f"{service} {username}", None) is None:
            raise PasswordDeleteError(username)
        self._file.write_text(json.dumps(secrets))

    @property
    def _file(self) -> Path:
        return Path(os.environ["KEYRING_FILE"])

    def _secrets(self) -> dict[str, str]:
        if os.environ.get("KEYRING_MOOD") == "locked":
            raise KeyringLocked(f"the keyring is locked: {self._file.read_text() if self._file.exists() else ''}")
        if os.environ.get("KEYRING_MOOD") == "silent":
            time.sleep(3600)
        return dict(json.loads(self._file.read_text())) if self._file.exists() else {}
