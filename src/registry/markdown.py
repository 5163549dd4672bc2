import nh3
from markdown_it import MarkdownIt


def render_markdown(t):
    return nh3.clean(MarkdownIt().render(t), tags=nh3.ALLOWED_TAGS - {"img"})
