"""Anchoring: a finding stands on the line that it quotes, or nowhere."""

import pytest

from bot.diff import Chunk, Unanchored, anchor, chunk_files, clean_diff, is_commentable, lines_at, parse_diff
from bot.findings import Place, Side

GO = """diff --git a/store.go b/store.go
--- a/store.go
+++ b/store.go
@@ -10,7 +10,8 @@ func Load() {
 ~if err != nil {
 ~~return nil, err
 ~}
-~rows := query(id)
+~rows, err := query(id)
+~if err != nil {
 ~~return nil, err
 ~}
 ~defer rows.Close()
@@ -40,3 +41,4 @@ func Save() {
 ~lock()
+~defer unlock_everything()
 ~write(value)
 ~return nil
""".replace("~", "\t")


def chunk_of(text: str) -> Chunk:
    (chunk,) = chunk_files(clean_diff(parse_diff(text.encode("utf-8", "surrogateescape"))).kept, 100_000)
    return chunk


def hunk_of(body: str) -> Chunk:
    lines = body.split("\n")[:-1]
    old, new = (sum(line[0] in signs for line in lines) for signs in (" -", " +"))
    return chunk_of(f"diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,{old} +1,{new} @@\n{body}")


def place(line_id: str, quote: str, *, chunk: Chunk | None = None, end: str | None = None) -> Place:
    found = anchor((chunk or chunk_of(GO)).line_ids, line_id, quote, end_line_id=end)
    assert isinstance(found, Place), found
    return found


def refusal(line_id: str, quote: str, *, chunk: Chunk | None = None, end: str | None = None) -> str:
    found = anchor((chunk or chunk_of(GO)).line_ids, line_id, quote, end_line_id=end)
    assert isinstance(found, Unanchored), found
    return found.reason


@pytest.mark.parametrize(
    "quote",
    [
        "\trows, err := query(id)",
        "rows, err := query(id)",
        "  rows,  err := query(id) ",
        "+\trows, err := query(id)",
        "1R13 +\trows, err := query(id)",
        "err := query(id)",
        "\nrows, err := query(id)\n",
    ],
)
def test_a_quote_of_the_named_line_is_taken(quote):
    assert place("1R13", quote) == Place(
        old_path="store.go", new_path="store.go", side=Side.NEW, old_line=None, new_line=13, start_line=None
    )


def test_an_unchanged_line_has_both_numbers():
    found = place("1R42", "defer unlock_everything()")
    assert (found.old_line, found.new_line) == (None, 42)
    found = place("1R43", "write(value)")
    assert (found.side, found.old_line, found.new_line) == (Side.NEW, 41, 43)


def test_a_quote_is_read_as_code_before_it_is_read_as_printed():
    items = hunk_of(" item one\n+- item one\n x\n y\n")
    # One line has the sign of a list, the other only what a quote may have before an added line.
    assert place("1R3", "- item one", chunk=items).new_line == 2
    assert place("1R4", "item one", chunk=items).new_line == 1
    signed = hunk_of("+value = 1\n+ +value = 1\n+x\n+y\n")
    assert place("1R4", "+value = 1", chunk=signed).new_line == 2
    assert place("1R1", "+value = 1", chunk=signed).new_line == 1
    like_a_prompt = hunk_of("+value = 1\n+1R12 +value = 1\n+x\n+y\n")
    assert place("1R4", "1R12 +value = 1", chunk=like_a_prompt).new_line == 2


def test_a_whole_line_goes_before_a_part_of_a_nearer_one():
    chunk = hunk_of("+return nil, err\n+x\n+return nil, errors.New(message)\n+y\n")
    assert place("1R4", "return nil, err", chunk=chunk).new_line == 1
    # On the named line a part is enough.
    assert place("1R3", "return nil, err", chunk=chunk).new_line == 3


def test_a_blank_line_may_be_quoted_as_it_is_printed():
    chunk = hunk_of("+first(value)\n+\n+second(value)\n")
    found = place("1R1", "1R1 +first(value)\n1R2 +\n1R3 +second(value)", chunk=chunk)
    assert (found.start_line, found.new_line) == (1, 3)


def test_a_part_that_is_too_short_is_no_evidence():
    assert "not in the part of the diff" in refusal("1R13", "query(id)")
    assert place("1R12", "}").new_line == 12


def test_a7_the_nearest_of_two_places_is_taken():
    assert place("1R14", "return nil, err").new_line == 15
    assert place("1R10", "return nil, err").new_line == 11


def test_a7_two_equally_near_places_are_declined():
    assert "equally near" in refusal("1R13", "return nil, err")


def test_a7_changed_lines_come_first():
    chunk = hunk_of(" call(value)\n x\n y\n z\n w\n+call(value)\n")
    assert place("1R2", "call(value)", chunk=chunk).new_line == 6


def test_a7_the_named_line_wins_over_a_changed_one():
    chunk = hunk_of(" call(value)\n+call(value)\n")
    assert place("1R1", "call(value)", chunk=chunk).new_line == 1


def test_a7_a_bracket_is_not_looked_for_elsewhere():
    assert "not on the line" in refusal("1R43", "}")


def test_a9_old_numbers_stay_on_the_old_side():
    found = place("1L13", "rows := query(id)")
    assert (found.side, found.old_line, found.new_line) == (Side.OLD, 13, None)
    # The quote exists on the other side only: it is not moved there.
    assert "not in the part" in refusal("1L13", "rows, err := query(id)")
    assert "not in the part" in refusal("1R13", "rows := query(id)")


def test_a9_an_unchanged_line_named_by_its_old_number_stays_there():
    found = place("1L41", "write(value)")
    assert (found.side, found.old_line, found.new_line) == (Side.OLD, 41, 43)


def test_a10_a_single_line_has_no_start():
    assert place("1R42", "defer unlock_everything()", end="1R42").start_line is None


def test_several_quoted_lines_give_a_range_under_the_last():
    found = place("1R13", "rows, err := query(id)\n\tif err != nil {\n")
    assert (found.start_line, found.new_line, found.side) == (13, 14, Side.NEW)
    # The id may name any of the lines.
    assert place("1R14", "rows, err := query(id)\nif err != nil {") == found


def test_a_range_skips_lines_of_the_other_side():
    found = place("1R12", "}\nrows, err := query(id)")
    assert (found.start_line, found.new_line) == (12, 13)


def test_a_range_does_not_leave_its_hunk_nor_skip_code():
    assert "not in the part" in refusal("1R17", "defer rows.Close()\nlock()")
    assert "not in the part" in refusal("1R13", "rows, err := query(id)\nreturn nil, err")


def test_a_range_does_not_join_two_hunks_whose_numbers_follow():
    text = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n"
    text += "@@ -1 +1 @@\n-a\n+first()\n@@ -2 +2 @@\n-c\n+second()\n"
    assert "not in the part" in refusal("1R1", "first()\nsecond()", chunk=chunk_of(text))


def test_a_range_does_not_join_lines_with_others_missing_between():
    lines = dict(hunk_of("+first()\n+between()\n+second()\n").line_ids)
    del lines["1R2"]
    assert isinstance(anchor(lines, "1R1", "first()\nsecond()"), Unanchored)


def test_a_range_that_starts_at_the_named_line_comes_first():
    chunk = hunk_of("+again()\n+again()\n+again()\n")
    found = place("1R2", "again()\nagain()", chunk=chunk)
    assert (found.start_line, found.new_line) == (2, 3)


def test_a_blank_line_may_be_missing_in_a_quote():
    chunk = hunk_of("+first(value)\n+\n+second(value)\n")
    found = place("1R1", "first(value)\nsecond(value)", chunk=chunk)
    assert (found.start_line, found.new_line) == (1, 3)


def test_an_end_line_makes_a_range_in_one_hunk():
    found = place("1R13", "rows, err := query(id)", end="1R16")
    assert (found.start_line, found.new_line) == (13, 16)
    for end in ("1R42", "1L13", "2R16", "1R12", "1R99", "here"):
        assert "does not lie in one hunk" in refusal("1R13", "rows, err := query(id)", end=end)


@pytest.mark.parametrize(
    ("line_id", "quote", "reason"),
    [
        ("store.go:13", "rows, err := query(id)", "named no line"),
        ("R13", "rows, err := query(id)", "named no line"),
        ("", "rows, err := query(id)", "named no line"),
        ("7R13", "rows, err := query(id)", "7R13, which is not in the diff"),
        ("1R13", "", "quoted no code"),
        ("1R13", " \n ", "quoted no code"),
        ("1R13", "something_else_entirely()", "not in the part of the diff"),
    ],
)
def test_what_cannot_be_placed_says_why(line_id, quote, reason):
    assert reason in refusal(line_id, quote)


def test_a1_a_line_outside_the_hunks_is_never_taken():
    assert place("1R9999", "defer unlock_everything()").new_line == 42
    assert "not in the part" in refusal("1R30", "unrelated_code_here()")


def test_files_are_not_mixed_up():
    other = GO.replace("store.go", "other.go").replace("unlock_everything", "unlock_nothing_at_all")
    chunk = chunk_of(GO + other)
    assert place("2R42", "defer unlock_nothing_at_all()", chunk=chunk).path == "other.go"
    assert "not in the part" in refusal("1R42", "defer unlock_nothing_at_all()", chunk=chunk)
    # `1R...` is not a prefix of file 11's ids.
    assert "not in the diff" in refusal("11R42", "defer unlock_everything()", chunk=chunk)


@pytest.mark.parametrize("quote", ["say('<|im_end|>\u2028')", "say('< |im_end|>\\u2028')"])
def test_g10_a_quote_may_be_the_true_text_or_the_shown_one(quote):
    chunk = hunk_of("+say('<|im_end|>\u2028')\n")
    assert place("1R1", quote, chunk=chunk).new_line == 1


def test_the_end_of_a_windows_line_is_no_part_of_a_quote():
    all_windows = hunk_of("+a\u2028b\r\n+c\r\n+d\r\n")
    assert place("1R3", "a\\u2028b", chunk=all_windows).new_line == 1
    # Where only some lines end so, prompts show it; it tells two lines apart only if it is quoted.
    some = hunk_of("+a\u2028b\r\n+x\n+y\n+z\n+a\u2028b\n")
    assert "equally near" in refusal("1R3", "a\\u2028b", chunk=some)
    assert place("1R3", "a\\u2028b\\r", chunk=some).new_line == 1


def test_renames_keep_both_names():
    text = "diff --git a/a.py b/b.py\nsimilarity index 90%\nrename from a.py\nrename to b.py\n"
    chunk = chunk_of(text + "--- a/a.py\n+++ b/b.py\n@@ -1 +1 @@\n-old()\n+new()\n")
    found = place("1L1", "old()", chunk=chunk)
    assert (found.old_path, found.new_path, found.path) == ("a.py", "b.py", "b.py")


def test_every_line_can_be_anchored_by_its_own_text_and_is_commentable():
    diff = parse_diff(GO.encode())
    chunk = chunk_of(GO)
    for line_id, line in chunk.line_ids.items():
        found = place(line_id, line.text, chunk=chunk)
        assert found.line == int(line_id[2:])
        assert is_commentable(diff, found)


def test_the_lines_of_a_place():
    chunk = chunk_of(GO)
    found = place("1R13", "rows, err := query(id)\n\tif err != nil {\n", chunk=chunk)
    assert [line.text for line in lines_at(chunk.line_ids, found)] == [
        "\trows, err := query(id)",
        "\tif err != nil {",
    ]
    assert lines_at({"1R13": chunk.line_ids["1R13"]}, found) == ()
