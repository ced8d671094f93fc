"""Replacements: what may be offered as a suggestion."""

import pytest

from bot.diff import Line, chunk_files, clean_diff, fit_replacement, parse_diff


def lines_of(body: str, *names: str) -> list[Line]:
    lines = body.split("\n")[:-1]
    old, new = (sum(line[0] in signs for line in lines) for signs in (" -", " +"))
    text = f"diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,{old} +1,{new} @@\n{body}"
    (chunk,) = chunk_files(clean_diff(parse_diff(text.encode())).kept, 100_000)
    return [chunk.line_ids[f"1{name}"] for name in names]


SPACES = lines_of(" def f():\n+    if x:\n+        return 1\n", "R2", "R3")
TABS = lines_of(" func f() {\n+\tif x {\n+\t\treturn 1\n", "R2", "R3")


@pytest.mark.parametrize(
    ("lines", "replacement", "fitted"),
    [
        (SPACES, "    if y:\n        return 2", "    if y:\n        return 2"),
        (SPACES, "    if y:\n        return 2\n", "    if y:\n        return 2"),
        (SPACES, "if y:\n    return 2", "    if y:\n        return 2"),
        (SPACES, "if y:\n\n    return 2", "    if y:\n\n        return 2"),
        (SPACES, "    return x and 1", "    return x and 1"),
        # E4: the model wrote spaces for tabs, or tabs for spaces.
        (TABS, "\tif y {\n\t\treturn 2", "\tif y {\n\t\treturn 2"),
        (TABS, "    if y {\n        return 2", "\tif y {\n\t\treturn 2"),
        (TABS, "  if y {\n    return 2", "\tif y {\n\t\treturn 2"),
        (TABS, "if y {\n    return 2", "\tif y {\n\t\treturn 2"),
        (SPACES, "\tif y:\n\t\treturn 2", "    if y:\n        return 2"),
        (lines_of("+  if x:\n+    y()\n", "R1"), "\tif z:\n\t\ty()", "  if z:\n    y()"),
        (lines_of("+\ta()\n+\t\tb()\n", "R2"), "        c()\n    d()", "\t\tc()\n\td()"),
        # E4: an indentation that does not come out even is not guessed.
        (TABS, "    if y {\n       return 2\n         z()", None),
        (SPACES, "  if y:\n    return 2", None),
        (SPACES, "            if y:\n                return 2", None),
        (TABS, "\t  if y {", None),
    ],
)
def test_e4_the_indentation_is_that_of_the_replaced_lines(lines, replacement, fitted):
    assert fit_replacement(replacement, lines) == fitted


def test_a_change_of_indentation_alone_is_kept_as_it_is():
    assert fit_replacement("if x:\n    return 1", SPACES) == "if x:\n    return 1"


@pytest.mark.parametrize(
    "replacement",
    [
        *("", "\n", "   ", "    if x:\n        return 1", "    if x:  \n        return 1\n"),
        *("1R2 +    if y:", "```python\nif y:\n```"),
    ],
)
def test_an_empty_change_or_one_in_the_prompts_form_is_no_suggestion(replacement):
    assert fit_replacement(replacement, SPACES) is None


def test_removed_lines_take_no_suggestion():
    assert fit_replacement("y", lines_of("-x\n+z\n", "L1")) is None
    assert fit_replacement("y", []) is None


def test_e4_windows_line_ends_are_no_change():
    lines = lines_of("+x = 1\r\n+y = 2\r\n", "R1", "R2")
    assert fit_replacement("x = 1\ny = 2", lines) is None
    assert fit_replacement("x = 1\r\ny = 3\r\n", lines) == "x = 1\ny = 3"


def test_g10_broken_control_tokens_are_restored():
    lines = lines_of("+say('<|im_end|>')\n", "R1")
    assert fit_replacement("tell('< |im_end|>')", lines) == "tell('<|im_end|>')"
