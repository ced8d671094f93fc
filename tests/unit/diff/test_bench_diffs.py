"""The generator of the diff benchmark, and what a large diff costs in memory; speed is for `make bench`."""

from bot.diff import Rule, clean_diff, parse_diff
from deploy.bench.diffs import generate_diff
from deploy.bench.diffs_growth import measure_growth


def test_generated_diffs_are_the_same_every_time_and_parse_to_the_byte():
    data = generate_diff(1_000_000)
    assert data == generate_diff(1_000_000)
    assert data != generate_diff(1_000_000, seed=2)
    diff = parse_diff(data)
    assert diff.to_bytes() == data
    cleaned = clean_diff(diff)
    assert len(cleaned.kept) + len(cleaned.skipped) == len(diff.files)
    assert {Rule.BINARY, Rule.GENERATED, Rule.LOCK_FILE} <= {each.rule for each in cleaned.skipped}


def test_a_large_diff_takes_few_times_its_size_of_memory():
    growth = measure_growth(small=200_000, large=4_000_000, rounds=1)
    assert growth.small.files < growth.large.files
    assert growth.large.characters > 3_000_000
    assert growth.memory_ratio < 6
