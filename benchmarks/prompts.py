"""Search over what agents and people really send: pastes, named skills, several requests, frames, what must not come.

    python benchmarks/prompts.py --data DIR [--intents FILE] [--part dev|train] [--sets NAME …] [--json OUT]

DIR is a data set as `quality.py` takes it. The queries are those of a part of the intents for skills of DIR; with
`--labelled`, those of DIR itself. Forms and pastes have parts of their own (`prompt_forms.py`, `pastes.py`): `train`
are those by which the rules were written, `dev` others. The same seed gives the same prompts.
"""

import argparse
import random
import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

import intents
import pastes
import prompt_forms
from quality import Labelled, fill, read_jsonl, read_labelled
from registry.evaluation.measures import DEPTH, ndcg
from results_file import keep
from search.engine import Engine
from search.lexical.english import is_no_english
from search.requests import Hit, SearchRequest
from search.stop_words import STOP_WORDS
from search.text import fold

_SEED = 20261125
_MOST = 400
_FEW = 150
"""The queries of a set."""

_DOCUMENTS = Path(__file__).parents[1] / "docs"
_COMPOUND = re.compile(
    r"\b(?:[a-z]+[A-Z]\w{3,30}|[A-Z]{2,8}\d{3,6}|[A-Z]{3,}(?:_[A-Z]{3,})+|[a-z]{2,}(?:_[a-z]{2,}){1,4})\b"
)
Figures = dict[str, float]


class World(NamedTuple):
    """An engine over a corpus with the corpus ids of its documents, and queries with the skills that are right."""

    engine: Engine
    keys: dict[int, str]
    corpus: Sequence[dict[str, Any]]
    labelled: Labelled
    part: str

    def hits(self, query: str) -> list[Hit]:
        """Return the first page."""
        return self.engine.search.search(SearchRequest(query, limit=DEPTH)).hits

    def page(self, query: str) -> list[str]:
        """Return the corpus ids of the first page."""
        return [self.keys[hit.key] for hit in self.hits(query)]

    def quality(self, prompts: Sequence[tuple[str, dict[str, float]]]) -> Figures:
        """Return how well the right skills of prompts are ranked."""
        pages = [(self.page(prompt), gains) for prompt, gains in prompts]
        first = [bool(page) and page[0] in gains for page, gains in pages]
        return {"ndcg": _mean([ndcg(page, gains) for page, gains in pages]), "first": _mean(first), "n": len(pages)}

    def forms(self, forms: prompt_forms.Forms) -> Sequence[str]:
        """Return the forms of this part."""
        return forms.train if self.part == "train" else forms.dev

    def random(self, name: str) -> random.Random:
        """Return what chooses in a set, the same each time."""
        return random.Random(f"{_SEED} {name} {self.part}")

    def requests(self, name: str, most: int = _MOST) -> list[tuple[str, dict[str, float]]]:
        """Return some of the queries with their gains."""
        queries, gains = self.labelled
        chosen = self.random(name).sample(queries, min(most, len(queries)))
        return [(query["text"], gains[query["id"]]) for query in chosen]


def _mean(values: Sequence[float]) -> float:
    return round(100 * sum(values) / max(len(values), 1), 1)


def pasted(world: World) -> Figures:
    """Measure requests with a paste beside them, against the same requests without."""
    kinds = pastes.TRAIN if world.part == "train" else pastes.DEV
    requests = world.requests("pasted")
    plain = world.quality(requests)
    made = list(pastes.pasted([text for text, _ in requests], kinds, _SEED))
    figures = {"plain": plain["ndcg"], "with a paste": 0.0}
    groups: dict[str, list[float]] = defaultdict(list)
    for (kind, place, prompt), (_, gains) in zip(made, requests, strict=True):
        value = ndcg(world.page(prompt), gains)
        for group in ("with a paste", place, f"kind: {kind}"):
            groups[group].append(value)
    figures |= {group: _mean(values) for group, values in sorted(groups.items())}
    return figures | {"ratio": round(figures["with a paste"] / max(plain["ndcg"], 0.1), 3)}


def documented(world: World) -> Figures:
    """Measure requests beside a pasted document of prose: paragraphs of this project's pages, 150 to 1,500 words.

    The rules were written with the READMEs of Python packages, which no part measures.
    """
    pages = sorted(_DOCUMENTS.glob("decisions/*.md" if world.part == "train" else "*.md"))
    documents = [page.read_text(encoding="utf-8").strip().split("\n\n") for page in pages]
    chooses, groups = world.random("documented"), defaultdict(list)
    for text, gains in world.requests("documented"):
        document, size = chooses.choice(documents), chooses.choice((150, 300, 700, 1500))
        pasted = _about(size, document, chooses.randrange(len(document)))
        middle = max(1, len(pasted) // 2)
        place, parts = chooses.choice(
            [
                ("after", [text, *pasted]),
                ("before", [*pasted, text]),
                ("around", [*pasted[:middle], text, *pasted[middle:]]),
            ]
        )
        value = ndcg(world.page("\n\n".join(parts)), gains)
        groups["plain"].append(ndcg(world.page(text), gains))
        for group in ("with a document", place, f"{size} words"):
            groups[group].append(value)
    figures = {group: _mean(values) for group, values in sorted(groups.items())}
    return figures | {"ratio": round(figures["with a document"] / max(figures["plain"], 0.1), 3)}


def _about(words: int, paragraphs: Sequence[str], start: int) -> list[str]:
    """Return paragraphs from one on, and from the first after the last, until they have so many words."""
    chosen: list[str] = []
    for paragraph in (*paragraphs[start:], *paragraphs[:start]):
        chosen.append(paragraph)
        if sum(len(each.split()) for each in chosen) >= words:
            break
    return chosen


def _names(world: World) -> list[tuple[str, str]]:
    """Return corpus ids and names that only one skill has."""
    counts = Counter(fold(entry["name"]) for entry in world.corpus)
    named = [(entry["id"], entry["name"]) for entry in world.corpus if counts[fold(entry["name"])] == 1]
    return world.random("names").sample(named, min(_MOST, len(named)))


def named(world: World) -> Figures:
    """Measure prompts that name a skill by a form that says so, with a task that is not its own, or none."""
    chooses, forms = world.random("named"), world.forms(prompt_forms.NAMED)
    tasks = [text for text, _ in world.requests("tasks")]
    groups: dict[str, list[float]] = defaultdict(list)
    for number, (skill, name) in enumerate(_names(world)):
        form = forms[number % len(forms)]
        written = name.replace("-", " ").replace("_", " ").title() if number % 3 == 1 else name
        page = world.page(form.format(name=written, task=chooses.choice(tasks)))
        parts = "several words" if " " in fold(name) else "a word"
        for group in ("first", parts, f"form: {form}"):
            groups[group].append(page[:1] == [skill])
    return {group: _mean(values) for group, values in sorted(groups.items())}


def two_requests(world: World) -> Figures:
    """Measure prompts with two requests: whether the right skills of both are on the first page."""
    queries = [(text, gains) for text, gains in world.requests("two", 2 * _MOST) if len(text) < 200]
    forms = world.forms(prompt_forms.TWO)
    alone, groups = [], defaultdict(list)
    for number, ((one, of_one), (other, of_other)) in enumerate(zip(queries[::2], queries[1::2], strict=False)):
        form = forms[number % len(forms)]
        page = set(world.page(form.format(one=one.rstrip(".?!"), two=other.rstrip(".?!"))))
        both = not page.isdisjoint(of_one) and not page.isdisjoint(of_other)
        apart = not of_one.keys().isdisjoint(world.page(one)) and not of_other.keys().isdisjoint(world.page(other))
        alone.append(apart)
        for group in ("both", f"form: {form}"):
            groups[group].append(both)
    return {"each alone": _mean(alone)} | {group: _mean(values) for group, values in sorted(groups.items())}


def framed(world: World) -> Figures:
    """Measure requests in polite frames, against the same requests without."""
    return _against_plain(world, "framed", prompt_forms.FRAMES)


def manners(world: World) -> Figures:
    """Measure requests with instructions about manner, against the same requests without."""
    return _against_plain(world, "manners", prompt_forms.MANNERS)


def of_projects(world: World) -> Figures:
    """Measure requests with headings, files, tickets and tags of a project, against the same requests without."""
    return _against_plain(world, "of_projects", prompt_forms.PROJECTS)


def ticketed(world: World) -> Figures:
    """Measure requests in tickets, mails, dialogues and comments, against the same requests alone."""
    return _against_plain(world, "ticketed", prompt_forms.TICKETS)


def sent(world: World) -> Figures:
    """Measure requests with who wants them, until when and in which form, and in JSON, against the same alone."""
    return _against_plain(world, "sent", prompt_forms.SENT)


def copied(world: World) -> Figures:
    """Measure requests as they look when they are copied from pages, documents, addresses and chats."""
    copies = prompt_forms.COPIES[world.part]
    groups: dict[str, list[float]] = defaultdict(list)
    for text, gains in world.requests("copied", _FEW):
        plain = ndcg(world.page(text), gains)
        for name, copy in copies.items():
            change = ndcg(world.page(copy(text)), gains) - plain
            groups["copied"].append(change)
            groups[f"copy: {name}"].append(change)
        groups["plain"].append(plain)
    return {group: _mean(values) for group, values in sorted(groups.items())}


def of_programs(world: World) -> Figures:
    """Measure requests with what an agent's program puts around them, against the same alone."""
    return _against_plain(world, "of_programs", prompt_forms.PROGRAMS)


def seeking(world: World) -> Figures:
    """Measure requests that ask for a skill to do a task, against the same tasks alone."""
    return _against_plain(world, "seeking", prompt_forms.SEEKING)


def _against_plain(world: World, name: str, templates: prompt_forms.Forms) -> Figures:
    """Return what forms around requests cost in nDCG@10, over all and for each form, and what the plain ones have."""
    requests, forms = world.requests(name), world.forms(templates)
    groups: dict[str, list[float]] = defaultdict(list)
    for number, (text, gains) in enumerate(requests):
        form = forms[number % len(forms)]
        value, plain = ndcg(world.page(form.format(task=text)), gains), ndcg(world.page(text), gains)
        for group in (name, f"form: {form}"):
            groups[group].append(value - plain)
        groups["plain"].append(plain)
    return {group: _mean(values) for group, values in sorted(groups.items())}


def unwanted(world: World) -> Figures:
    """Measure prompts that exclude the skill that would be first; and others that only sound as if they did."""
    names = dict(_names(world))
    wholes = {skill: name.replace("-", " ") for skill, name in names.items()}
    figures = _still_first(world, "excluded", prompt_forms.EXCLUDED, wholes)
    return figures | _still_first(world, "misread", prompt_forms.MISREAD, wholes)


def unwanted_tools(world: World) -> Figures:
    """Measure prompts that exclude a tool after which the skill that would be first, among others, is named."""
    tools = {
        entry["id"]: word
        for entry in world.corpus
        for word in fold(entry["name"]).split()
        if word.isalpha() and is_no_english(word)
    }
    return _still_first(world, "excluded tool", prompt_forms.EXCLUDED, tools)


def _still_first(world: World, kind: str, forms: prompt_forms.Forms, names: Mapping[str, str]) -> Figures:
    """Return how often the first skill is first again when its name is in one of the forms.

    Requests that have the name themselves are left out.
    """
    first: dict[str, list[float]] = defaultdict(list)
    templates = world.forms(forms)
    for number, (text, _) in enumerate(world.requests("unwanted")):
        best = next(iter(world.page(text)), "")
        if best not in names or names[best] in text.lower():
            continue
        form = templates[number % len(templates)]
        is_first = world.page(form.format(task=text.rstrip(".?!"), name=names[best]))[:1] == [best]
        for group in (kind, f"{kind}: {form}"):
            first[group].append(is_first)
    return {group: _mean(values) for group, values in sorted(first.items())} | {f"{kind}: n": len(first[kind])}


def _alone(world: World, words: Sequence[tuple[str, str]]) -> Figures:
    groups: dict[str, list[float]] = defaultdict(list)
    for word, skill in words:
        hits = world.hits(word)
        is_first = bool(hits) and world.keys[hits[0].key] == skill
        groups["first"].append(is_first)
        groups["shown"].append(bool(hits) and hits[0].relevance != "low")
        groups["high where first"] += [hits[0].relevance == "high"] if is_first else []
    return {group: _mean(values) for group, values in groups.items()} | {"n": len(words)}


def words_of_names(world: World) -> Figures:
    """Measure single words that the name of one skill has."""
    owners: dict[str, set[str]] = defaultdict(set)
    for entry in world.corpus:
        for word in fold(entry["name"]).split():
            owners[word].add(entry["id"])
    single = sorted((word, *owner) for word, owner in owners.items() if len(owner) == 1 and _may_be_sent(word))
    return _alone(world, world.random("words").sample(single, min(_MOST, len(single))))


def _may_be_sent(word: str) -> bool:
    return len(word) > 3 and word.isalpha() and word not in STOP_WORDS


def identifiers(world: World) -> Figures:
    """Measure identifiers that the text of one skill has."""
    owners: dict[str, set[str]] = defaultdict(set)
    for entry in world.corpus:
        for word in set(_COMPOUND.findall((entry.get("text") or "")[:6000])):
            owners[word].add(entry["id"])
    single = sorted((word, *owner) for word, owner in owners.items() if len(owner) == 1)
    return _alone(world, world.random("identifiers").sample(single, min(_MOST, len(single))))


def relevance(world: World) -> Figures:
    """Measure what the relevance of first hits is worth: the share that is right, by relevance."""
    groups: dict[str, list[float]] = defaultdict(list)
    for text, gains in world.requests("relevance", 10**6):
        hits = world.hits(text)
        groups[hits[0].relevance if hits else "none"].append(bool(hits) and world.keys[hits[0].key] in gains)
    right = {f"{band} right": _mean(values) for band, values in sorted(groups.items())}
    total = sum(map(len, groups.values()))
    return right | {f"{band} share": round(100 * len(values) / total, 1) for band, values in sorted(groups.items())}


def plain(world: World) -> Figures:
    """Measure the queries as they are."""
    return world.quality(world.requests("plain", 10**6))


SETS = (
    plain,
    pasted,
    documented,
    named,
    two_requests,
    framed,
    manners,
    copied,
    of_programs,
    of_projects,
    seeking,
    sent,
    ticketed,
    unwanted,
    unwanted_tools,
    words_of_names,
    identifiers,
    relevance,
)


def _labelled(arguments: argparse.Namespace, ids: set[str]) -> Labelled:
    if arguments.labelled:
        return read_labelled(arguments.data)
    return intents.labelled([entry for entry in intents.read(arguments.part, arguments.intents) if entry.skill in ids])


def _shown(figures: dict[str, Figures]) -> Iterator[Table]:
    for name, values in figures.items():
        table = Table(title=name, show_header=False)
        for group, value in values.items():
            table.add_row(group, str(value))
        yield table


def main() -> None:
    """Measure the sets over one corpus."""
    parser = argparse.ArgumentParser(description="Measure search over what agents really send.")
    parser.add_argument("--data", type=Path, required=True, help="folder with a corpus")
    parser.add_argument("--intents", type=Path, default=intents.FILE, help="queries of skills, as data/intents.jsonl")
    parser.add_argument("--labelled", action="store_true", help="measure the queries of the folder itself")
    parser.add_argument("--part", choices=["dev", "train"], default="dev")
    parser.add_argument("--sets", nargs="+", choices=[each.__name__ for each in SETS], help="all, if not given")
    parser.add_argument("--json", type=Path, help="file for the results")
    arguments = parser.parse_args()
    corpus = read_jsonl(arguments.data / "corpus.jsonl")
    labelled = _labelled(arguments, {entry["id"] for entry in corpus})
    with tempfile.TemporaryDirectory() as folder:
        engine, keys = fill(corpus, Path(folder))
        world = World(engine, keys, corpus, labelled, arguments.part)
        wanted = [each for each in SETS if not arguments.sets or each.__name__ in arguments.sets]
        figures = {each.__name__: each(world) for each in wanted}
        engine.close()
    for table in _shown(figures):
        Console().print(table)
    keep(arguments.json, {"data": arguments.data.name, "part": arguments.part, "documents": len(corpus), **figures})


if __name__ == "__main__":
    main()
