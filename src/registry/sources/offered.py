"""Decides which folders of a tree are offered as skills: by documents and manifests, else all but what is left out."""

import itertools
import os
import posixpath
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from registry.skill_folder import find_skill_folders, has_skill_file
from registry.skill_folder.tree import SKILL_FILE
from registry.sources.left_out import LeftOut, reason_to_leave_out
from registry.sources.marketplace import MAX_ENTRIES, MAX_PATH, Plugin
from registry.sources.plugin_manifest import Manifests, PluginManifest

_NOT_OFFERED = "not offered by the document or plugin.json beside them"
_MATERIAL = "part of the skill above them"
_NEVER_SEARCHED = frozenset({"lost+found"})
_SKILLS = "skills"
"""The folder in which a plugin has its skills, if its manifest names none, and a repository those beside its own."""
_MATERIAL_FOLDERS = frozenset(
    {"assets", "data", "doc", "docs", "evals", "example", "examples", "reference", "references", "resources", "scripts"}
)
"""Folders in the root of a repository that have no skills beside that of the root, but its material."""


class Offered(NamedTuple):
    """A folder that is offered as a skill.

    Args:
        folder: The folder.
        plugin: The entry of the document that offers it.
        is_whole: Whether the skill is all that the entry offers, in the folder of the plugin itself.
        is_variant: Whether a document offers it that is not the first one of the tree: perhaps for another agent.
    """

    folder: Path
    plugin: Plugin | None = None
    is_whole: bool = False
    is_variant: bool = False


class OfferedFolders:
    """Finds what is offered below `root`, which is a real path. `left_out` counts the other skill folders.

    `manifests` has the manifests of the plugins in the tree.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.left_out = LeftOut()
        self.manifests = Manifests()
        self.has_document = False
        self._by_home: dict[Path, list[Path]] = {}

    def of_tree(self) -> Iterator[Offered]:
        """Yield what a tree without a marketplace document offers."""
        yield from (Offered(folder) for folder in self._of_home(self.root))

    def of_plugin(self, home: Path, plugin: Plugin) -> Iterator[Offered]:
        """Yield what an entry of a document offers, whose plugin is in the folder `home`.

        The entry and the manifest name skills together; a `strict` that is false says that the entry alone does.
        """
        manifest = self.manifests.at(home) if plugin.strict else None
        paths = [*plugin.folders(), *((manifest and manifest.skills) or [])]
        folders = self._named(home, paths) if paths else self._by_convention(home)
        yield from (Offered(folder, plugin, folder == home) for folder in folders)

    def of_ids(self, ids: set[str]) -> Iterator[Offered]:
        """Yield the folders with these names."""
        yield from (Offered(folder) for folder in self.all_below(self.root) if folder.name.lower() in ids)

    def manifest_of(self, offered: Offered) -> PluginManifest:
        """Return the manifest of the plugin that a folder belongs to, an empty one if it belongs to none."""
        home = self.manifests.home_of(offered.folder, self.root)
        return (self.manifests.at(home) if home is not None else None) or PluginManifest()

    def count_others(self, offered: Sequence[Offered]) -> None:
        """Count the skill folders of the tree that no document and no manifest offers."""
        if not self.has_document and not self.manifests.are_there:
            return  # all that is not offered was counted when it was left out
        folders = {place.folder for place in offered}
        for folder in self.all_below(self.root):
            if folder not in folders and reason_to_leave_out(folder.relative_to(self.root)) is None:
                self._leave_out(folder, _NOT_OFFERED)

    def below(self, home: Path, path: str) -> Path | None:
        """Return the folder at a path below `home` if it is in the tree, else None. Links in the tree are followed.

        The path of a SKILL.md stands for its folder.
        """
        path = path.removesuffix(f"/{SKILL_FILE}")
        if posixpath.isabs(path) or len(path) > MAX_PATH:
            return None
        try:
            folder = Path(os.path.realpath(home / path))
            return folder if folder.is_relative_to(self.root) and folder.is_dir() else None
        except (OSError, ValueError):  # an invalid or too long name
            return None

    def all_below(self, folder: Path) -> Iterator[Path]:
        """Yield every skill folder from `folder` on, which is a real path of the tree, as real paths of the tree.

        What lies below a skill is its material. Only one in the root has skills of their own beside it, in folders of
        the root and in folders for skills: a repository often has one skill for itself, and others.
        """
        if has_skill_file(folder):
            yield folder
            if folder == self.root:
                yield from filter(self._is_beside_root, find_skill_folders(folder))
            return
        real_tops: dict[str, Path | None] = {}  # of the folders in `folder`, the only ones that may be links
        for skill_folder in find_skill_folders(folder, ignored=_NEVER_SEARCHED):
            top, *below = skill_folder.relative_to(folder).parts
            if top not in real_tops:
                real = Path(os.path.realpath(folder / top))
                real_tops[top] = real if real.is_relative_to(self.root) else None
            if (real_top := real_tops[top]) is not None:
                yield real_top.joinpath(*below)

    def _is_beside_root(self, folder: Path) -> bool:
        in_root = folder.parent == self.root and folder.name.lower() not in _MATERIAL_FOLDERS
        return in_root or folder.parent.name == _SKILLS

    def _of_home(self, home: Path) -> list[Path]:
        """Return what the plugin or the tree at `home` offers."""
        if home not in self._by_home:
            manifest = self.manifests.at(home)
            self._by_home[home] = []  # for a manifest whose paths lead to a folder above it
            if manifest is None:
                folders = self._of_folder(home)
            elif manifest.skills:
                folders = self._named(home, manifest.skills)
            else:
                folders = self._by_convention(home)
            self._by_home[home] = list(itertools.islice(folders, MAX_ENTRIES))
        return self._by_home[home]

    def _by_convention(self, home: Path) -> Iterator[Path]:
        """Yield the skills of a plugin that names none: those in its folder for skills, else all."""
        skills = self.below(home, _SKILLS)
        own_skills = [] if skills is None else list(self._of_folder(skills))
        yield from own_skills or self._of_folder(home)

    def _named(self, home: Path, paths: Sequence[str]) -> Iterator[Path]:
        """Yield the skills at the paths that a document or a manifest names: skills, or folders with skills."""
        for path in paths:
            folder = self.below(home, path) or self._meant(home, path)
            if folder is None:
                self.left_out.add(path[:MAX_PATH], "named by plugin.json or the document, and no folder of this source")
            elif has_skill_file(folder):
                yield folder
            else:
                yield from self._of_folder(folder)

    def _meant(self, home: Path, path: str) -> Path | None:
        """Return the folder of a plugin that a path means which is not in it as it is written; None if there is none.

        Authors write paths from the root of the repository, or from the folder for skills.
        """
        from_root = self.below(self.root, path)
        if from_root is not None and from_root.is_relative_to(home):
            return from_root
        return self.below(home, posixpath.join(_SKILLS, path))

    def _of_folder(self, top: Path) -> Iterator[Path]:
        """Yield the skills below a folder, without fixtures and those that a plugin there does not offer."""
        offered = set()
        for folder in self.all_below(top):
            offered.add(folder)
            place = folder.relative_to(top if folder.is_relative_to(top) else self.root)
            if (reason := reason_to_leave_out(place)) is not None:
                self._leave_out(folder, reason)
                continue
            home = self.manifests.home_of(folder, top)
            if home is None or home == top or folder in self._of_home(home):
                yield folder
            else:
                self._leave_out(folder, _NOT_OFFERED)
        if has_skill_file(top):
            for folder in find_skill_folders(top):
                if folder not in offered:
                    self._leave_out(folder, _MATERIAL)

    def _leave_out(self, folder: Path, reason: str) -> None:
        self.left_out.add(folder.relative_to(self.root).as_posix(), reason)
