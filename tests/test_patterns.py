"""No regular expression of the service goes quadratic: untrusted texts reach most of them (check J15)."""

import ast
import importlib
import itertools
import re
import signal
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import pytest

SOURCE = Path(__file__).parents[1] / "src"
LENGTH = 50_000
GUARD_SECONDS = 2.0
TRIES = 3
"""The timer counts the threads that other tests left, too. So a text is slow when it is slow each time."""
UNITS = (
    *("a", "A", "0", " ", "\t", "\n", "\r\n", "-", "_", ".", ",", ":", "#", "*", "`", "(", ")", "[", "]", '"', "é"),
    *("aA", "a ", "a-", "a.", "0.", "a\n", "---\n", " ---", "a: ", "- ", "[a](", "[a](b)", "`a*", "字", "(a", "a("),
)
FRAMES = (("", ""), ("", "\x00"), ("---\n", "!\n"), ("description: ", "\x00"), ("https://[", "]!"), ("a", "!a"))


class Expression(NamedTuple):
    """A regular expression in the source and how it is used there."""

    place: str
    text: str | bytes
    flags: int
    uses: frozenset[str]


def patterns_in(path: Path) -> Iterator[Expression]:
    """Find `re.compile(…)` and every `pattern=…` that msgspec searches for. RE2 matches the content rules."""
    tree = ast.parse(path.read_text())
    assigned = {
        node.targets[0].id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    names = {id(value): name for name, value in assigned.items()}
    assigned |= imported(tree)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        place = f"{path.relative_to(SOURCE)}:{node.lineno}"
        called = ast.unparse(node.func)
        # An alternative of escaped texts is searched for in linear time, whatever the texts are.
        if called == "re.compile" and not (given := ast.unparse(node.args[0])).endswith(".pattern"):
            if "map(re.escape, " in given:
                continue
            flags = eval(ast.unparse(node.args[1]), {"re": re}) if len(node.args) > 1 else 0
            yield Expression(place, literal(node.args[0], assigned), flags, uses_of(names.get(id(node)), tree))
        for keyword in node.keywords:
            if keyword.arg == "pattern" and called != "Rule":
                yield Expression(place, literal(keyword.value, assigned), 0, frozenset({"search"}))


def imported(tree: ast.Module) -> dict[str, ast.expr]:
    """Return the texts that a module imports by names of constants."""
    found: dict[str, ast.expr] = {}
    for node in tree.body:
        for alias in node.names if isinstance(node, ast.ImportFrom) else ():
            if alias.name.isupper() and isinstance(node, ast.ImportFrom):
                value = getattr(importlib.import_module(str(node.module)), alias.name)
                found |= {alias.asname or alias.name: ast.Constant(value)} if isinstance(value, str) else {}
    return found


def literal(node: ast.expr, assigned: dict[str, ast.expr]) -> str | bytes:
    """Return the text of an expression that is a literal, or the name of one."""
    value = ast.literal_eval(assigned[node.id] if isinstance(node, ast.Name) else node)
    assert isinstance(value, str | bytes)
    return value


def uses_of(name: str | None, tree: ast.AST) -> frozenset[str]:
    """Return which methods of the compiled expression a module calls."""
    return frozenset(
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == name
    )


PATTERNS = tuple(found for path in sorted(SOURCE.rglob("*.py")) for found in patterns_in(path))


@cache
def adversaries() -> tuple[str, ...]:
    """Return long repetitions between beginnings that match and ends that do not."""
    pairs = itertools.product(UNITS, FRAMES)
    return tuple(f"{start}{unit * (LENGTH // len(unit))}{end}" for unit, (start, end) in pairs)


def give_up(number: int, frame: FrameType | None) -> None:
    raise TimeoutError


def ends_in_time(compiled: re.Pattern[Any], use: str, text: str | bytes) -> bool:
    """Use the expression on a text, and say whether that ended before it took too much CPU time."""
    signal.setitimer(signal.ITIMER_VIRTUAL, GUARD_SECONDS)
    try:
        if use in {"sub", "subn"}:
            compiled.sub(text[:0], text)
        elif use == "finditer":
            list(compiled.finditer(text))
        else:
            getattr(compiled, use)(text)
    except TimeoutError:
        return False
    else:
        return True
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


@pytest.fixture(autouse=True)
def alarm() -> Iterator[None]:
    before = signal.signal(signal.SIGVTALRM, give_up)
    yield
    signal.signal(signal.SIGVTALRM, before)


def test_the_expressions_are_found() -> None:
    assert len(PATTERNS) > 40
    assert all(pattern.uses for pattern in PATTERNS), [one.place for one in PATTERNS if not one.uses]


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.place)
def test_no_text_makes_it_slow(pattern: Expression) -> None:
    expression = re.compile(pattern.text, pattern.flags)
    for use, text in itertools.product(pattern.uses, adversaries()):
        given = text.encode() if isinstance(pattern.text, bytes) else text
        if not any(ends_in_time(expression, use, given) for _ in range(TRIES)):
            pytest.fail(f"{use} takes more than {GUARD_SECONDS} s on {text[:30]!r} … {text[-10:]!r}")
