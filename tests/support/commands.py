"""The real command, run to its end."""

import json
import os
from pathlib import Path
from typing import Any

from support.processes import Finished
from support.servers import COMMAND, NO_CACHE

WORDS_ONLY = {"SKILL_REGISTRY_EMBEDDING_PROVIDER": "none"}


class Done:
    """One finished command. The logins of whoever runs the tests are not seen: `folder` holds the configuration."""

    def __init__(self, folder: Path, *args: str, stdin: str = "", **env: str) -> None:
        plain = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI", "SKILL_"))}
        whole = plain | {"XDG_CONFIG_HOME": str(folder / "config")} | WORDS_ONLY | NO_CACHE | env
        done = Finished([COMMAND, *args], whole, folder, stdin=stdin)
        self.code, self.out, self.error = done.code, done.out, done.error

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    def complains(self, code: int, *words: str) -> None:
        """Assert that it failed with one line that says these words."""
        assert self.code == code, self.error
        assert self.out == ""
        assert self.error.count("\n") == 1, self.error
        assert self.error.startswith("skill-registry: ")
        for word in words:
            assert word in self.error
