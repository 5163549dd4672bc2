"""Technical names that signs distinguish: `C++`, `C#`, `.NET`. Without the signs, they would be other words."""

import re

_LANGUAGES = {"c++": "cpp", "c#": "csharp", "f#": "fsharp"}
_LANGUAGE = re.compile(r"(?<![^\W_])(?:[cC]\+\+|[cCfF]#)(?![^\W_])")
_NET = re.compile(r"(?<![\w.)\]])\.net(?![^\W_])|\basp\.net(?![^\W_])", re.IGNORECASE)
_MAYBE_NET = re.compile(r"\.net(?![^\W_])(?:(?<![\w.)\]]\.net)|(?<=asp\.net))")
"""What a text in lower case has if `_NET` matches. It begins with plain characters, so the search for it is fast."""

_JS = re.compile(
    r"\b(alpine|angular|chart|d3|ember|express|nest|next|node|nuxt|p5|react|solid|three|vue)\.js(?![^\W_])",
    re.IGNORECASE,
)
_GOLANG = re.compile(r"\bgolang(?![^\W_])", re.IGNORECASE)


def as_words(text: str) -> str:
    """Return a text with the names of languages as the words by which people also write them.

    `C++` becomes `cpp`, `C#` becomes `csharp`, `.NET` becomes `dotnet net`, `Node.js` becomes `Node js Nodejs`, and
    `golang` becomes `golang go`.
    """
    lowered = text.lower()
    if any(language in lowered for language in _LANGUAGES):
        text = _LANGUAGE.sub(lambda match: _LANGUAGES[match[0].lower()], text)
    if _MAYBE_NET.search(lowered):
        text = _NET.sub(lambda match: f"{'asp aspnet ' if match[0][0] != '.' else ''}dotnet net", text)
    if ".js" in lowered:
        text = "\n".join(_JS.sub(r"\1 js \1js", line) if ".js" in line.lower() else line for line in text.split("\n"))
    return _GOLANG.sub("golang go", text) if "golang" in lowered else text
