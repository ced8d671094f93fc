"""The generator of the diff benchmark, and that our parser has the lead it is built for."""

from bot.diff import Rule, clean_diff, parse_diff
from deploy.bench.diffs import generate_diff, measure
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


def test_parsing_with_cleaning_is_faster_than_unidiffs_parsing():
    ours, theirs = measure(generate_diff(1_000_000), runs=5)
    # Five times is the aim, measured by `python -m deploy.bench.diffs`; the rest allows for a busy machine.
    assert ours.megabytes_per_s > 3 * theirs.megabytes_per_s


def test_a_large_diff_takes_no_more_for_a_byte_and_few_times_its_size_of_memory():
    growth = measure_growth(small=200_000, large=4_000_000, rounds=2)
    assert growth.small.files < growth.large.files
    assert growth.large.characters > 3_000_000
    # `make bench` asks for 1.3 and for 6, of 50 MB; the rest allows for a busy machine.
    assert growth.time_ratio < 2
    assert growth.memory_ratio < 6
