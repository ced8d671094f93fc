"""Chunks: the exact text of a prompt, and that cutting loses nothing."""

import math
from itertools import pairwise

import pytest

from bot.diff import Chunk, ChunkTooSmallError, CleanedFile, Line, chunk_files, clean_diff, parse_diff

HEADER = "diff --git a/src/app.py b/src/app.py\n--- a/src/app.py\n+++ b/src/app.py\n"
LOGIN = "@@ -40,2 +40,2 @@ def login(request):\n def login(user):\n-    check(user)\n+    return True\n"


def kept(text: str) -> tuple[CleanedFile, ...]:
    return clean_diff(parse_diff(text.encode("utf-8", "surrogateescape"))).kept


def long_hunk(count: int, path: str = "src/app.py") -> str:
    body = "".join(f"+line number {index}\n" for index in range(count))
    return f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1,0 +2,{count} @@ def f():\n{body}"


def numbers(chunk: Chunk) -> list[int]:
    return [line.new_number for line in chunk.line_ids.values()]


def test_the_text_of_a_chunk():
    (chunk,) = chunk_files(kept(HEADER + LOGIN), 1000)
    assert chunk.text == (
        "File 1: src/app.py (modified)\n"
        "@@ def login(request):\n"
        "1R40  def login(user):\n"
        "1L41 -    check(user)\n"
        "1R41 +    return True\n"
    )
    assert list(chunk.line_ids) == ["1R40", "1L41", "1R41"]
    assert chunk.line_ids["1L41"].text == "    check(user)"
    assert chunk.estimated_tokens == math.ceil(len(chunk.text) / 3)
    assert [file.path for file in chunk.files] == ["src/app.py"]


def test_renames_show_both_names_and_deletions_say_so():
    text = "diff --git a/a.py b/b.py\nsimilarity index 90%\nrename from a.py\nrename to b.py\n"
    text += "--- a/a.py\n+++ b/b.py\n@@ -1 +1 @@\n-x\n+y\n"
    text += "diff --git a/c.py b/c.py\ndeleted file mode 100644\n--- a/c.py\n+++ /dev/null\n"
    text += "@@ -1 +0,0 @@\n-check()\n"
    (chunk,) = chunk_files(kept(text), 1000)
    assert chunk.text == (
        "File 1: a.py \u2192 b.py (renamed)\n@@\n1L1 -x\n1R1 +y\nFile 2: c.py (removed)\n@@\n2L1 -check()\n"
    )


def test_g10_a16_a_prompt_line_is_one_line_and_the_model_keeps_the_true_text():
    text = HEADER + "@@ -1,0 +2,3 @@ <|im_start|>\n+a\u2028<|im_end|>\n+b\rc\n+\udcff\n"
    (chunk,) = chunk_files(kept(text), 1000)
    assert chunk.text.splitlines()[1:] == [
        "@@ < |im_start|>",
        "1R2 +a\\u2028< |im_end|>",
        "1R3 +b\\rc",
        "1R4 +\\xff",
    ]
    assert [line.text for line in chunk.line_ids.values()] == ["a\u2028<|im_end|>", "b\rc", "\udcff"]


def test_g10_a16_a_file_name_is_shown_on_one_line_too():
    name = '"{}/\\342\\200\\250<|im_end|>\\n.py"'
    text = (
        f"diff --git {name.format('a')} {name.format('b')}\n--- {name.format('a')}\n+++ {name.format('b')}\n"
    )
    (chunk,) = chunk_files(kept(text + "@@ -1 +1 @@\n-a\n+b\n"), 1000)
    assert chunk.text.splitlines()[0] == "File 1: \\u2028< |im_end|>\\n.py (modified)"
    assert chunk.files[0].path == "\u2028<|im_end|>\n.py"


def test_windows_line_ends_are_not_shown_where_every_line_has_them():
    (chunk,) = chunk_files(kept(HEADER + "@@ -1,0 +2,2 @@\n+a\r\n+b\r\n@@ -5,0 +8,2 @@\n+a\n+b\r\n"), 1000)
    assert chunk.text.split("\n")[2:7] == ["1R2 +a", "1R3 +b", "@@", "1R8 +a", "1R9 +b\\r"]


def test_files_stay_whole_if_they_fit_a_chunk():
    files = kept("".join(long_hunk(10, f"f{index}.py") for index in range(3)))
    whole = chunk_files(files[:1], 10_000)[0].estimated_tokens
    chunks = chunk_files(files, 2 * whole + 10)
    assert [[file.path for file in chunk.files] for chunk in chunks] == [["f0.py", "f1.py"], ["f2.py"]]
    assert [chunk.index for chunk in chunks] == [0, 1]
    assert "File 3: f2.py" in chunks[1].text


def test_a_file_is_not_begun_in_a_chunk_where_only_its_first_hunk_fits():
    two_hunks = long_hunk(4, "b.py") + "@@ -50,0 +60,20 @@\n" + "+another line of it\n" * 20
    budget = chunk_files(kept(two_hunks), 10_000)[0].estimated_tokens + 20
    chunks = chunk_files(kept(long_hunk(4, "a.py") + two_hunks), budget)
    assert [[file.path for file in chunk.files] for chunk in chunks] == [["a.py"], ["b.py"]]


def test_hunks_stay_whole_if_they_fit_a_chunk():
    hunks = "".join(
        f"@@ -{at},0 +{at + 1},4 @@ def f():\n" + "".join(f"+line {at} {n}\n" for n in range(4))
        for at in (10, 50, 90)
    )
    chunks = chunk_files(kept(HEADER + hunks), 60)
    assert [len({id(line.hunk) for line in chunk.line_ids.values()}) for chunk in chunks] == [1, 1, 1]
    assert all(chunk.text.startswith("File 1: src/app.py (modified)\n@@ def f():\n") for chunk in chunks)


def test_c10_a_hunk_larger_than_the_budget_is_cut_with_overlap_and_keeps_headers_and_numbers():
    chunks = chunk_files(kept(long_hunk(100)), 120)
    assert len(chunks) > 5
    for chunk in chunks:
        assert chunk.text.startswith("File 1: src/app.py (modified)\n@@ def f():\n")
        assert chunk.estimated_tokens <= 120
        for number in numbers(chunk):
            assert f"1R{number} +line number {number - 2}\n" in chunk.text
    for before, after in pairwise(chunks):
        assert numbers(before)[-3:] == numbers(after)[:3]
    assert {number for chunk in chunks for number in numbers(chunk)} == set(range(2, 102))


def test_a_line_longer_than_the_budget_is_shortened_visibly_in_the_prompt_alone():
    code = "x" * 5000
    (chunk,) = chunk_files(
        kept(HEADER + f"@@ -1,0 +2 @@\n+{code}\n".replace("+2 @@", "+2,20 @@") + "+y\n" * 19), 200
    )[:1]
    assert "xxx [... shortened, 5,000 characters]\n" in chunk.text
    assert chunk.estimated_tokens <= 200
    assert chunk.line_ids["1R2"].text == code


def test_chunks_are_the_same_every_time():
    files = kept(long_hunk(80))
    assert [chunk.text for chunk in chunk_files(files, 100)] == [
        chunk.text for chunk in chunk_files(files, 100)
    ]


def test_the_measured_tokens_per_character_change_the_size():
    files = kept(long_hunk(80))
    assert len(chunk_files(files, 200, tokens_per_character=1.0)) > len(chunk_files(files, 200))
    assert all(chunk.estimated_tokens <= 200 for chunk in chunk_files(files, 200, tokens_per_character=1.0))


def test_a_budget_must_be_positive():
    with pytest.raises(ValueError, match="positive budget, not 0 tokens"):
        chunk_files((), 0)


def split_fully(chunk: Chunk) -> list[Chunk]:
    try:
        first, second = chunk.split()
    except ChunkTooSmallError:
        return [chunk]
    assert max(len(first.line_ids), len(second.line_ids)) < len(chunk.line_ids)
    assert max(len(first.text), len(second.text)) < len(chunk.text)
    return split_fully(first) + split_fully(second)


def test_splitting_goes_on_to_single_lines_and_loses_none():
    (chunk,) = chunk_files(kept(long_hunk(30, "a.py") + HEADER + LOGIN), 10_000)
    first, second = chunk.split()
    assert [file.path for file in first.files] == ["a.py"]
    assert [file.path for file in second.files] == ["src/app.py"]
    lines: dict[str, Line] = {}
    for part in split_fully(chunk):
        assert len(part.line_ids) == 1
        assert part.index == chunk.index
        lines |= part.line_ids
    assert lines == chunk.line_ids


def test_splitting_a_hunk_overlaps():
    (chunk,) = chunk_files(kept(long_hunk(30)), 10_000)
    first, second = chunk.split()
    assert numbers(first)[-3:] == numbers(second)[:3]
    assert second.text.startswith("File 1: src/app.py (modified)\n@@ def f():\n")


def test_one_line_cannot_be_split():
    (chunk,) = chunk_files(kept(long_hunk(1)), 100)
    with pytest.raises(ChunkTooSmallError, match=r"src/app\.py cannot be split"):
        chunk.split()
