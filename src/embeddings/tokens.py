"""The tokens of a text, by the library `tokenizers` and the `tokenizer.json` of a model."""

from pathlib import Path

import tokenizers

FILE = "tokenizer.json"

_CHARACTERS_PER_TOKEN = 16
"""Languages have 1 to 6 characters a token. Cutting a long text before it is read saves time, and at this limit changes
nothing except in texts of very long words."""


class TokenizerError(Exception):
    """The definition cannot be used. The message says why."""


class TextTokens:
    """Turns texts into token ids, with the special tokens of the model. Safe to use from several threads."""

    def __init__(self, definition: str, max_length: int) -> None:
        """Read the text of a `tokenizer.json`. Raises TokenizerError."""
        try:
            self._tokenizer = tokenizers.Tokenizer.from_str(definition)
        except Exception as error:  # the library raises the plain class
            raise TokenizerError(f"its {FILE} cannot be read: {error}") from error
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(max_length)
        self._max_characters = max_length * _CHARACTERS_PER_TOKEN

    def ids(self, text: str) -> list[int]:
        """Return the tokens of any string, at most `max_length`; the rest of the text is left out."""
        valid = text[: self._max_characters].encode("utf-8", "ignore").decode("utf-8")
        ids: list[int] = self._tokenizer.encode(valid).ids
        return ids


def definition(folder: Path) -> str:
    """Return the text of the `tokenizer.json` of a model folder. Raises OSError."""
    return (folder / FILE).read_text(encoding="utf-8")
