"""`redline latency`: where the time went."""

import json

import click
from rich.console import Console
from rich.table import Table

from bot.db.engine import open_database
from bot.latency_report import GROUPS, make_report, report_csv, report_json, report_rows
from bot.settings import load_settings


@click.command()
@click.option("--since", default="24h", show_default=True, help="How far back: 30m, 24h, 7d, 2w; or `all`.")
@click.option(
    "--by", type=click.Choice(GROUPS), help="A group of rows for each queue, repository, model or day."
)
@click.option(
    "--json", "as_json", is_flag=True, help="For programs: a list of groups, times in milliseconds."
)
@click.option("--csv", "as_csv", is_flag=True, help="For spreadsheets: one line a group.")
def latency(since: str, by: str | None, as_json: bool, as_csv: bool) -> None:
    """Show percentiles of how long reviews took, step by step.

    \b
    Examples:
      redline latency --since 7d --by queue
      redline latency --since all --by day --csv > days.csv

    wait: from webhook to worker. fetch, clean: reading the diff. first token, model: the engine. publish:
    posting the comments. total: from webhook to summary.
    """
    if as_json and as_csv:
        raise click.UsageError("choose --json or --csv, not both")
    database = open_database(load_settings().effective_database_url)
    try:
        summaries = make_report(database, since="" if since == "all" else since, by=by or "")
    except ValueError as error:
        raise click.UsageError(f"--since: {error}") from None
    finally:
        database.close()
    if as_json:
        click.echo(json.dumps(report_json(summaries), indent=2))
    elif as_csv:
        click.echo(report_csv(summaries), nl=False)
    elif not summaries:
        click.echo(f"No review has finished {'yet' if since == 'all' else f'within {since}'}.")
    else:
        table = Table(box=None, header_style="bold", pad_edge=False)
        table.add_column(by or "reviews of")
        table.add_column("reviews", justify="right")
        table.add_column("step")
        for name in ("p50", "p95", "p99"):
            table.add_column(name, justify="right")
        for row in report_rows(summaries):
            table.add_row(row.key, row.reviews, row.measure, row.p50, row.p95, row.p99)
        Console().print(table)
