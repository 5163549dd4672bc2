"""Counts how many of the listed skills of real collections are installed.

python benchmarks/installable.py ../shared/data/skills/* > benchmarks/results/installable.json

Each folder is listed as a source is, and each listed skill is read as `install` reads it.
"""

import json
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

from registry.domain.origins import LocalOrigin
from registry.packages.package import read_folder
from registry.packages.refusal import PackageRefused
from registry.sources.tree import read_tree


def counted(root: Path) -> dict[str, object]:
    """Return how many skills a collection lists, says cannot be installed, and how many of the others are installed."""
    listed = read_tree(root, lambda place: LocalOrigin(path=place)).skills
    installed, refused = 0, Counter[str]()
    with tempfile.TemporaryDirectory() as place:
        for skill in listed:
            folder = root / str(getattr(skill.origin, "path", "."))
            try:
                read_folder(folder, Path(place) / "staged", named=folder.name)
                installed += 1
                shutil.rmtree(Path(place) / "staged")
            except PackageRefused as reason:
                refused.update({finding.rule for finding in reason.findings})
    said = sum(not skill.installable for skill in listed)
    share = installed / max(1, len(listed) - said)
    return {"listed": len(listed), "not_installable": said, "installed": installed, "share": share, "refused": refused}


if __name__ == "__main__":
    results = {Path(path).name: counted(Path(path).resolve()) for path in sys.argv[1:]}
    print(json.dumps({"command": " ".join(["python", *sys.argv]), "collections": results}, indent=2))
