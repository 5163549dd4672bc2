"""The folders of agents, which get copies of the installed skills or links to them.

The skills directory stays the place of the installation. What is in the folder of an agent belongs to the installation
if it is a link to the skills directory, or has the files that are there or that a command has put there
(`placed_copies`). Anything else is the user's, and is left alone.
"""

import os
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from registry.domain.agents import AGENTS, Agent
from registry.domain.file_names import printable_name
from registry.project.lock_file import LockedSkill
from registry.project.placed_copies import PlacedCopies
from registry.project.verify import Difference
from registry.runtime.atomic_files import TEMPORARY_PREFIX, only_writer, sync_tree, temporary_path
from registry.skill_folder import has_digest, list_files, tree_digest

Outcome = Literal["placed", "same", "kept"]

_KIND = "agent-"
"""The kind of temporary folder in the folders of agents."""


class AgentFolder(NamedTuple):
    """A folder of skills that these agents read. `shown` is its path for people."""

    path: Path
    shown: str
    agents: tuple[str, ...]


class Places(NamedTuple):
    """Where the folders of agents are: in a project, or below the home folder of a user.

    Args:
        skills_dir: The skills directory.
        project: The folder of the project; None for what a user has installed for all projects.
        home: The home folder.
        environment: The variables that move the folders of agents.
        record: The file that records the copies.
    """

    skills_dir: Path
    project: Path | None
    home: Path
    environment: Mapping[str, str]
    record: Path

    def folders(self, agents: Sequence[Agent] = AGENTS) -> list[AgentFolder]:
        """Return the folders of agents, each once, without the skills directory itself."""
        by_path: dict[Path, list[str]] = {}
        for agent in agents:
            path = self.project / agent.project if self.project else agent.user_folder(self.environment, self.home)
            if not _is_same(path, self.skills_dir):
                by_path.setdefault(path, []).append(agent.title)
        return [AgentFolder(path, self._shown(path), tuple(titles)) for path, titles in by_path.items()]

    def _shown(self, path: Path) -> str:
        if self.project is not None:
            return path.relative_to(self.project).as_posix()
        return f"~/{path.relative_to(self.home)}" if path.is_relative_to(self.home) else str(path)

    def problem(self, folder: AgentFolder) -> str | None:
        """Return why nothing may be written into a folder: in a project of another author, it may be a link."""
        if self.project is None or Path(os.path.realpath(folder.path)).is_relative_to(os.path.realpath(self.project)):
            return None
        return f"{folder.shown} is a link out of the project: replace it with a folder"


class _Held(NamedTuple):
    """A copy of a skill, or a link to it, in the folder of an agent. A link has no digest.

    The digest of a copy that a user has changed is that of the skill.
    """

    folder: AgentFolder
    name: str
    digest: str | None

    @property
    def place(self) -> Path:
        return self.folder.path / self.name


class AgentCopies:
    """The copies and links of installed skills in the folders of agents, as they were when this was made."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._record = PlacedCopies(places.record)
        placed = self._record.read()
        folders = [folder for folder in places.folders() if places.problem(folder) is None]
        present: dict[str, str] = {}
        self._own: list[_Held] = []
        self._left: list[_Held] = []
        self._edited: list[_Held] = []
        for folder in folders:
            for name in _names(folder.path):
                digests, skill = placed.get(str(folder.path / name), ()), places.skills_dir / name
                if not (skill / "SKILL.md").is_file():
                    self._left += _own(folder, name, skill, digests)
                    continue
                if name not in present:
                    present[name] = tree_digest(skill)
                own = _own(folder, name, skill, [present[name], *digests])
                self._own += own
                if digests and not own and not (folder.path / name).is_symlink():
                    self._edited.append(_Held(folder, name, present[name]))

    def holders(self, name: str) -> list[str]:
        """Return the folders that had a skill of the skills directory."""
        return [held.folder.shown for held in self._own if held.name == name]

    def follow(self) -> Iterator[str]:
        """Bring the copies to the present state of the skills directory: upgraded skills, and removed ones.

        Yield a line for each that could not be changed, or that a user has changed there, and for those whose skill was
        not there before the command: who has removed it is not known, and the skills directory may be another one.
        """
        yield from self._stale_edits()
        for held in self._left:
            if not os.path.lexists(self._places.skills_dir / held.name):
                yield f"{held.folder.shown}/{held.name} is a copy of a skill that is no longer installed: delete it"
        gone = [held for held in self._own if not os.path.lexists(self._places.skills_dir / held.name)]
        for held in gone:
            try:
                _remove(held.place)
            except OSError as error:
                yield f"{held.folder.shown}/{held.name} could not be changed: {error.strerror}"
        yield from self._recorded(lambda: self._record.settle({held.place: None for held in gone if held.digest}))
        stale = [
            (self._places.skills_dir / held.name, held.folder)
            for held in self._own
            if held not in gone and held.digest and not has_digest(self._places.skills_dir / held.name, held.digest)
        ]
        yield from self._put(stale, links=False)

    def _stale_edits(self) -> Iterator[str]:
        """Yield a line for each copy that a user has changed, and whose skill the command has changed or removed."""
        for held in self._edited:
            skill = self._places.skills_dir / held.name
            if not os.path.lexists(skill):
                yield f"{held.folder.shown}/{held.name} was changed there: it stays, and agents go on reading it"
            elif not has_digest(skill, str(held.digest)):
                yield _kept(held.folder, held.name)

    def place(self, names: Collection[str], agents: Sequence[Agent], *, links: bool) -> Iterator[str]:
        """Put skills of the skills directory into the folders of agents, as links or copies.

        Yield a line for each that could not be put there. Another skill of the same name stays.
        """
        copied: list[tuple[Path, AgentFolder]] = []
        linked: list[tuple[Path, AgentFolder]] = []
        for folder in self._places.folders(agents):
            if (problem := self._places.problem(folder)) is not None:
                yield problem
                continue
            for name in names:
                skill = self._places.skills_dir / name
                is_link = links or skill.is_symlink()  # a folder that is used in place is one for agents too
                try:
                    outcome = _outcome(skill, folder.path / name, is_link=is_link)
                except OSError as error:
                    yield f"{folder.shown}/{name} could not be read: {error.strerror}"
                    continue
                if outcome == "kept":
                    yield _kept(folder, name)
                elif outcome == "placed":
                    (linked if is_link else copied).append((skill, folder))
        yield from self._put(linked, links=True)
        yield from self._put(copied, links=False)

    def _put(self, places: Sequence[tuple[Path, AgentFolder]], *, links: bool) -> Iterator[str]:
        """Put skills into folders, each in place of what is there; yield a line for each that could not be."""
        copies = {} if links else {folder.path / skill.name: tree_digest(skill) for skill, folder in places}
        yield from self._recorded(lambda: self._record.expect(copies))
        for skill, folder in places:
            try:
                _put(skill, folder.path, is_link=links)
            except OSError as error:
                yield f"{folder.shown}/{skill.name} could not be written: {error.strerror}"
                copies.pop(folder.path / skill.name, None)
        yield from self._recorded(lambda: self._record.settle(copies))

    def _recorded(self, record: Callable[[], None]) -> Iterator[str]:
        try:
            record()
        except OSError as error:
            yield f"{self._places.record.name} could not be written: {error.strerror or error}"


def _kept(folder: AgentFolder, name: str) -> str:
    return f"{folder.shown}/{name} is another skill, or was changed there: it is left as it is"


def _own(folder: AgentFolder, name: str, skill: Path, digests: Collection[str]) -> list[_Held]:
    """Return what the folder of an agent has of a skill, if it belongs to the installation."""
    place = folder.path / name
    if place.is_symlink():
        return [_Held(folder, name, None)] if os.path.lexists(skill) and _is_same(place, skill) else []
    return [_Held(folder, name, digest)] if digests and (digest := tree_digest(place)) in digests else []


def _outcome(skill: Path, place: Path, *, is_link: bool) -> Outcome:
    """Return what to do with a place for a skill. Raises OSError."""
    if not skill.is_dir():
        return "same"
    if os.path.lexists(place):
        if place.is_symlink() and not _is_same(place, skill):
            return "kept"
        if not place.is_symlink() and not (place.is_dir() and has_digest(place, tree_digest(skill))):
            return "kept"
        if place.is_symlink() is is_link:
            return "same"
    return "placed"


def agent_differences(
    locked: Iterable[LockedSkill], folders: Iterable[AgentFolder], skills_dir: Path
) -> Iterator[Difference]:
    """Yield the differences of the folders of agents from a lock, of which each must have every skill."""
    entries = [skill for skill in locked if "/" not in skill.path]
    for folder in folders:
        for skill in entries:
            place = folder.path / skill.path
            path = printable_name(f"{folder.shown}/{skill.path}")
            if place.is_symlink() and _is_same(place, skills_dir / skill.path):
                continue  # the skills directory is compared anyway
            try:
                is_same = has_digest(place, f"sha256:{skill.sha256}")
            except (FileNotFoundError, NotADirectoryError):
                message = f"{', '.join(folder.agents)} lacks {skill.id}: run 'skill-registry install'"
                yield Difference(path=path, kind="missing", message=message)
            except OSError as error:
                yield Difference(path=path, kind="unreadable", message=f"it cannot be read: {error.strerror}")
            else:
                if not is_same:
                    yield Difference(path=path, kind="changed", message=f"its files are not those of {skill.id}")


def _names(folder: Path) -> list[str]:
    try:
        return sorted(entry.name for entry in os.scandir(folder) if not entry.name.startswith("."))
    except OSError:
        return []


def _is_same(first: Path, second: Path) -> bool:
    return os.path.realpath(first) == os.path.realpath(second)


def _put(skill: Path, folder: Path, *, is_link: bool) -> None:
    """Put a skill into a folder, in place of what is there under its name: whole or not at all. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    with only_writer(folder / skill.name):
        _remove_leftovers(folder)
        staged, place = temporary_path(folder, _KIND), folder / skill.name
        try:
            if is_link:
                staged.symlink_to(os.path.relpath(skill, os.path.realpath(folder)), target_is_directory=True)
            else:
                _copy(skill, staged)
                sync_tree(staged)
            if os.path.lexists(place):
                place.rename(temporary_path(folder, _KIND))
            staged.rename(place)
        finally:
            _remove_leftovers(folder)


def _copy(skill: Path, into: Path) -> None:
    """Copy the files of a skill."""
    into.mkdir()
    for file in list_files(skill):
        target = into / file.path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(skill / file.path, target, follow_symlinks=False)


def _remove(place: Path) -> None:
    """Remove a skill from a folder, in one step, so that no agent reads half of it. Raises OSError."""
    with only_writer(place):
        place.rename(temporary_path(place.parent, _KIND))
        _remove_leftovers(place.parent)


def _remove_leftovers(folder: Path) -> None:
    """Remove what was replaced, and what a killed process has left."""
    for leftover in folder.glob(f"{TEMPORARY_PREFIX}{_KIND}*"):
        if leftover.is_symlink():
            leftover.unlink(missing_ok=True)
        else:
            shutil.rmtree(leftover, ignore_errors=True)
