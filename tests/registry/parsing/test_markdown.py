import re
import time

import pytest

from registry.parsing.markdown import MAX_RENDERED, render_markdown

HOSTILE = [
    "[", "![", "[a](", "![a](b", "a[", "*a **b ", "*_", "> ", "- ", "<", "<div>", "<b>", "<a b='", "<!--", "<![CDATA[",
    "`", "|", "&", "\\", "~~a ", "a\n=\n", "1. a\n", "[a]: b\n", "<svg><style>", "<table>", "\n", "<math><mi>",
]  # fmt: skip


def test_the_usual_is_rendered() -> None:
    made = render_markdown(
        "# Title\n\n**bold** ~~gone~~ `x < y`\n\n|a|\n|-|\n|1|\n\n3. three\n\n```py\nx = '<b>'\n```\n"
    )
    for part in ("<h1>Title</h1>", "<strong>bold</strong>", "<s>gone</s>", "<code>x &lt; y</code>", "<td>1</td>"):
        assert part in made
    assert '<ol start="3">' in made
    assert "x = '&lt;b&gt;'" in made


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<style>*{}</style>",
        "<svg onload=alert(1)><a xlink:href='javascript:alert(1)'>x</a></svg>",
        "<p onclick=alert(1) style='position:fixed' id=x class=y>a</p>",
        "<iframe src=https://evil.example></iframe><object data=x></object><embed src=x>",
        "<form action=https://evil.example><input name=a><button>go</button></form>",
        "<img src=x onerror=alert(1)> ![x](https://evil.example/x.png) ![x][1]\n\n[1]: https://evil.example",
        "<link rel=stylesheet href=https://evil.example><meta http-equiv=refresh content=0><base href=/x>",
        "<video src=https://evil.example></video><audio src=x></audio><source srcset=x>",
        "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
    ],
)
def test_nothing_runs_loads_or_is_submitted(text: str) -> None:
    made = render_markdown(text)
    tags = set(re.findall(r"</?([a-z0-9]+)", made))
    assert tags <= {"p", "a", "table"}
    assert not re.search(r"<[^>]*(?:on\w+|src|srcset|style|id|class|action)\s*=", made)


@pytest.mark.parametrize(
    "link",
    [
        "[x](javascript:alert(1))",
        "[x](JaVaScRiPt:alert(1))",
        "<a href='&#106;avascript:alert(1)'>x</a>",
        "<a href='java\nscript:alert(1)'>x</a>",
        "[x](data:text/html,<script>)",
        "[x](vbscript:x)",
        "<javascript:alert(1)>",
    ],
)
def test_links_that_run_lose_their_target(link: str) -> None:
    assert "href" not in render_markdown(link)


@pytest.mark.parametrize("target", ["https://example.com/?a=b", "mailto:a@example.com", "references/a.md", "#part"])
def test_other_links_stay_and_give_nothing_away(target: str) -> None:
    assert render_markdown(f"[x]({target})") == (
        f'<p><a href="{target}" rel="noopener noreferrer nofollow">x</a></p>\n'
    )


def test_an_image_becomes_its_description() -> None:
    assert render_markdown('![a **b** "c"<i>](x.png)') == '<p>a b "c"&lt;i&gt;</p>\n'


def test_a_text_beyond_the_limit_is_shown_as_it_is() -> None:
    made = render_markdown("<b>" * MAX_RENDERED)
    assert made.startswith("<pre>&lt;b&gt;")


@pytest.mark.parametrize("unit", HOSTILE)
def test_hostile_text_takes_bounded_time(unit: str) -> None:
    started = time.process_time()
    render_markdown((unit * MAX_RENDERED)[:MAX_RENDERED])
    assert time.process_time() - started < 60
