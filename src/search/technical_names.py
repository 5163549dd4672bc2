"""Technical names that signs distinguish: `C++`, `C#`, `.NET`. Without the signs, they would be other words."""

import re

_LANGUAGES = {"c++": "cpp", "c#": "csharp", "f#": "fsharp"}
_LANGUAGE = re.compile(r"(?<![^\W_])(?:[cC]\+\+|[cCfF]#)(?![^\W_])")
_NET = re.compile(r"(?<![\w.)\]])\.net(?![^\W_])|\basp\.net(?![^\W_])", re.IGNORECASE)
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
    if "+" in text or "#" in text:
        text = _LANGUAGE.sub(lambda match: _LANGUAGES[match[0].lower()], text)
    lowered = text.lower()
    if ".net" in lowered:
        text = _NET.sub(lambda match: f"{'asp aspnet ' if match[0][0] != '.' else ''}dotnet net", text)
    if ".js" in lowered:
        text = _JS.sub(r"\1 js \1js", text)
    return _GOLANG.sub("golang go", text) if "golang" in lowered else text
