import codecs

import msgspec
import pytest

from registry.parsing.json_document import JsonUnreadable, read_json


class Named(msgspec.Struct):
    name: str


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "truncated"),
        (b"<html>", "malformed"),
        (b"[]", "Expected `object`"),
        (b'{"name": 1}', "Expected `str`"),
        (b'{"name": "\xff"}', "decode byte 0xff"),
        (b'{"other": "\xff"}', "required field `name`"),
        (b'{"name": "x", "other": ' + b"[" * 100_000, "nested too deeply"),
    ],
)
def test_what_cannot_be_read_is_one_error_that_says_why(content: bytes, message: str) -> None:
    with pytest.raises(JsonUnreadable, match=message):
        read_json(content, Named)


def test_the_mark_of_an_editor_on_windows_is_skipped() -> None:
    assert read_json(codecs.BOM_UTF8 + b'{"name": "x"}', Named) == Named("x")
    assert read_json(msgspec.Raw(b'{"name": "x"}'), Named) == Named("x")


def test_unknown_fields_are_ignored_and_a_type_is_optional() -> None:
    assert read_json(b'{"name": "x", "other": 1}', Named) == Named("x")
    assert read_json(b'{"name": "x", "other": 1}') == {"name": "x", "other": 1}
