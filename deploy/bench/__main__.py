"""`make bench`: everything that is claimed about speed, measured in one run on this machine."""

import json
import sys

import click
from rich.console import Console
from rich.table import Table

from deploy.bench.diffs import generate_diff, measure
from deploy.bench.diffs_growth import measure_growth
from deploy.bench.overhead import measure_overhead
from deploy.bench.receiver import RATE, measure_receiver

RECEIVER_RATIO = 0.4
RECEIVER_P99_MS = 60.0
OVERHEAD_MS = 300.0
DIFF_RATIO = 5.0
GROWTH = 1.3
MEMORY_RATIO = 6.0
_DIFF_BYTES = 5_000_000
_DIFF_RUNS = 25


@click.command()
@click.option(
    "--json", "as_json", is_flag=True, help="For programs: the figures, their bounds, and whether they hold."
)
def main(as_json: bool) -> None:
    """Measure the receiver, our own overhead and the diff code, each beside something known."""
    console = Console(stderr=True)
    rows: list[dict[str, object]] = []
    with console.status("receiver: bare view and ours, then 200 requests/s"):
        receiver = measure_receiver()
    failures = receiver.bare.failures + receiver.ours.failures + receiver.at_rate.failures
    rows.append(_row("receiver, signed 20 kB deliveries", receiver.ours.requests_per_s, "requests/s"))
    rows.append(_row("bare Flask view that checks the signature", receiver.bare.requests_per_s, "requests/s"))
    rows.append(_row("receiver / bare view", receiver.ratio, "", at_least=RECEIVER_RATIO))
    rows.append(
        _row(
            f"receiver p99 at {RATE:.0f} requests/s",
            receiver.at_rate.percentile(0.99),
            "ms",
            below=RECEIVER_P99_MS,
        )
    )
    rows.append(_row("requests that failed", failures, "", below=1))
    with console.status("overhead: 20 reviews on a running stack"):
        overhead = measure_overhead()
    rows.append(_row("from the 202 to the engine, p50", _median(overhead.before), "ms"))
    rows.append(_row("from the last token to the posted review, p50", _median(overhead.after), "ms"))
    rows.append(_row("both together, p50", overhead.p50, "ms", below=OVERHEAD_MS))
    with console.status("diff: parse and clean beside unidiff"):
        ours, theirs = measure(generate_diff(_DIFF_BYTES), runs=_DIFF_RUNS)
    rows.append(_row("diff parse + clean", ours.megabytes_per_s, "MB/s"))
    rows.append(_row("unidiff, parse only", theirs.megabytes_per_s, "MB/s"))
    ratio = ours.megabytes_per_s / theirs.megabytes_per_s
    rows.append(_row("diff / unidiff", ratio, "", at_least=DIFF_RATIO))
    with console.status("diff: 50 MB beside 0.5 MB, about a minute"):
        growth = measure_growth()
    large = f"diff of {growth.large.bytes / 1e6:.0f} MB, {growth.large.files:,} files"
    small = f"diff of {growth.small.bytes / 1e6:.1f} MB"
    rows.append(_row(f"{large}: parse + clean + chunk", growth.large.ms_per_megabyte, "ms/MB"))
    rows.append(_row(f"{small}: parse + clean + chunk", growth.small.ms_per_megabyte, "ms/MB"))
    rows.append(
        _row("time for a MB of the large one / of the small one", growth.time_ratio, "", below=GROWTH)
    )
    rows.append(_row("peak of memory / size of the large one", growth.memory_ratio, "", below=MEMORY_RATIO))
    if as_json:
        click.echo(json.dumps(rows, indent=2))
    else:
        _print(rows)
    sys.exit(0 if all(row["holds"] in (True, None) for row in rows) else 1)


def _row(
    what: str, value: float, unit: str, *, at_least: float | None = None, below: float | None = None
) -> dict[str, object]:
    bound = (
        ""
        if at_least is None and below is None
        else f">= {at_least:g}"
        if at_least is not None
        else f"< {below:g}"
    )
    holds = value >= at_least if at_least is not None else value < below if below is not None else None
    return {"what": what, "value": round(value, 2), "unit": unit, "bound": bound, "holds": holds}


def _median(values: tuple[float, ...]) -> float:
    return sorted(values)[len(values) // 2]


def _print(rows: list[dict[str, object]]) -> None:
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("measured in this run")
    table.add_column("figure", justify="right")
    table.add_column("unit")
    table.add_column("bound", justify="right")
    table.add_column("holds")
    for row in rows:
        holds = "" if row["holds"] is None else "yes" if row["holds"] else "NO"
        table.add_row(str(row["what"]), f"{row['value']:,}", str(row["unit"]), str(row["bound"]), holds)
    Console().print(table)


if __name__ == "__main__":
    main()
