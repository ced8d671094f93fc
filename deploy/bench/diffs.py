"""Measure how fast diffs are parsed and cleaned, beside unidiff parsing the same bytes.

The diffs are made up from a seed, so that two runs on one machine are comparable: several languages, hunks of
realistic sizes, some lock files, generated files, renames, binaries and whitespace-only changes, and now and then
a character that is not ASCII.
"""

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from unidiff.patch import PatchSet

from bot.diff.clean import clean_diff
from bot.diff.parse import parse_diff
from bot.review.secrets import redact

_MEGABYTE = 1_000_000
_WORDS = (
    *("request", "response", "user", "account", "session", "token", "cache", "index", "count", "total"),
    *("buffer", "offset", "queue", "worker", "result", "value", "config", "handler", "event", "message"),
    *("payload", "header", "status", "error", "retry", "timeout", "limit", "cursor", "batch", "record"),
)
_PATHS = (
    ("src/{0}/{1}.py", 30),
    ("app/{0}/{1}.ts", 20),
    ("internal/{0}/{1}.go", 20),
    ("lib/{0}/{1}.java", 10),
    ("docs/{0}-{1}.md", 5),
    ("{0}/{1}/package-lock.json", 3),
    ("api/{0}/{1}.pb.go", 3),
    ("vendor/{0}/{1}.go", 3),
)
_STATEMENTS = (
    "{0}_{1} = load_{2}({0}, limit={3})",
    "if {0}.{1} is None or len({2}) > {3}:",
    "return {0}.{1}({2}, {3})",
    'logger.info("{0} {1} after %d ms", {2}_{3})',
    "# The {0} keeps its {1} until the {2} is done, for at most {3} seconds.",
    "for {0} in sorted({1}.values(), key=lambda {2}: {2}.{0}):",
    "}}",
    "",
)
_COMMENTS = ("// Größe von {0} prüfen", "# {0} → {1}", "/* {0}: 時間 {1} */", "# {0} is done \U0001f389")
_COMMENT_SHARE = 0.01
_USUAL_HUNKS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """Time of the best of several runs; `megabytes_per_s` counts 1,000,000 bytes."""

    name: str
    seconds: float
    megabytes_per_s: float


def generate_diff(size: int, seed: int = 1, *, most_hunks: int = _USUAL_HUNKS) -> bytes:
    """Make a diff as git writes it, of at least `size` bytes; the same seed gives the same bytes.

    A file has up to `most_hunks` hunks, of about 1.5 kB each.
    """
    source = random.Random(seed)
    parts: list[bytes] = []
    length = 0
    number = 0
    while length < size:
        number += 1
        text = "".join(f"{line}\n" for line in _make_file(source, number, most_hunks)).encode()
        parts.append(text)
        length += len(text)
    return b"".join(parts)


def _make_file(source: random.Random, number: int, most_hunks: int) -> Iterator[str]:
    templates, weights = zip(*_PATHS, strict=True)
    folder, name = source.sample(_WORDS, 2)
    path = source.choices(templates, weights)[0].format(folder, f"{name}{number}")
    yield f"diff --git a/{path} b/{path}"
    kind = source.random()
    if kind < 0.03:
        yield from ("index 1111111..2222222 100644", f"Binary files a/{path} and b/{path} differ")
        return
    if kind < 0.06:
        yield from ("old mode 100644", "new mode 100755")
        return
    if kind < 0.2:
        lines = [f"+{_make_line(source)}" for _ in range(source.randint(20, 40 * most_hunks))]
        yield from ("new file mode 100644", "index 0000000..2222222", "--- /dev/null", f"+++ b/{path}")
        yield f"@@ -0,0 +1,{len(lines)} @@"
        yield from lines
        return
    yield from ("index 1111111..2222222 100644", f"--- a/{path}", f"+++ b/{path}")
    old = new = 1
    for _ in range(source.randint(1, most_hunks)):
        gap = source.randint(1, 80)
        body = list(_make_body(source))
        old_count = sum(line[0] != "+" for line in body)
        new_count = sum(line[0] != "-" for line in body)
        old, new = old + gap, new + gap
        yield f"@@ -{old},{old_count} +{new},{new_count} @@ def {source.choice(_WORDS)}(self):"
        yield from body
        old, new = old + old_count, new + new_count


def _make_body(source: random.Random) -> Iterator[str]:
    for _ in range(source.randint(1, 4)):
        yield from (f" {_make_line(source)}" for _ in range(3))
        changed = [_make_line(source) for _ in range(source.randint(1, 8))]
        match source.randint(0, 9):
            case 0:  # only the space at the ends of lines
                yield from (f"-{line}  " for line in changed)
                yield from (f"+{line}" for line in changed)
            case 1:
                yield "+"
            case 2 | 3 | 4:
                yield from (f"+{line}" for line in changed)
            case 5:
                yield from (f"-{line}" for line in changed)
            case _:
                yield from (f"-{line}" for line in changed)
                yield from (f"+{_make_line(source)}" for _ in changed)
        yield from (f" {_make_line(source)}" for _ in range(3))


def _make_line(source: random.Random) -> str:
    statements = _COMMENTS if source.random() < _COMMENT_SHARE else _STATEMENTS
    text = source.choice(statements).format(*source.sample(_WORDS, 3), source.randint(1, 9999))
    return f"{' ' * 4 * source.randint(0, 4)}{text}" if text else ""


def measure(data: bytes, runs: int = 9) -> tuple[Measurement, Measurement]:
    """Time parsing with cleaning, and unidiff's parsing alone, on the same bytes."""
    text = data.decode()
    ours, theirs = _time(
        len(data),
        runs,
        {
            "Redline, parse and clean": lambda: clean_diff(parse_diff(data)),
            "unidiff, parse only": lambda: PatchSet(text),
        },
    )
    return ours, theirs


def measure_redaction(data: bytes, runs: int = 9) -> Measurement:
    """Time taking the secrets out of a diff that has none."""
    (redaction,) = _time(len(data), runs, {"Redline, redact secrets": lambda: redact(data)})
    return redaction


def _time(size: int, runs: int, work: dict[str, Callable[[], object]]) -> Iterator[Measurement]:
    """Let the candidates take turns, so that a busy moment of the machine does not fall on one alone."""
    best = dict.fromkeys(work, float("inf"))
    for _ in range(runs):
        for name, run in work.items():
            started = time.process_time()
            run()
            best[name] = min(best[name], time.process_time() - started)
    for name, seconds in best.items():
        yield Measurement(name=name, seconds=seconds, megabytes_per_s=size / seconds / _MEGABYTE)


def main() -> None:
    """Print the table."""
    print(f"{'':28}{'size MB':>10}{'time ms':>10}{'MB/s':>10}{'ratio':>8}")
    for megabytes in (1, 4):
        data = generate_diff(megabytes * _MEGABYTE)
        ours, theirs = measure(data)
        for each in (ours, theirs, measure_redaction(data)):
            ratio = each.megabytes_per_s / theirs.megabytes_per_s
            print(
                f"{each.name:28}{len(data) / _MEGABYTE:>10.2f}{each.seconds * 1000:>10.1f}"
                f"{each.megabytes_per_s:>10.1f}{ratio:>8.1f}"
            )


if __name__ == "__main__":
    main()
