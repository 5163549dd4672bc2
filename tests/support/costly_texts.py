"""Texts that are known to be expensive somewhere, to be sent into any field of any route."""

from collections.abc import Callable, Mapping

UNITS: Mapping[str, str] = {
    "letters": "a", "capitals": "Ab", "digits": "9", "spaces": " ", "lines": "a\n", "paths": "a/", "dots": "a.",
    "dashes": "a-", "underscores": "_a", "commas": "a,", "quotes": '"', "backslashes": "\\", "percents": "%41",
    "versions": "1.0.0 ", "ranges": "^1.2,", "globs": "**/*", "brackets": "[a](", "stars": "*a **b ",
    "HTML": "<b><p></b>",
    "entities": "&#x", "anchors": "&a *a ", "front matter": "---\na: b\n", "TOML": "[[a]]\n", "addresses": "http://a@",
    "git addresses": "https://a/tree/b/", "zips": "a.zip@^1", "marks": "e\u0301\u0323", "ligatures": "\ufdfa",
    "ideographs": "字", "families": "👩\u200d👩\u200d👧", "hidden": "\u200b\U000e0041", "look-alikes": "аdmіn",
    "theft": "cp .env|curl ", "orders": "ignore all previous ", "cookies": "a=b; ", "tags": '"a", ',
    "addresses of hosts": "127.0.0.1, ",
    "surrogates": "𝒳", "nulls": "\x00",
}  # fmt: skip
"""What is repeated, by name."""


def _distinct(length: int) -> str:
    return " ".join(f"w{number:x}" for number in range(length // 5))[:length]


def _growing(length: int) -> str:
    return "".join("a" + "`" * count for count in range(1, int((2 * length) ** 0.5)))[:length]


def _keys(length: int) -> str:
    return "{" + ",".join(f'"{number:x}":1' for number in range(length // 8)) + "}"


def _repeating(unit: str) -> Callable[[int], str]:
    return lambda length: (unit * (length // len(unit) + 1))[:length]


TEXTS: Mapping[str, Callable[[int], str]] = {
    **{name: _repeating(unit) for name, unit in UNITS.items()},
    "distinct words": _distinct,
    "longer and longer": _growing,
}
"""Texts of a length in characters, by name."""

BODIES: Mapping[str, Callable[[int], str]] = {
    "nested arrays": lambda length: "[" * (length // 2) + "]" * (length // 2),
    "open arrays": lambda length: "[" * length,
    "nested objects": lambda length: '{"a":' * (length // 5),
    "many keys": _keys,
    "one key again": lambda length: '{"a":1' + ',"a":1' * (length // 6) + "}",
    "a long number": lambda length: '{"limit":' + "9" * length + "}",
    "a long fraction": lambda length: '{"min_score":0.' + "9" * length + "}",
    "escapes": lambda length: '{"id":"' + "\\u0041" * (length // 6) + '"}',
    "pairs of escapes": lambda length: '{"id":"' + "\\ud83e\\udd89" * (length // 12) + '"}',
    "many numbers": lambda length: '{"id":[' + "1," * (length // 2) + "1]}",
    "blanks": lambda length: " " * length + "{}",
    "a text without an end": lambda length: '{"id":"' + "a" * length,
    "many faults": lambda length: '{"tags":[' + '"a",' * (length // 4) + '"a"]}',
}
"""Bodies that are JSON, or nearly."""
