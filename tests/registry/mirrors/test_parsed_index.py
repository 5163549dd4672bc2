"""An index file is parsed once, and again when it has changed."""

import json

from registry.mirrors.parsed_index import IndexParser

URL = "https://registry.example.com"


def line(version: str, **fields: object) -> bytes:
    """Return a line of the index file of `acme/tea`."""
    plain = {"name": "acme/tea", "vers": version, "cksum": f"sha256:{'0' * 64}", "yanked": False, "other": [1]}
    return json.dumps({**plain, **fields}).encode() + b"\n"


def test_the_same_bytes_are_parsed_once() -> None:
    parser = IndexParser(URL)
    first = parser.parsed("acme/tea", line("1.0.0") + line("1.1.0"))
    assert list(first.lines) == ["1.0.0", "1.1.0"]
    assert first.lines["1.0.0"].fields["other"] == [1]
    assert parser.parsed("acme/tea", line("1.0.0") + line("1.1.0")) is first
    assert list(parser.parsed("acme/tea", line("1.0.0")).lines) == ["1.0.0"]


def test_lines_that_cannot_be_read_and_repeated_versions_are_left_out() -> None:
    body = line("1.0.0") + b"{\n" + line("1.1.0", name="acme/other") + line("1.0.0", other=2) + line("2.0.0")
    parsed = IndexParser(URL).parsed("acme/tea", body)
    assert {version: found.fields["other"] for version, found in parsed.lines.items()} == {"1.0.0": [1], "2.0.0": [1]}
