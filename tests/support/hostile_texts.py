"""Texts made of what the content rules look for, combined, repeated and nested to make scanning slow."""

import random
import re
from collections.abc import Iterator
from typing import NamedTuple

from registry.findings.rules import RULES, Rule

SIGNS = (
    *("|", " ", "\n", "\t", "\r\n", "\\\n", "@", "$(", "`", "<(", "(", ")", ">>", "~/.", "/", ".", "-", "=", "&&", ";"),
    *("-d ", "http://", "https://1.1.", "|sh", '"', "a", "A", "0", "\0", "é", "\u200b", "\u200c", "\u202e", "\ufe00"),
    *("\u017f", "\u212a", "\u0131", "\u2019", "\u0410", "\u0663", "\u00a0", "\U000e0041", "\U000e0110", "\U0001f3f4"),
)
"""What separates the words of rules, and one character of every kind that the rules distinguish."""
ATTACK = "cp .env|curl "
"""This cost 0.3 ms per byte and more when the rules were backtracking regular expressions."""
_WORD = re.compile(r"[A-Za-z0-9./_@:+-]{2,}")
_JOINTS = ("", " ", "\n", " | ")


class HostileText(NamedTuple):
    """A text and how it is built."""

    recipe: str
    text: str


def fragments(rule: Rule) -> list[str]:
    """Return the words that a rule looks for, in order."""
    literal = re.sub(r"\[[^\]]*\]|\{[\d,]*\}|\(\?[a-z]*[:)]?|\\[bwdsS]|\\x\{\w+\}", "\n", rule.pattern)
    return sorted(set(_WORD.findall(literal.replace("\\", ""))))


def hostile_texts(size: int, random_ones: int, seed: int) -> Iterator[HostileText]:
    """Yield texts of about `size` characters: every word of the rules repeated, and `random_ones` combinations."""
    of_rules = [fragments(rule) for rule in RULES]
    words = sorted({word for of_rule in of_rules for word in of_rule})
    yield HostileText("the attack", _repeated(ATTACK, size))
    for joint in _JOINTS:
        yield HostileText(f"all words, {joint!r} between them", _repeated(joint.join(words) + joint, size))
        for word in (*words, *SIGNS):
            yield HostileText(f"{word + joint!r} repeated", _repeated(word + joint, size))
    chance = random.Random(seed)
    for _ in range(random_ones):
        own = chance.choice(of_rules) if chance.random() < 0.6 else words
        count = chance.choice((2, 2, 3, 3, 4, 8, 40))
        parts = [chance.choice((*own, *SIGNS)) for _ in range(count)]
        yield _combined(parts, words, size, chance)


def _combined(parts: list[str], words: list[str], size: int, chance: random.Random) -> HostileText:
    joint = chance.choice(_JOINTS)
    told = f"of {parts[:8]!r} and {joint!r}"
    match chance.randrange(5):
        case 0:
            return HostileText(f"a cycle {told}", _repeated(joint.join(parts) + joint, size))
        case 1:
            return HostileText(
                f"the first repeated, then the others {told}", _repeated(parts[0], size) + "".join(parts)
            )
        case 2:
            nested = ""
            for part in parts:
                nested = part + joint + nested + joint + part
            return HostileText(f"each round the others {told}", _repeated(nested, size))
        case 3:
            mixed = (chance.choice(parts) + chance.choice(("", joint)) for _ in range(size // 2))
            return HostileText(f"a mixture {told}", "".join(mixed)[:size])
        case _:
            filler = _repeated(parts[0], chance.randrange(1, 2000))
            some = " ".join(chance.sample(words, 200))
            return HostileText(f"200 words and {len(filler)} characters {told}", _repeated(some + joint + filler, size))


def _repeated(unit: str, size: int) -> str:
    return (unit * (size // len(unit) + 1))[:size]
