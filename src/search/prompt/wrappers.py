"""Tags around a request, such as `<user_query>`: agents write them, and they are no words of the request."""

import re

_OPENING = re.compile(r"^[ \t]*<([A-Za-z][\w-]{0,39})>\s*", re.MULTILINE)
_ENDS_LINE = re.compile(r"[ \t]*(?:\n|\Z)")

_READ = 20_000
"""The characters at the beginning of a prompt in which tags are looked for."""

_MOST_TAGS = 8
_FEWEST_WORDS = 3


def without_wrappers(text: str) -> str:
    """Return a prompt without the tags that stand around sentences, from the beginning of a line to the end of one.

    What has tags within it, or hardly any words, is markup that the request is about, and stays.
    """
    parts, start, position = [], 0, 0
    for _ in range(_MOST_TAGS):
        opening = _OPENING.search(text, position, _READ)
        if opening is None:
            break
        closing = f"</{opening[1]}>"
        end = text.find(closing, opening.end())
        position = opening.end() if end < 0 else end + len(closing)
        inner = text[opening.end() : max(end, 0)]
        if _ENDS_LINE.match(text, position) and len(inner.split()) >= _FEWEST_WORDS and not inner.startswith("<"):
            parts += [text[start : opening.start()], inner.rstrip()]
            start = position
    return "".join((*parts, text[start:]))
