"""Patterns match where `re` matches the same expression, and refuse syntax that they do not support."""

import re
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from registry.findings.alphabet import REPRESENTATIVES, code
from registry.findings.bit_text import BitText
from registry.findings.hints import hinted
from registry.findings.pattern import Pattern
from registry.findings.rules import RULES, Rule
from support.hostile_texts import SIGNS, fragments

SYNTAX = (
    *(
        "a",
        "ab|c",
        "(?:ab|c){2,3}d",
        "a{2,}b",
        "a{0,3}?b{2}",
        "(?i)k[s-t]",
        "(?m)^a?b$",
        r"\ba\b",
        r"a(?!b|\w)",
        "a(?=b)",
    ),
    *(
        r"(?<=[ab])c",
        "(?<!a)b+",
        "[^a]{1,40}b",
        "[]a]b",
        r"[\]a-b]*c",
        r"(?:a\||b\.)?c",
        "(?:ab)?c",
        "(?:abc){2}",
        r"\d\w\s?",
        "a(?:b(?:c|)|d)e",
    ),
)
"""Every construct that a pattern supports."""
BLOCKS = (range(0x3200), range(0xF900, 0x11000), range(0x1F000, 0x20000), range(0xE0000, 0xE0200))
"""Characters of every kind, without the large scripts whose characters are all plain letters."""


def begins(pattern: Pattern, text: str) -> list[int]:
    found = pattern.begins(BitText(text))
    return [at for at in range(len(text) + 1) if found >> len(text) - at & 1]


@pytest.mark.parametrize("source", SYNTAX)
@settings(max_examples=200, deadline=None, derandomize=True)
@given(text=st.text("abcdKksSſ\u212a .|]\n0\u0663é", max_size=70))
def test_a_pattern_matches_where_re_matches(source: str, text: str) -> None:
    expected = [at for at in range(len(text) + 1) if re.compile(source).match(text, at)]
    assert begins(Pattern(source), text) == expected


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_every_rule_matches_where_re_matches(rule: Rule) -> None:
    pattern, compiled = Pattern(rule.pattern), re.compile(rule.pattern)
    noise = st.lists(st.sampled_from([*fragments(rule), *SIGNS, *SIGNS]), max_size=8).map("".join)

    @settings(max_examples=30, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    @given(noise, st.from_regex(compiled), noise, st.data())
    def holds(before: str, match: str, after: str, data: st.DataObject) -> None:
        cut = data.draw(st.integers(0, len(match)))
        for text in (match, before + match + after, match[:cut] + after + match[cut:], match[:cut] + match[cut + 1 :]):
            assert begins(pattern, text) == [at for at in range(len(text) + 1) if compiled.match(text, at)]

    holds()


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.hints or rule.words], ids=lambda rule: rule.id)
def test_a_match_contains_a_hint(rule: Rule) -> None:
    @settings(max_examples=60, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    @given(st.from_regex(re.compile(rule.pattern)))
    def holds(match: str) -> None:
        assert rule.id in hinted(match).rules

    holds()


def test_a_representative_matches_like_every_character_of_its_code() -> None:
    every = "".join(chr(point) for block in BLOCKS for point in block)
    alike: dict[int, set[str]] = {}
    for character in every:
        alike.setdefault(code(character), set()).add(character)
    assert [code(character) for character in REPRESENTATIVES] == sorted(alike)
    for flags, one in {found for rule in RULES for found in sets_of(rule)}:
        matched = set(re.findall(flags + one, every))
        torn = [REPRESENTATIVES[code] for code, group in alike.items() if 0 < len(group & matched) < len(group)]
        assert not torn, one


def sets_of(rule: Rule) -> list[tuple[str, str]]:
    flags = "(?i)" if rule.pattern.startswith(("(?i)", "(?im)")) else ""
    return [(flags, one) for one in re.findall(r"\[\^?(?:[^\]\\]|\\.)+\]|\\[wdsS]|[a-z]", rule.pattern)]


@pytest.mark.parametrize(
    "source", ["(a)", "(?:ab)*", "(?:a", "a)", "a.b", "^a", "a$", r"(?P<x>a)", "a++", r"(a)\1", "*a"]
)
def test_unsupported_syntax_is_refused(source: str) -> None:
    with pytest.raises(ValueError, match="pattern"):
        Pattern(source)


def test_the_nearest_end_of_each_match_is_found() -> None:
    text = "x ab--b ab"
    pattern = Pattern("a[^a]{0,9}?b")
    within = pattern.within(BitText(text), pattern.begins(BitText(text))).of(1)
    last = [at for at in range(len(text) + 1) if not within >> len(text) - at & 1]
    assert last == [3, 6, 9]
    assert [text[at] for at in last] == ["b"] * 3
    assert all(first < second for first, second in pairwise(last))
