import pytest

from registry.parsing.text_encoding import decode, encoding_of, with_line_feeds

TEXT = "---\nname: café\n---\n会议\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_a_text_is_decoded_by_its_mark(encoding: str) -> None:
    assert decode(TEXT.encode(encoding)) == TEXT


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_without_a_mark_is_recognised_by_its_zeros(encoding: str) -> None:
    assert encoding_of(b"---\nname: a\n---\n".decode().encode(encoding)) == encoding


def test_marks_are_removed_however_many_there_are() -> None:
    assert decode(b"\xef\xbb\xbf\xef\xbb\xbfa") == "a"


@pytest.mark.parametrize("data", [b"", b"a\0b", bytes(40), b"\xff", b"\xff\xfea", bytes(range(256))])
def test_any_bytes_are_decoded(data: bytes) -> None:
    assert isinstance(decode(data), str)


@pytest.mark.parametrize("text", ["a\nb\n", "a\r\nb\r\n", "a\rb\r", "a\r\r\nb\r\r\n", "a\rb\r\n"])
def test_every_line_break_becomes_a_line_feed(text: str) -> None:
    assert with_line_feeds(text) == "a\nb\n"
