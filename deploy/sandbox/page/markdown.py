"""Comments as a forge shows them: Markdown, a few harmless HTML tags, suggested changes."""

import html
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from html.parser import HTMLParser
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from markupsafe import Markup

_TAGS = frozenset(
    ("b", "blockquote", "code", "details", "em", "i", "kbd", "li", "ol", "p", "pre", "strong", "sub",
     "summary", "sup", "table", "tbody", "td", "th", "thead", "tr", "ul")
)  # fmt: skip
_EMPTY_TAGS = frozenset(("br", "hr"))


# The lines that a fenced block would replace, by its info string; None if it is no suggestion.
Replaced = Callable[[str], Sequence[str] | None]


def render_markdown(text: str, replaced: Replaced | None = None) -> Markup:
    """Render a comment; `replaced` tells which of its fenced blocks are suggestions."""
    env: dict[str, Any] = {"open": [], "replaced": replaced or _replaces_nothing}
    rendered = _MARKDOWN.render(text, env)
    closing = "".join(f"</{tag}>" for tag in reversed(env["open"]))
    return Markup(rendered + closing)  # noqa: S704 - all HTML went through _Sanitizer


class _Sanitizer(HTMLParser):
    """Keep the allowed tags, without attributes and properly nested; drop comments and all other tags."""

    def __init__(self, open_tags: list[str]) -> None:
        super().__init__(convert_charrefs=False)
        self.open_tags = open_tags
        self.out: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep an allowed tag; of all attributes only `open` of details does something harmless."""
        if tag in _EMPTY_TAGS:
            self.out.append(f"<{tag}>")
        elif tag in _TAGS:
            self.open_tags.append(tag)
            is_open = tag == "details" and any(name == "open" for name, _ in attrs)
            self.out.append(f"<{tag} open>" if is_open else f"<{tag}>")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep <br/>; any other <tag/> is an opening tag in HTML."""
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        """Close a tag that is open, and those left open inside of it."""
        if tag in self.open_tags:
            while (closed := self.open_tags.pop()) != tag:
                self.out.append(f"</{closed}>")
            self.out.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        """Keep text."""
        self.out.append(html.escape(data))

    def handle_entityref(self, name: str) -> None:
        """Keep &name; as it is."""
        self.out.append(f"&{name};")

    def handle_charref(self, name: str) -> None:
        """Keep &#number; as it is."""
        self.out.append(f"&#{name};")


class _Renderer(RendererHTML):
    """Render tokens to HTML that loads nothing and runs nothing."""

    def html_block(self, tokens: Sequence[Token], index: int, _options: OptionsDict, env: EnvType) -> str:
        """Clean a block of HTML."""
        return _clean(tokens[index].content, env)

    def html_inline(self, tokens: Sequence[Token], index: int, _options: OptionsDict, env: EnvType) -> str:
        """Clean one tag."""
        return _clean(tokens[index].content, env)

    def image(self, tokens: Sequence[Token], index: int, _options: OptionsDict, _env: EnvType) -> str:
        """Link to an image instead of loading it from elsewhere."""
        source = html.escape(str(tokens[index].attrs.get("src", "")))
        return f'<a href="{source}">{html.escape(tokens[index].content or "image")}</a>'

    def fence(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        """Show a suggestion as the change it proposes, any other code as code."""
        token = tokens[index]
        replaced = env["replaced"](token.info.strip())
        if replaced is None:
            return super().fence(tokens, index, options, env)
        rows = "".join(_suggested_rows(replaced, token.content.split("\n")[:-1]))
        return f'<div class="suggestion"><p>Suggested change</p><table class="code">{rows}</table></div>'


def _replaces_nothing(info: str) -> Sequence[str] | None:
    return () if info == "suggestion" else None


def _suggested_rows(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    for kind, old_from, old_to, new_from, new_to in SequenceMatcher(
        None, old, new, autojunk=False
    ).get_opcodes():
        if kind == "equal":
            yield from (_suggested("context", "", line) for line in old[old_from:old_to])
        else:
            yield from (_suggested("del", "-", line) for line in old[old_from:old_to])
            yield from (_suggested("add", "+", line) for line in new[new_from:new_to])


def _suggested(kind: str, sign: str, line: str) -> str:
    return f'<tr class="{kind}"><td class="sign">{sign}</td><td class="text">{html.escape(line)}</td></tr>'


def _clean(source: str, env: EnvType) -> str:
    sanitizer = _Sanitizer(env["open"])
    sanitizer.feed(source)
    sanitizer.close()
    return "".join(sanitizer.out)


_MARKDOWN = MarkdownIt("commonmark", {"html": True, "breaks": True}, renderer_cls=_Renderer)
_MARKDOWN.enable(["table", "strikethrough"])
