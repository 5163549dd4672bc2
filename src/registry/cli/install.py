"""`skill-registry install` and `uninstall`: change the skills in the skills directory."""

import shlex
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, product
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import click
import msgspec

from registry.cli import command, console
from registry.cli.backend import CREATES, CommandBackend, CommandFailed
from registry.cli.help.known_names import complete_installed, complete_known
from registry.cli.installing.agents import AgentWork, agent_options
from registry.cli.installing.project import locked_steps, project_steps, read_project
from registry.cli.installing.rows import (
    FAILED_OUTCOME,
    REQUEST_FIELD,
    ask_of_withdrawals,
    exit_if_failed,
    installing_options,
    placed,
    rows_shown,
)
from registry.cli.installing.steps import (
    NEEDED,
    Act,
    Row,
    Step,
    in_registry,
    installing,
    note_unrecorded,
    recorded,
    restoring,
)
from registry.cli.search.last_search import report_install
from registry.cli.search.similar_ids import naming_similar
from registry.cli.user_registries import Registries, SkillPage, installed_skill, registries_of, skill_page, with_pages
from registry.config.settings import Settings
from registry.domain.addresses import redact_text
from registry.domain.counts import counted
from registry.domain.origins import GitOrigin, LocalOrigin, RegistryOrigin, SourceOrigin, classify, parse_origin
from registry.domain.repository_addresses import RepositoryAddress, of_owner
from registry.errors import RegistryError
from registry.install.schemas import SkillRequest
from registry.project.manifest_file import ManifestFile
from registry.project.skills_json import OtherSkill, is_other_lock, skills_in
from registry.runtime.home_folder import expanded, skill_folder

_PARTS_OF_ADDRESS = 2


class _Wishes(NamedTuple):
    """The switches of `install`, as click names them."""

    locked: bool
    offline: bool
    editable: bool
    no_save: bool
    agents: Sequence[str]
    links: bool
    is_global: bool


@click.command()
@click.argument("origins", metavar="[ORIGIN]...", nargs=-1, shell_complete=complete_known)
@click.option(
    "--from", "registry", metavar="URL", help="The service that has the skills. Default: sources, then your registry."
)
@click.option(
    "-s", "--skill", "skills", metavar="NAME", multiple=True, help="The skill of a repository, if it has several."
)
@click.option("--locked", "--from-lock", is_flag=True, help="Install exactly what skills.lock names.")
@click.option("--offline", is_flag=True, help="Fetch nothing: take packages from the cache, or fail.")
@click.option("--editable", is_flag=True, help="Link to a folder of this machine instead of copying it.")
@click.option("--no-save", is_flag=True, help="Do not change the project's manifest.")
@agent_options
@installing_options
def install(origins: tuple[str, ...], registry: str | None, as_json: bool, server: str | None, **flags: Any) -> None:
    """Install skills. Each ORIGIN is the id of a skill in a source or a registry, a URL, or a folder.

    \b
    skill-registry install acme/pdf-forms              the highest active version
    skill-registry install acme/pdf-forms@1.2.0        exactly this version
    skill-registry install 'acme/pdf-forms@^1.2'       the highest version from 1.2.0 and below 2.0.0
    skill-registry install acme/pdf-forms --from https://registry.example.org
    skill-registry install pdf-forms --from http://team.example.org:8080    from a folder that is served there
    skill-registry install https://example.org/a/tree/main/skills/pdf    as the browser shows a folder
    skill-registry install https://example.org/a.git#v1.2                a branch, tag or commit
    skill-registry install github:owner/repo@pdf                         the skill pdf of a repository
    skill-registry install https://example.org/pdf.zip
    skill-registry install ../pdf-forms
    skill-registry install skills-lock.json            what 'npx skills' has installed in a project
    skill-registry install                             what the project's manifest names

    A skill that no source lists comes from your registry: the one that SKILL_REGISTRY_SERVER names, or of your login.

    Without ORIGIN, the skills that skill-project.toml names and that are not there are installed, in the versions of
    skills.lock as far as the two agree. With --locked, nothing else than the lock is installed: the command fails if
    the lock lacks something that the manifest names.

    Packages that were fetched before come from a cache on this machine, which 'skill-registry cache' shows. What the
    lock names is installed from it also if the registry cannot be reached. With --offline no registry is asked at all.

    Agents read skills from folders of their own. With --agent, and for the agents that the manifest names, every skill
    that is installed is put there too, as a copy or with --link as a link: in the project, or with --global for you.
    """
    origins = _in_repositories(origins, flags.pop("skills"))
    wishes = _wishes(flags, origins, registry)
    settings = command.load(dict(flags))
    registries = with_pages(registries_of(settings, registry), settings, origins)
    saves = bool(origins) and not wishes.no_save and server is None
    if origins:
        manifest = ManifestFile(settings.project.file) if saves else None
        wanted = chain.from_iterable(_steps(text, registries, manifest, wishes) for text in origins)
        steps = [_reported(settings, step, registries.named) for step in wanted]
    else:
        steps = _project_steps(settings, registries, wishes, is_here=server is None)
    row_of = partial(placed, settings.skills_dir)
    work = _agent_work(settings, wishes, server)
    rows = _run(steps, flags, server, "Installing", registries.named, as_json=as_json, row_of=row_of)
    if work is not None:
        work.finish(rows)
    if saves:
        note_unrecorded(settings, rows)
    if not wishes.offline:
        ask_of_withdrawals(settings, server, registries.named, rows)
    exit_if_failed(rows)


@click.command()
@click.argument("skill_ids", metavar="[ID]...", nargs=-1, shell_complete=complete_installed)
@click.option("--cascade", is_flag=True, help="Remove the skills that need them too.")
@click.option("--undo", is_flag=True, help="Bring skills back; without ID, show which ones can be.")
@installing_options
def uninstall(
    skill_ids: tuple[str, ...], cascade: bool, undo: bool, as_json: bool, server: str | None, **flags: Any
) -> None:
    """Remove skills, or bring them back.

    This removes their folders, and their entries in the project's manifest and lock. A skill that an installed one
    needs stays, unless that one is removed with it, as --cascade does.

    Copies and links in the folders of agents go too, unless they were changed there.

    What was removed is kept for limits.bin_days, which is a month, and --undo brings it back: the folder as it was,
    its origin and its entries. The copies of agents are made again.
    """
    if undo and cascade:
        command.stop("--undo takes no --cascade", command.WRONG_USAGE)
    if undo and not skill_ids:
        entries = command.with_backend(flags, server, lambda backend: backend.bin())
        console.show({"bin": entries}, _bin_shown, as_json=as_json)
        return
    if not skill_ids:
        command.stop("give the ID of a skill", command.WRONG_USAGE)
    kept: set[str] = set()

    def step(skill_id: str) -> Step:
        def remove(backend: CommandBackend) -> Row:
            with naming_similar(backend, skill_id, installed=True):
                removed = backend.uninstall(skill_id, cascade=cascade)["removed"]
            others = [dependency for dependency in removed[:-1] if dependency not in skill_ids]
            along = [
                {**_NOTHING, "id": dependency, "outcome": "removed", "reason": f"needed {skill_id}"}
                for dependency in others
            ]
            if server is None:  # one whose folder was gone is not in the bin
                kept.update(entry["id"] for entry in backend.bin() if entry["id"] in removed)
            return {"id": removed[-1], "outcome": "removed", NEEDED: along}

        return skill_id, remove

    skill_ids = tuple(map(installed_skill, skill_ids))
    settings = command.load(dict(flags))
    work = AgentWork.begin(settings, is_global=flags["is_global"]) if server is None else None
    steps = [restoring(skill_id) if undo else step(skill_id) for skill_id in skill_ids]
    rows = _run(steps, flags, server, "Restoring" if undo else "Removing", (), as_json=as_json)
    if work is not None:
        work.finish(rows)
    restorable = [row["id"] for row in rows if row["outcome"] == "removed" and row["id"] in kept]
    if restorable and settings.limits.bin_days:
        undoing = f"'skill-registry uninstall --undo {' '.join(restorable)}' brings it back"
        console.note(f"kept for {counted(settings.limits.bin_days, 'day')}: {undoing}")
    exit_if_failed(rows)


def _bin_shown(answer: console.Data) -> Iterator[console.Part]:
    rows = ((row["id"], row["removed_at"][:10], row["kept_until"][:10]) for row in answer["bin"])
    yield console.table(("Skill", "Removed", "Kept until"), rows)


_NOTHING: Row = {"id": None, "outcome": None, "reason": None, "resolved_version": None}


class _AllFailed(Exception):
    """No step has changed anything. `rows` say why."""

    def __init__(self, rows: list[Row]) -> None:
        super().__init__()
        self.rows = rows


def _run(
    steps: Sequence[Step],
    flags: dict[str, Any],
    server: str | None,
    title: str,
    named: Sequence[str],
    *,
    as_json: bool,
    row_of: Callable[[Row], Row] = dict,
) -> list[Row]:
    """Run every step, even if others fail, show a row for each, as `row_of` returns it, and return the rows."""

    def run(backend: CommandBackend) -> list[Row]:
        rows = []
        with console.progress_bar(title, hidden=as_json) as progress:
            for position, (name, act) in enumerate(steps):
                progress(position, len(steps))
                row = {**_NOTHING, "id": redact_text(name), "outcome": FAILED_OUTCOME}
                try:
                    row |= act(backend)
                except CommandFailed as error:
                    row["reason"] = redact_text(str(error))
                rows += [*row.pop(NEEDED, ()), row]
        if all(row["outcome"] == FAILED_OUTCOME for row in rows):
            raise _AllFailed(rows)
        return rows

    try:
        rows = command.with_backend(flags, server, run, CREATES, named=named) if steps else []
    except _AllFailed as failed:
        rows = failed.rows
    console.show({"results": [row_of(row) for row in rows]}, rows_shown, as_json=as_json)
    return list(rows)


def _wishes(flags: dict[str, Any], origins: Sequence[str], registry: str | None) -> _Wishes:
    """Return the switches. Exits if they contradict each other."""
    wishes = _Wishes(**{name: flags[name] for name in _Wishes._fields})
    if wishes.locked and origins:
        command.stop("--locked installs what the lock names: give no ORIGIN", command.WRONG_USAGE)
    if not origins and (registry or wishes.editable or wishes.no_save):
        command.stop("--from, --editable and --no-save need an ORIGIN", command.WRONG_USAGE)
    return wishes


def _in_repositories(origins: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    """Return the address of each skill that --skill names in each repository. Exits for what is no repository."""
    if not names:
        return tuple(origins)
    if not origins:
        command.stop("--skill names a skill of a repository: give its address as ORIGIN", command.WRONG_USAGE)
    addresses = []
    for origin, name in product(origins, names):
        address = f"{origin.rstrip('/').removesuffix('.git')}@{name}"  # as all large hosts have it
        try:
            place = classify(address)
        except RegistryError:
            place = None
        if not isinstance(place, RepositoryAddress) or place.skill != name:
            way = "leave out --skill, and the command for each skill is shown if there are several"
            command.stop(
                f"{redact_text(origin)}: --skill needs OWNER/REPO, or its URL, and one name: {way}", command.WRONG_USAGE
            )
        addresses.append(address)
    return tuple(addresses)


def _agent_work(settings: Settings, wishes: _Wishes, server: str | None) -> AgentWork | None:
    """Return what to do for agents, None for a server that may be on another machine."""
    if server is not None:
        if wishes.agents or wishes.is_global:
            command.stop("--agent and --global are for this machine: leave out --server", command.WRONG_USAGE)
        return None
    if wishes.is_global and not settings.project.file.exists():
        settings.project.file.parent.mkdir(parents=True, exist_ok=True)
        ManifestFile(settings.project.file).create()
    return AgentWork.begin(
        settings, wishes.agents, links=wishes.links, is_global=wishes.is_global, save=not wishes.no_save
    )


def _steps(text: str, registries: Registries, manifest: ManifestFile | None, wishes: _Wishes) -> Iterator[Step]:
    """Yield the step for an argument of the command, or those for the skills that the lock of another tool names."""
    if not is_other_lock(text):
        yield _step(text, registries, manifest, wishes)
        return
    if wishes.editable or registries.given is not None:
        command.stop(f"{text} says where its skills are: leave out --from and --editable", command.WRONG_USAGE)
    try:
        for skill in skills_in(Path(text)):
            yield skill.name, _of_other_lock(skill, registries, manifest, wishes)
    except (ValueError, OSError) as error:
        command.stop(error, command.WRONG_USAGE)


def _of_other_lock(skill: OtherSkill, registries: Registries, manifest: ManifestFile | None, wishes: _Wishes) -> Act:
    """Return what is done for a skill in the lock of another tool. One that cannot be installed stops no other."""

    def act(backend: CommandBackend) -> Row:
        if skill.address is None:
            raise CommandFailed(skill.reason)
        try:
            parse_origin(skill.address)
        except RegistryError as error:
            raise CommandFailed(error.message) from None
        return _step(skill.address, registries, manifest, wishes)[1](backend)

    return act


def _step(text: str, registries: Registries, manifest: ManifestFile | None, wishes: _Wishes) -> Step:
    """Return the step for an argument of the command. `manifest` is the file that must name the skill then."""
    page = skill_page(text) if registries.given is None else None
    if page is not None and page.url in registries.named:
        return _step(page.skill, registries._replace(given=page.url), manifest, wishes)
    try:
        text = _of_github(text)
        is_address = isinstance(classify(text), RepositoryAddress)
        origin = parse_origin(text)
    except RegistryError as error:
        message = REQUEST_FIELD.sub("", error.message)
        command.stop(f"{redact_text(text) or 'an empty ORIGIN'}: {message}", command.WRONG_USAGE)
    if isinstance(origin, LocalOrigin):
        path = skill_folder(expanded(origin.path))  # the server has another working directory
        origin = msgspec.structs.replace(origin, path=str(path), editable=wishes.editable)
    elif wishes.editable:
        command.stop(f"{text}: --editable needs a folder", command.WRONG_USAGE)
    if registries.given is not None:
        if not isinstance(origin, SourceOrigin):
            command.stop(f"{text}: --from needs the id of a skill, such as acme/pdf-forms", command.WRONG_USAGE)
        origin = _at_service(origin, registries.given)
    named = text if is_address else origin
    act = installing(SkillRequest(origin=named, save=not wishes.no_save, offline=wishes.offline), registries.default)
    if page is not None and page.may_be_published:
        act = _hinting(act, page)
    return text, act if manifest is None else recorded(manifest, act, origin)


def _hinting(act: Act, page: SkillPage) -> Act:
    """Return what is done for an address that looks like the page of a skill in a registry."""

    def hinting(backend: CommandBackend) -> Row:
        try:
            return act(backend)
        except CommandFailed as error:
            way = f"skill-registry install {page.skill} --from {shlex.quote(page.url)}"
            raise CommandFailed(f"{error}; if it is the page of a skill in a registry: {way}", error.code) from None

    return hinting


def _of_github(text: str) -> str:
    """Return the address on GitHub of `owner/repo/folder` if there is no such folder here; other texts as they are."""
    is_path = text.startswith((".", "/", "~", "-")) or text.count("/") < _PARTS_OF_ADDRESS or ":" in text
    return text if is_path or expanded(text).exists() else of_owner(text) or text


def _project_steps(settings: Settings, registries: Registries, wishes: _Wishes, *, is_here: bool) -> list[Step]:
    try:
        project = read_project(settings, is_here=is_here, offline=wishes.offline)
        steps = locked_steps(project) if wishes.locked else project_steps(project, registries.default)
    except CommandFailed as error:
        command.stop(error, command.WRONG_USAGE)
    if not steps:
        console.note(f"{settings.project.file.name} names no skills yet: 'skill-registry install ORIGIN' adds one")
    return steps


def _reported(settings: Settings, step: Step, named: Sequence[str]) -> Step:
    """Return a step that, when it is done, tells the server whose search has shown the skill."""
    name, act = step

    def reported(backend: CommandBackend) -> Row:
        row = act(backend)
        servers = [backend.server, *named] if backend.server else named
        report_install(settings, servers, name.partition("@")[0])
        return row

    return name, reported


def _at_service(origin: SourceOrigin, url: str) -> RegistryOrigin | GitOrigin:
    """Return the origin of a skill in the service at a URL: of a package, which has a scope, or of a folder."""
    if "/" in origin.skill:
        return in_registry(origin, url)
    if origin.version is not None:
        command.stop(f"{origin.skill}: {url} has it in one version only: leave out the version", command.WRONG_USAGE)
    return GitOrigin(url=f"{url}/git/{quote(origin.skill)}.git")
