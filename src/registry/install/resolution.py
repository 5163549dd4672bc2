"""Chooses one version of each skill of a set, the highest that all others of the set accept.

`resolvelib` searches, as for pip. What is installed or locked is preferred, so that a second run changes nothing.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from resolvelib import AbstractProvider, BaseReporter, ResolutionImpossible, ResolutionTooDeep
from resolvelib.resolvers import Criterion, RequirementInformation
from resolvelib.resolvers import Resolution as Search

from registry.domain.dependencies import MAX_DEPENDENCIES, SkillDependency
from registry.domain.models import version_parts
from registry.domain.version_requirement import admits

MAX_DEPTH = 20
_MOST_ROUNDS = 2_000
_MOST_SKILLS_READ = 5 * MAX_DEPENDENCIES
_SHOWN_VERSIONS = 5


class Choice(NamedTuple):
    """A version of a skill that may be chosen, and what it needs."""

    skill_id: str
    version: str
    dependencies: Sequence[SkillDependency]


class Shelf(Protocol):
    """Where versions are chosen from."""

    def choices(self, skill_id: str) -> Sequence[Choice]:
        """Return the versions of a skill that may be chosen, the preferred first; none if there is no such skill."""
        ...

    def is_allowed(self, choice: Choice) -> bool:
        """Return whether a version that a range admits may be taken, for example because it is old enough."""
        ...

    def why_none(self, skill_id: str, requirement: str | None) -> str:
        """Return why no version of a skill can be chosen that a range admits, as the end of a sentence."""
        ...


class Requirement(NamedTuple):
    """A skill that is needed, in versions of a range, by a person, a file or a skill that is installed (`by`)."""

    skill_id: str
    range: str | None
    by: str | None = None


class Unresolvable(Exception):
    """No set of versions meets all ranges; the message says which ones contradict each other."""


class Resolution(NamedTuple):
    """The chosen versions by id: those that the first root needs, the most distant first, and the root itself."""

    choices: Mapping[str, Choice]


def resolve(roots: Sequence[Requirement], shelf: Shelf, tell: Callable[[], None] = lambda: None) -> Resolution:
    """Return the versions of the first root, the requested skill, and of all that it needs.

    The other roots bound the versions of skills that it needs.

    `tell` is called before each step; what it raises ends the search. Raises Unresolvable.
    """
    provider = _Provider(shelf)
    try:
        result = _Search(provider, _Teller(tell)).resolve(list(roots), max_rounds=_MOST_ROUNDS)
    except ResolutionImpossible as impossible:
        raise Unresolvable(_explained(impossible.causes, shelf)) from None
    except ResolutionTooDeep:
        raise Unresolvable(
            f"the ranges contradict each other in too many ways: no set was found in {_MOST_ROUNDS:,} steps"
        ) from None
    return Resolution(_ordered(roots[0].skill_id, result.mapping))


class _Teller(BaseReporter[Requirement, Choice, str]):
    """Tells of each step of the search, which may read a registry."""

    def __init__(self, tell: Callable[[], None]) -> None:
        self._tell = tell

    def starting_round(self, index: int) -> None:
        self._tell()


class _Search(Search[Requirement, Choice, str]):
    """Remembers which choices meet all that is required of them.

    resolvelib asks that of each chosen skill twice in every step. Neither a choice nor a criterion ever changes: others
    replace it.
    """

    def __init__(self, provider: "_Provider", reporter: BaseReporter[Requirement, Choice, str]) -> None:
        super().__init__(provider, reporter)
        self._satisfying: dict[str, tuple[Criterion[Requirement, Choice], Choice]] = {}

    def _is_current_pin_satisfying(self, name: str, criterion: Criterion[Requirement, Choice]) -> bool:
        chosen = self.state.mapping.get(name)
        if chosen is None:
            return False
        entry = self._satisfying.get(name)
        if entry is not None and entry[0] is criterion and entry[1] is chosen:
            return True
        is_satisfying = super()._is_current_pin_satisfying(name, criterion)
        if is_satisfying:
            self._satisfying[name] = criterion, chosen
        return is_satisfying


class _Provider(AbstractProvider[Requirement, Choice, str]):
    """What resolvelib asks."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._read: set[str] = set()

    def identify(self, requirement_or_candidate: Requirement | Choice) -> str:
        return requirement_or_candidate.skill_id

    def get_preference(
        self,
        identifier: str,
        resolutions: Mapping[str, Choice],
        candidates: Mapping[str, Iterator[Choice]],
        information: Mapping[str, Iterator[RequirementInformation[Requirement, Choice]]],
        backtrack_causes: Sequence[RequirementInformation[Requirement, Choice]],
    ) -> str:
        return identifier

    def narrow_requirement_selection(
        self,
        identifiers: Iterable[str],
        resolutions: Mapping[str, Choice],
        candidates: Mapping[str, Iterator[Choice]],
        information: Mapping[str, Iterator[RequirementInformation[Requirement, Choice]]],
        backtrack_causes: Sequence[RequirementInformation[Requirement, Choice]],
    ) -> Iterable[str]:
        """Decide first about what has led to a contradiction, else in the order in which skills were named."""
        names = list(identifiers)
        if backtrack_causes:
            causes = {cause.requirement.skill_id for cause in backtrack_causes}
            causes |= {cause.parent.skill_id for cause in backtrack_causes if cause.parent is not None}
            if involved := [name for name in names if name in causes]:
                return involved[:1]
        return names[:1]

    def find_matches(
        self,
        identifier: str,
        requirements: Mapping[str, Iterator[Requirement]],
        incompatibilities: Mapping[str, Iterator[Choice]],
    ) -> Callable[[], Iterator[Choice]]:
        if identifier not in self._read:
            self._read.add(identifier)
            if len(self._read) > _MOST_SKILLS_READ:
                raise Unresolvable(f"more than {_MOST_SKILLS_READ:,} skills are named on the way: group them in packs")
        ranges = {requirement.range for requirement in requirements[identifier]}
        excluded = {choice.version for choice in incompatibilities[identifier]}
        fitting = [
            choice
            for choice in self._shelf.choices(identifier)
            if choice.version not in excluded and all(admits(required, choice.version) for required in ranges)
        ]
        return lambda: filter(self._shelf.is_allowed, fitting)

    def is_satisfied_by(self, requirement: Requirement, candidate: Choice) -> bool:
        return admits(requirement.range, candidate.version)

    def get_dependencies(self, candidate: Choice) -> list[Requirement]:
        return [Requirement(needed.id, needed.range) for needed in candidate.dependencies]


def _ordered(root: str, chosen: Mapping[str, Choice]) -> dict[str, Choice]:
    """Return the choices that the root needs, the most distant first. Raises Unresolvable if they are too many."""
    depths = {root: 0}
    waiting = list(depths)
    for skill_id in waiting:
        for needed in chosen[skill_id].dependencies:
            if needed.id not in depths:
                depths[needed.id] = depths[skill_id] + 1
                waiting.append(needed.id)
    if len(waiting) - 1 > MAX_DEPENDENCIES:
        raise Unresolvable(
            f"{root} needs {len(waiting) - 1} skills, and at most {MAX_DEPENDENCIES} may come along with one"
        )
    if (deepest := max(depths.values())) > MAX_DEPTH:
        raise Unresolvable(f"{root} needs skills {deepest} steps away, and at most {MAX_DEPTH} are allowed")
    return {skill_id: chosen[skill_id] for skill_id in sorted(waiting, key=lambda skill_id: -depths[skill_id])}


def _explained(causes: Iterable[RequirementInformation[Requirement, Choice]], shelf: Shelf) -> str:
    """Return which requirements contradict each other, and which versions there are."""
    by_skill: dict[str, dict[str, str | None]] = {}
    for requirement, parent in causes:
        if parent is not None:
            by = f"{parent.skill_id} {parent.version} needs"
        else:
            by = f"{requirement.by} needs" if requirement.by else "you want"
        by_skill.setdefault(requirement.skill_id, {})[by] = requirement.range
    skill_id, ranges = max(by_skill.items(), key=lambda item: len(item[1]))
    said = ", and ".join(f"{by} {skill_id}{f'@{bounds}' if bounds else ''}" for by, bounds in ranges.items())
    versions = sorted({choice.version for choice in shelf.choices(skill_id)}, key=version_parts, reverse=True)
    fitting = [version for version in versions if all(admits(bounds, version) for bounds in ranges.values())]
    if len(ranges) == 1 and not fitting:
        return f"{said}, but {shelf.why_none(skill_id, next(iter(ranges.values())))}"
    more = ", …" if len(versions) > _SHOWN_VERSIONS else ""
    has = f"it has {', '.join(versions[:_SHOWN_VERSIONS])}{more}" if versions else shelf.why_none(skill_id, None)
    if fitting:
        return f"{said}: {', '.join(fitting[:_SHOWN_VERSIONS])} would do, but cannot be chosen with the others"
    return f"{said}: no version of {skill_id} meets both, {has}"
