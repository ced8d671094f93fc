"""What the demo prints: the comments in their diff context, the summary, and the latency row."""

import re
import sqlite3
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markdown import Markdown
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

_CONTEXT_LINES = 5
_HIDDEN = re.compile(r"<!--.*?-->", re.DOTALL)
_TAGS = re.compile(r"</?(?:sub|details|summary)>")
_COLOURS = {"+": "green", "-": "red"}
_ROW = (
    ("queue", "queue", ""),
    ("files", "files", ""),
    ("chunks", "chunks", ""),
    ("findings", "findings", ""),
    ("posted", "posted", ""),
    ("prompt_tokens", "prompt", "tokens"),
    ("cached_tokens", "of these cached", "tokens"),
    ("completion_tokens", "answer", "tokens"),
    ("tokens_per_s", "speed", "tokens/s"),
    ("wait_ms", "waited", "ms"),
    ("fetch_ms", "fetched in", "ms"),
    ("clean_ms", "cleaned in", "ms"),
    ("ttft_ms", "first token after", "ms"),
    ("llm_ms", "answered in", "ms"),
    ("publish_ms", "published in", "ms"),
    ("total_ms", "total", "ms"),
)


def show_comments(console: Console, pull: Any) -> None:
    """Print every inline comment under the lines of the diff that it stands on."""
    for comment in pull.comments:
        side = "" if comment.side == "RIGHT" else " (removed line)"
        console.print(f"\n[bold]{escape(comment.path)}:{comment.line}[/bold]{side}")
        for line in comment.diff_hunk.split("\n")[-_CONTEXT_LINES:]:
            console.print(f"  {escape(line)}", style=_COLOURS.get(line[:1], "dim"), highlight=False)
        console.print(Padding(Markdown(_readable(comment.body)), (1, 2, 0, 6)))
    if not pull.comments:
        console.print("\nThe model found nothing that could be put on a line.")


def show_summary(console: Console, pull: Any) -> None:
    """Print the summary comment."""
    for comment in pull.conversation:
        console.rule("summary")
        console.print(Markdown(_readable(comment.body)))


def show_latency(console: Console, database: Path) -> None:
    """Print the review's row of the latency table, as an admin would query it."""
    columns = ", ".join(name for name, _, _ in _ROW)
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
        row = connection.execute(f"SELECT {columns} FROM latency ORDER BY id DESC LIMIT 1").fetchone()  # noqa: S608 - names from above
    console.rule("latency row")
    if row is None:
        console.print("No review has finished.")
        return
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column()
    table.add_column(justify="right")
    table.add_column()
    for (_, label, unit), value in zip(_ROW, row, strict=True):
        table.add_row(label, _figure(value), unit)
    console.print(table)


def _figure(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:,.1f}" if value < 100 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _readable(body: str) -> str:
    """Take out of a comment what a forge does not show as text."""
    return _TAGS.sub("", _HIDDEN.sub("", body)).strip()
