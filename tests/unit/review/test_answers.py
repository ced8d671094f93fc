"""Model text of every kind, and what is made of it: findings, a cut-off list, or a problem. Never a false "none"."""

import json

import pytest

from bot.findings import Category, Severity
from bot.llm.prompt import WORD_JOINER
from bot.review.answers import MAX_MESSAGE, MAX_QUOTE, parse_answer

ITEM = {
    "line": "1R12 +    return row[0]",
    "message": "The row may be None.",
    "severity": "high",
    "category": "bug",
    "replacement": "    return row[0] if row else None",
}


def document(*items: object) -> str:
    return json.dumps({"findings": list(items)})


def test_a_finding_is_read_and_its_printed_line_is_parted():
    parsed = parse_answer(document(ITEM), "stop")
    assert (parsed.complete, parsed.problem, parsed.malformed) == (True, None, 0)
    (finding,) = parsed.items
    assert (finding.line, finding.quote) == ("1R12", "    return row[0]")
    assert (finding.severity, finding.category) == (Severity.HIGH, Category.BUG)
    assert finding.message == "The row may be None."
    assert finding.replacement == "    return row[0] if row else None"


@pytest.mark.parametrize(
    ("line", "quote", "read"),
    [
        ("1R12", "return 1", ("1R12", "return 1")),
        ("1L3 -  x = 1", "", ("1L3", "  x = 1")),
        ("2R7  unchanged", "", ("2R7", "unchanged")),
        ("1R1 +-- not a sign", "", ("1R1", "-- not a sign")),
        ("1R1", "", ("1R1", "")),
        ("nowhere", "x", ("nowhere", "x")),
    ],
)
def test_the_line_may_be_printed_whole_or_named_beside_a_quote(line, quote, read):
    (finding,) = parse_answer(document({**ITEM, "line": line, "quote": quote}), "stop").items
    assert (finding.line, finding.quote) == read


def test_an_empty_list_is_a_complete_answer():
    parsed = parse_answer('{"findings":[]}', "stop")
    assert (parsed.items, parsed.complete, parsed.problem) == ((), True, None)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   \n ",
        "I see no problems here.",
        "{}",
        '{"findings":null}',
        '{"issues":[]}',
        '"findings"',
        "[1, 2]",
        '{"findings":["1R12: wrong"]}',
        '{"findings":[{"line":"1R12"}]}',
        '{"findings":[{',
        '{"findings":{"line',
        "<think>The diff looks fine.</think>",
        "findings: []",
    ],
)
def test_f2_f6_what_cannot_be_read_is_a_problem_and_never_no_findings(text):
    parsed = parse_answer(text, "stop")
    assert parsed.items == ()
    assert parsed.problem


@pytest.mark.parametrize(
    "wrap",
    [
        pytest.param("```json\n{}\n```", id="fence"),
        pytest.param("Here is the review:\n\n{}\n\nLet me know!", id="prose around"),
        pytest.param("<think>First {{curly}} thoughts, [then] more.</think>\n{}", id="reasoning"),
        pytest.param("thoughts that the template opened</think>{}", id="reasoning, opened by the template"),
        pytest.param("{}   \n\n  ", id="white space"),
        pytest.param("As in [1], see:\n{}", id="a reference before it"),
    ],
)
def test_what_stands_around_the_document_is_dropped(wrap):
    parsed = parse_answer(wrap.replace("{{", "{").replace("}}", "}").replace("{}", document(ITEM)), "stop")
    assert len(parsed.items) == 1
    assert parsed.complete


@pytest.mark.parametrize("text", [json.dumps([ITEM]), json.dumps(ITEM), json.dumps({"findings": ITEM})])
def test_f6_other_shapes_with_the_agreed_fields_are_understood(text):
    assert len(parse_answer(text, "stop").items) == 1


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(document(ITEM)[:-2] + ",]}", id="comma after the last item"),
        pytest.param(document(ITEM).replace("may be None", "may\n\tbe None"), id="line break in a string"),
    ],
)
def test_f2_one_repair_is_tried(text):
    parsed = parse_answer(text, "stop")
    assert (len(parsed.items), parsed.problem) == (1, None)


def test_f3_a_cut_answer_keeps_its_complete_items_and_says_that_it_is_cut():
    other = {**ITEM, "line": "1R20 +x = 1 / 0", "message": "Division by zero."}
    text = document(ITEM, other)
    for end in range(text.index("1R20"), text.rindex("}]")):
        parsed = parse_answer(text[:end], "length")
        assert [finding.line for finding in parsed.items] == ["1R12"]
        assert (parsed.complete, parsed.problem) == (False, None)


def test_f3_an_answer_cut_in_its_first_item_has_nothing_and_says_that_it_is_cut():
    parsed = parse_answer(document(ITEM)[:40], "length")
    assert (parsed.items, parsed.complete, parsed.problem) == ((), False, None)


def test_a_document_that_is_whole_is_complete_whatever_the_engine_says_of_the_end():
    assert parse_answer(document(ITEM), "length").complete


def test_a_bad_item_is_dropped_and_counted_and_the_others_stay():
    bad = [{**ITEM, "severity": "catastrophic"}, {**ITEM, "message": " "}, {"line": "1R1"}, 7, None]
    parsed = parse_answer(document(*bad, ITEM), "stop")
    assert (len(parsed.items), parsed.malformed, parsed.problem) == (1, 5, None)


def test_severity_and_category_may_be_written_large():
    (finding,) = parse_answer(document({**ITEM, "severity": " High", "category": "Security"}), "stop").items
    assert (finding.severity, finding.category) == (Severity.HIGH, Category.SECURITY)


def test_a_finding_said_twice_is_kept_once():
    assert (
        len(parse_answer(document(ITEM, ITEM, {**ITEM, "message": ITEM["message"].upper()}), "stop").items)
        == 1
    )


@pytest.mark.parametrize("replacement", ["", "  ", None, "    return row[0]", "return row[0]  "])
def test_a_replacement_that_changes_nothing_is_none(replacement):
    (finding,) = parse_answer(document({**ITEM, "replacement": replacement}), "stop").items
    assert finding.replacement is None


def test_f10_everything_is_bounded():
    long = {**ITEM, "line": "1R1 +" + "x" * 9000, "message": "m" * 90_000, "replacement": "r" * 90_000}
    (finding,) = parse_answer(document(long), "stop").items
    assert len(finding.quote) == MAX_QUOTE
    assert len(finding.message) == MAX_MESSAGE
    assert finding.replacement is None


def test_g10_the_mark_that_breaks_special_tokens_is_taken_out_again():
    line = f"1R1 +end = '<{WORD_JOINER}|im_end|>'"
    (finding,) = parse_answer(
        document({**ITEM, "line": line, "message": f"Has <{WORD_JOINER}|x|>."}), "stop"
    ).items
    assert finding.quote == "end = '<|im_end|>'"
    assert finding.message == "Has <|x|>."


def test_what_no_database_stores_is_taken_out():
    (finding,) = parse_answer(
        '{{"findings":[{}]}}'.format(json.dumps({**ITEM, "message": "a\0b\ud800c"})), "stop"
    ).items
    assert finding.message == "ab?c"


def test_deep_nesting_is_a_problem_and_no_crash():
    assert parse_answer("[" * 100_000, "stop").problem
