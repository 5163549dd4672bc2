"""The tokenizer of BERT (Devlin et al. 2019, arXiv:1810.04805): words, then the longest known pieces of each word.

It makes the tokens of the library `tokenizers`, which is 40 MB with what it depends on. A test compares both over all
characters of Unicode. They differ where a character is newer than the library's tables: in 503 of them, for rare
scripts.
"""

import functools
import re
import unicodedata
from collections.abc import Iterator
from typing import Literal

import msgspec

_CONTROLS = {"Cc", "Cf", "Co", "Cs"}
_PIECE_CACHE = 20_000


class TokenizerError(Exception):
    """The definition is not that of a BERT tokenizer. The message says why."""


class _Normalizer(msgspec.Struct):
    type: Literal["BertNormalizer"]
    clean_text: Literal[True]
    handle_chinese_chars: bool
    lowercase: bool
    strip_accents: bool | None = None


class _Typed(msgspec.Struct):
    type: Literal["BertPreTokenizer"]


class _Model(msgspec.Struct):
    type: Literal["WordPiece"]
    vocab: dict[str, int]
    unk_token: str
    continuing_subword_prefix: str
    max_input_chars_per_word: int


class _Added(msgspec.Struct):
    id: int
    content: str
    single_word: Literal[False]
    lstrip: Literal[False]
    rstrip: Literal[False]
    normalized: Literal[False]


class _Definition(msgspec.Struct):
    normalizer: _Normalizer
    pre_tokenizer: _Typed
    model: _Model
    added_tokens: list[_Added]


class WordPiece:
    """Turns texts into token ids, `[CLS]` before them and `[SEP]` after them. Safe to use from several threads."""

    def __init__(self, definition: bytes | str, max_length: int) -> None:
        """Read a `tokenizer.json`. Raises TokenizerError unless it is that of BERT."""
        try:
            read = msgspec.json.decode(definition, type=_Definition)
            self._first, self._last, self._unknown = (
                read.model.vocab[token] for token in ("[CLS]", "[SEP]", read.model.unk_token)
            )
        except (msgspec.MsgspecError, KeyError) as error:
            raise TokenizerError(f"its tokenizer is not that of BERT: {error}") from error
        self._model = read.model
        self._added = {token.content: token.id for token in read.added_tokens}
        self._added_pattern = re.compile(f"({'|'.join(map(re.escape, self._added))})") if self._added else None
        self._cleaned = _Cleaned(read.normalizer)
        self._folded = _Folded(read.normalizer)
        self._room = max_length - 2
        self._pieces = functools.lru_cache(_PIECE_CACHE)(self._pieces_of)

    def ids(self, text: str) -> list[int]:
        """Return the tokens of a text, at most `max_length`; the rest of the text is left out."""
        ids: list[int] = []
        for tokens in self._tokens(text):
            ids += tokens
            if len(ids) >= self._room:
                break
        return [self._first, *ids[: self._room], self._last]

    def _tokens(self, text: str) -> Iterator[tuple[int, ...]]:
        for part in self._added_pattern.split(text) if self._added_pattern else (text,):
            if part in self._added:
                yield (self._added[part],)
            else:
                yield from map(self._pieces, self._words(part))

    def _words(self, text: str) -> list[str]:
        cleaned = text.translate(self._cleaned)
        if not cleaned.isascii() and self._folded.strips_accents:
            cleaned = unicodedata.normalize("NFD", cleaned)
        return cleaned.translate(self._folded).split()

    def _pieces_of(self, word: str) -> tuple[int, ...]:
        """Return the longest known pieces of a word from left to right, or the unknown token."""
        model, pieces, start = self._model, [], 0
        if len(word) > model.max_input_chars_per_word:
            return (self._unknown,)
        while start < len(word):
            prefix = model.continuing_subword_prefix if start else ""
            for end in range(len(word), start, -1):
                if (piece := model.vocab.get(prefix + word[start:end])) is not None:
                    break
            else:
                return (self._unknown,)
            pieces.append(piece)
            start = end
        return tuple(pieces)


class _Cleaned(dict[int, str]):
    """For `str.translate`: without control characters, every space a blank, Chinese characters apart."""

    def __init__(self, normalizer: _Normalizer) -> None:
        super().__init__()
        self._separates = normalizer.handle_chinese_chars

    def __missing__(self, code: int) -> str:
        character = chr(code)
        if character in "\t\n\r":
            self[code] = " "
        elif character == "\ufffd" or unicodedata.category(character) in _CONTROLS:
            self[code] = ""
        elif character.isspace():
            self[code] = " "
        else:
            self[code] = f" {character} " if self._separates and _is_chinese(code) else character
        return self[code]


class _Folded(dict[int, str]):
    """For `str.translate`: without accents if they are stripped, in lower case, punctuation apart."""

    def __init__(self, normalizer: _Normalizer) -> None:
        super().__init__()
        self._lowers = normalizer.lowercase
        self.strips_accents = normalizer.lowercase if normalizer.strip_accents is None else normalizer.strip_accents

    def __missing__(self, code: int) -> str:
        character = chr(code)
        category = unicodedata.category(character)
        if self.strips_accents and category == "Mn":
            self[code] = ""
        elif category[0] == "P" or (character.isascii() and character.isprintable() and not character.isalnum()):
            self[code] = f" {character} "
        else:
            self[code] = character.lower() if self._lowers else character
        return self[code]


def _is_chinese(code: int) -> bool:
    return any(first <= code <= last for first, last in _CHINESE)


_CHINESE = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)
