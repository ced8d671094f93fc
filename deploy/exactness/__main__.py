"""`make exactness`: how many comments are refused for their place, and how many stand under another text: both 0."""

import json
import sys

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from deploy.exactness.forges import FORGES
from deploy.exactness.run import measure
from deploy.exactness.tally import Tally

_ROWS = (
    ("pull requests", "pull_requests"),
    ("lines of diffs compared with git", "lines"),
    ("remarks made up", "remarks"),
    ("comments posted", "posted"),
    ("  of these on several lines", "ranges"),
    ("  of these on the old version", "old_side"),
    ("  of these with a suggestion", "suggestions"),
)
_ZEROS = (
    ("requests that the forge refused", "refused"),
    ("placed, and not posted", "lost"),
    ("text under the comment is not the quoted text", "mismatched"),
    ("declined, and posted all the same", "wrongly_posted"),
    ("what the diff says otherwise than git", "different"),
)


@click.command(context_settings={"show_default": True, "max_content_width": 100})
@click.option("--forge", type=click.Choice([*FORGES, "both"]), default="both", help="Which forge to post to.")
@click.option("--anchors", type=click.IntRange(min=1), default=10_000, help="Comments to post on each forge.")
@click.option("--seed", default=1, help="The same seed makes the same pull requests and remarks.")
@click.option("--json", "as_json", is_flag=True, help="For programs: all figures, and the problems in words.")
def main(forge: str, anchors: int, seed: int, as_json: bool) -> None:
    """Post random remarks on random pull requests, and count what does not stand where it belongs.

    The pull requests are made with real git and opened in a sandbox that refuses what the forge would refuse. A
    stand-in for the model sees the prompts and answers as models do, with wrong numbers, other white space and
    invented code among it. The whole review runs, and what stands on the forge is compared with git's blobs.

    Exit code 1 if any comment was refused, or stands under a text that it does not quote.
    """
    names = FORGES if forge == "both" else (forge,)
    tallies = [_measure(name, anchors, seed) for name in names]
    if as_json:
        rows = [tally.to_dict() for tally in tallies]
        click.echo(json.dumps({"seed": seed, "forges": rows}, indent=2, ensure_ascii=False))
    else:
        _print(tallies)
    sys.exit(0 if all(tally.is_exact for tally in tallies) else 1)


def _measure(name: str, anchors: int, seed: int) -> Tally:
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task(f"{name}: comments posted", total=anchors)
        return measure(name, anchors, seed, lambda tally: progress.update(task, completed=tally.posted))


def _print(tallies: list[Tally]) -> None:
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("measured in this run")
    for tally in tallies:
        table.add_column(tally.forge, justify="right")
    for label, name in _ROWS:
        table.add_row(label, *(f"{getattr(tally, name):,}" for tally in tallies))
    table.add_row("remarks declined, for the summary", *(f"{tally.declined.total():,}" for tally in tallies))
    for reason in sorted({reason for tally in tallies for reason in tally.declined}):
        table.add_row(f"  {reason}", *(f"{tally.declined[reason]:,}" for tally in tallies), style="dim")
    table.add_row("remarks without a quote, dropped", *(f"{tally.dropped:,}" for tally in tallies))
    table.add_section()
    for label, name in _ZEROS:
        values = [getattr(tally, name) for tally in tallies]
        table.add_row(label, *(f"{value:,}" for value in values), style="bold red" if any(values) else "bold")
    Console().print(table)
    for tally in tallies:
        for problem in tally.problems:
            click.echo(f"{tally.forge}, {problem}")


if __name__ == "__main__":
    main(prog_name="python -m deploy.exactness")
