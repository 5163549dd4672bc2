"""Documents made to be expensive for one parser: its tokens repeated, nested or without their ends, and known cases.

Each function yields names and texts of about `size` characters.
"""

import itertools
import json
import random
from collections.abc import Iterator, Sequence

Texts = Iterator[tuple[str, str]]

MARKDOWN = (
    *("[", "]", "![", "](", "[a](", "![a](b", "a[", '[a](b "', "[a](<b", "[[", "![[", "[a][", "[a]: b\n", "[a]:"),
    *("*", "_", "*_", "*a **b ", "**a", "a**", "*a_", "***a", "~~a ", "~", "`", "a`", "``a`", "```\n", "~~~\n", "\\"),
    *("> ", ">", "- ", "* ", "1. a\n", "-\n", "  - ", "> - ", "    ", "\t", "# ", "a\n=\n", "---\n", "\n", "  \n", "|"),
    *("|a|\n|-|\n", "|\n", "<", "<b>", "</b>", "<b a='", "<div>", "<!--", "<![CDATA[", "<?", "<a@b>", "<http://a>"),
    *("<svg><style>", "<table>", "<math><mi>", "<script>", "<p>", "<li>", "<td>", "<ul>", "<dl>", "</p>", "a", "\xa0"),
    *("&", "&#x", "[^a]", "- [ ] ", "- [x] a\n"),
)
YAML = (
    *("a: b\n", "a:\n", "a: [", "a: {", "[", "{", "]", "}", "- ", "- a\n", "? ", "? a\n", ": ", "&a ", "*a ", "!t "),
    *("|\n", ">\n", " ", "\t", "\n", '"', "'", "\\", "a", "é", "#", "%", ",", "a: b: c\n", 'a: "b\n', "a: 'b\n"),
    *("a: |\n", "- - ", "--- ", "...\n", "  b\n", "a.b: c\n", "<!--", "-->", "\x85", "\r"),
)
TOML = (
    *("a=1\n", "[a]\n", "[[a]]\n", "[a.b]\n", "[[a.b]]\n", "a.b=1\n", "a.", "a={", "a=[", "[", "]", "{", "a={a=1},"),
    *('"', "'", '"""', "'''", "\\", "\\n", "\\\n", "#", "\n", " ", ",", "=", "0x", "9", "1_1", "1e1", "1,", "x=["),
    *("2020-01-01,", "''=1\n", '"a"."a".', "[[a]]\n[a.b]\n", "[a]\nb=1\n", 'a="""\n', "{a=1},"),
)


def combined(tokens: Sequence[str], size: int, before: str = "", *, pairs: bool = False) -> Texts:
    """Yield each token repeated, on lines, and in lines as long as there are lines; with `pairs` also all pairs."""
    side = int(size**0.5)
    for token in tokens:
        yield f"{token!r} repeated", before + token * (size // len(token))
        yield f"{token!r} on lines", before + f"{token}\n" * (size // (len(token) + 1))
        yield f"{token!r} in a square", before + f"{token * (side // len(token) + 1)}\n" * side
    for first, then in itertools.product(tokens, tokens) if pairs else ():
        yield f"{first!r} and {then!r}", before + (first + then) * (size // len(first + then))
        yield f"{first!r}, then {then!r}", before + first * (size // 2 // len(first)) + then * (size // 2 // len(then))


def mixed(tokens: Sequence[str], size: int, before: str = "", *, count: int, seed: int = 1) -> Texts:
    """Yield `count` texts of a few tokens in a random order, half of them of one random phrase repeated."""
    drawn = random.Random(seed)
    for number in range(count):
        some = drawn.sample(tokens, drawn.randint(2, 7))
        phrase = "".join(drawn.choices(some, k=drawn.randint(2, 12) if number % 2 else size // 3))
        yield f"mix {number} of {some!r}", (before + phrase * (size // len(phrase) + 1))[:size]


def markdown(size: int) -> Texts:
    """Yield what takes renderers, and parsers of HTML, the square of the length or answers of many times the length."""
    tags = "".join(f"<b a={number}>" for number in range(size // 30))
    yield "one title over many lines", '[a](b "' + "x\n" * (size // 2)
    yield "titles over many lines", ("[a](b \"[a](b '[a](b (" + "x\n" * (size // 50) + "\n") * 25
    yield "quotes, then lines", "> " * (size // 4) + "a\n" * (size // 4)
    yield "lists, then lines", "- " * (size // 4) + "|\n" * (size // 4)
    yield "lists, then blank lines", "- " * (size // 4) + "\n" * (size // 2)
    yield "a wide table of short rows", "|a" * (size // 6) + "|\n" + "|-" * (size // 6) + "|\n" + "|\n" * (size // 6)
    yield "a long reference", "[x]: " + "x" * (size // 2) + "\n" + "[x]" * (size // 6)
    yield "many references", "".join(f"[{number}]: b\n[{number}]\n" for number in range(size // 20))
    yield "longer and longer backticks", "".join("a" + "`" * count for count in range(1, int((2 * size) ** 0.5)))
    yield "deeper and deeper lists", "".join("  " * depth + "- a\n" for depth in range(int(size**0.5)))
    yield "open tags, then paragraphs", f"<p>{tags}" + "</p><p>a" * (size // 16)
    yield "open tags", "".join(f"<i a={number}>" for number in range(size // 12))
    yield "many attributes", "<a " + " ".join(f"a{number}" for number in range(size // 7)) + ">"
    yield "links in links", "<a href=x>b" * (size // 11)
    yield "tags misnested", "<b><p></b>" * (size // 10)
    yield "tables in tables", "<table><tr><td>" * (size // 15)


def front_matter(size: int) -> Texts:
    """Yield fields without end."""
    yield "many keys", "---\nname: a\n" + "".join(f"k{number}: v\n" for number in range(size // 10)) + "---\n"
    yield "many bad keys", "---\n" + "".join(f"k{number}: a: b\n" for number in range(size // 13)) + "---\n"
    yield "a long key", "---\n? " + "k" * (size // 2) + "\n:\n" + " a: b\n" * (size // 14) + "---\n"


def toml(size: int) -> Texts:
    """Yield deep tables, many tables, long numbers and long strings."""
    deep = ".".join("a" * 99)
    yield "deep keys", "".join(f"{deep}.k{number}=1\n" for number in range(size // 205))
    yield "deep tables", "".join(f"[{deep}.k{number}]\n" for number in range(size // 207))
    yield "many keys", "".join(f"k{number}=1\n" for number in range(size // 9))
    yield "many tables", "".join(f"[a.k{number}]\n" for number in range(size // 10))
    yield "dotted keys within", "a={" + ",".join(f"b.k{number}=1" for number in range(size // 11)) + "}\n"
    yield "lists in lists", "x=[" + ("[" * 90 + "]" * 90 + ",") * (size // 181) + "]"
    yield "a long number", "a=" + "9" * size
    yield "a long hexadecimal number", "a=0x" + "f" * size
    yield "escapes", 'a="' + "\\U00000041" * (size // 10) + '"'


def json_bodies(size: int) -> Texts:
    """Yield bodies for a new skill: many values, many faults, long keys, long numbers."""
    start = '{"id":"abc","name":"a","description":"0123456789a","version":"1.0.0",'
    for item in ("[]", "{}", "1", '""', "-1", "1.5", '"\\u0001"', '{"a":1,"a":1}'):
        yield f"many {item}", "[" + f"{item}," * (size // (len(item) + 1)) + "1]"
        yield f"tags {item}", start + '"tags":[' + f"{item}," * (size // (len(item) + 1)) + '""]}'
        yield (
            f"fewer tags {item}",
            start + '"tags":[' + f"{item}," * min(4_990 // (item.count(",") + 2), size // 9) + '""]}',
        )
    yield "a long key", '{"' + "k" * (size // 2) + '":[' + "1," * min(size // 4, 4_900) + "1]}"
    yield "long keys in long keys", ('{"' + "k" * (size // 60) + '":') * 30 + "[" + "-1," * 1_000 + "1]" + "}" * 30
    yield "many keys", "{" + ",".join(f'"k{number}":-1' for number in range(size // 12)) + "}"
    yield "a fault that quotes", start + '"source_type":"' + " - at `$" * (size // 8) + '"}'
    yield "a deep list", "[" * size
    yield "a long number", "9" * size
    yield "a long fraction", "0." + "9" * size
    yield "escapes", '{"a":"' + "\\u0041" * (size // 6) + '"}'
    yield "quotes", '"' * size
    yield "separators in a string", json.dumps({"content": "," * size})


def marketplaces(size: int) -> Texts:
    """Yield documents of many entries, many folders, long paths and long texts."""
    source = '{"source":"github","repo":"a/b"}'
    many = {
        "empty entries": ["{}"] * (size // 3),
        "plugins": [f'{{"name":"a{number}","source":{source}}}' for number in range(size // 52)],
        "folders": [
            f'{{"name":"a","source":{source},"skills":[' + ",".join(f'"{number}"' for number in range(200)) + "]}"
        ]
        * (size // 1_250),
        "folders, the last bad": [
            f'{{"name":"a","source":{source},"skills":[' + '"a",' * 198 + '"\\u0001"]}',
        ]
        * (size // 850),
        "labels": [f'{{"name":"a","source":{source},"tags":"' + "a," * (size // 2) + '"}'],
        "a text": [f'{{"name":"a","source":{source},"description":"' + "a\\u0001" * (size // 7) + '"}'],
        "a path": ['{"name":"a","source":"' + "a/" * (size // 2) + '"}'],
        "a path up and down": ['{"name":"a","source":"' + "a/../" * (size // 5) + '"}'],
    }
    for name, entries in many.items():
        yield name, '{"plugins":[' + ",".join(entries) + "]}"
    yield (
        "a root",
        '{"metadata":{"pluginRoot":"'
        + "a/" * (size // 4)
        + '"},"plugins":['
        + (",".join(['{"name":"a","source":"b"}'] * (size // 60)) + "]}"),
    )
    yield "skills", '{"skills":[' + ",".join(f'{{"id":"a{number}"}}' for number in range(size // 15)) + "]}"
    yield (
        "skills with URLs",
        ('{"skills":[' + ",".join(f'{{"id":"a{number}","download_url":"x"}}' for number in range(size // 34)) + "]}"),
    )
    yield "a deep document", '{"data":' * (size // 8)
    yield "deep entries", '{"plugins":[' + "[" * size


def multipart_bodies(size: int) -> Texts:
    """Yield bodies with the boundary `XyZ`: near boundaries, long heads, headers over many lines."""
    start = '--XyZ\r\nContent-Disposition: form-data; name="package"; filename="a.zip'
    for unit in ("\r\n", "\r\n--", "\r\n--Xy", "-", "a"):
        yield f"{unit!r} before the file", unit * (size // len(unit))
        yield f"{unit!r} in the file", f'{start}"\r\n\r\n' + unit * (size // len(unit))
    for unit in (";a=b", ';a="b', ';a="\\"', "%22", '\\"', "; "):
        yield f"{unit!r} in heads", f"{start}{unit * (3_900 // len(unit))}\r\n\r\n\r\n" * 19
    lines = "".join(f"X-{number}: a\r\n" + " a\r\n" * 600 for number in range(7))
    yield "headers over many lines", f'{start}"\r\n{lines}\r\n\r\n' * 19


def index_files(size: int) -> Texts:
    """Yield files of a shared index: many lines, long lines, deep lines, many values."""
    good = '{{"name":"a/b","vers":"1.0.{}"}}'
    yield "many versions", "\n".join(good.format(number) for number in range(size // 31))
    yield "many bad lines", "x\n" * (size // 2)
    yield "blank lines", "\n" * size
    yield "a deep line", '{"vers":' + "[" * size
    yield "deep lines", ('{"vers":' + "[" * 900 + "\n") * (size // 910)
    yield "a long line", '{"name":"a/b","vers":"' + "1." * (size // 2) + '"}'
    yield "lines of many values", ('{"name":"a/b","vers":"1.0.0","x":[' + "-1," * 4_000 + "1]}\n") * (size // 12_000)
    yield "lines of many lists", ('{"name":"a/b","vers":"1.0.0","x":[' + "[[]]," * 2_000 + "1]}\n") * (size // 10_000)
    yield "long keys", ('{"name":"a/b","' + "k" * 8_000 + '":[' + "1," * 2_000 + "1]}\n") * (size // 12_000)


def change_pages(size: int) -> Texts:
    """Yield pages of a change feed: many entries, bad entries, long texts, many labels, deep entries."""
    skill = '{{"id":"a/b","skill":{{"name":"a","description":"b","version":"1.0.0",{}}}}}'
    many = {
        "bad entries": ["0"] * (size // 2),
        "empty entries": ["{}"] * (size // 3),
        "removed skills": [f'{{"id":"a/s{number}","skill":null}}' for number in range(size // 30)],
        "small skills": [skill.format('"body":""')] * (size // 80),
        "long ids": ['{"id":"' + "a" * 5_000 + '","skill":null}'] * (size // 5_020),
        "URLs": [skill.format('"download_url":"https://a.example/b.zip"')] * (size // 120),
        "bad URLs": [skill.format('"download_url":"https://[' + "@" * 900 + '"')] * (size // 1_000),
        "labels": [skill.format('"tags":[' + '"a",' * (size // 4) + '"b"]')],
        "long labels": [skill.format('"tags":["' + "a," * (size // 2) + '"]')],
        "a name": [skill.format('"author":"' + "a\\u0001" * (size // 7) + '"')],
        "a body": [skill.format('"body":"' + "\\u0000" * (size // 6) + '"')],
        "an unknown field": [skill.format('"x":[' + "[]," * (size // 3) + "1]")],
        "deep entries": [skill.format('"x":' + "[" * 900 + "]" * 900)] * (size // 1_900),
    }
    start = '{"data":{"catalog":"c","revision":1,"complete":true,"changes":['
    for name, entries in many.items():
        yield name, start + ",".join(entries) + "]}}"
    yield "a deep page", start + "[" * size
    yield "a long revision", '{"data":{"catalog":"c","revision":' + "9" * size
    yield "quotes", '"' * size
    yield "backslashes", '{"data":"' + "\\" * size
