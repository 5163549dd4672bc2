"""What a benchmark leaves: its figures, with the command that made them."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def keep(file: Path | None, figures: Mapping[str, Any]) -> None:
    """Write figures into a file, with the command of this process first; do nothing where there is no file."""
    if file is not None:
        kept = {"command": " ".join([Path(sys.executable).name, *sys.argv]), **figures}
        file.write_text(json.dumps(kept, indent=2) + "\n")
