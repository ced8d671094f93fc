"""Show a line of code in a prompt so that it stays one line and cannot speak as the chat template."""

import re

# Words that chat templates and code models reserve; a tokenizer reads them as control tokens in any text.
_CONTROL_TOKEN = re.compile(
    r"<(?=(?:\|[^\s|<>]{1,64}\|>"
    r"|\uff5c[^\s\uff5c<>]{1,64}\uff5c>"
    r"|/?(?:s|unk|pad|bos|eos|mask|think|tools|tool_call|tool_response|start_of_turn|end_of_turn|sop|eop"
    r"|fim_(?:prefix|middle|suffix|pad)|file_sep|repo_name|reponame|filename|gh_stars|start_of_image|end_of_image)>"
    r"|<SYS>>|</SYS>>))"
    r"|\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|IMG|THINK|gMASK|MASK|CLS|SEP)\])"
)
_BROKEN_TOKEN = re.compile(
    rf"(?:{_CONTROL_TOKEN.pattern})".replace("<(?=", "< (?=").replace(r"\[(?=", r"\[ (?=")
)
# Everything that some reader takes for the end of a line, what would hide or reorder text, and bytes that are
# not UTF-8 (they cannot be sent).
_UNSAFE = re.compile(
    "[\x00-\x08\x0a-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)


def show_text(text: str) -> str:
    """Break control tokens with a space and write unsafe characters as escapes (`\\u2028`), nothing else."""
    if text.isascii() and text.isprintable() and "<" not in text and "[" not in text:
        return text
    return _CONTROL_TOKEN.sub(lambda match: f"{match[0]} ", _UNSAFE.sub(_escape, text))


def restore_text(text: str) -> str:
    """Undo the breaking of control tokens in text that a model wrote after it had seen them broken."""
    return _BROKEN_TOKEN.sub(lambda match: match[0][:-1], text)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return {"\r": "\\r", "\f": "\\f", "\v": "\\v", "\n": "\\n"}.get(match[0], f"\\u{code:04x}")
